// Package renewal keeps leases alive: an Engine renews every lease it was told of until it is told otherwise, or until the
// lease is lost, or until nobody can say any more whose it is.
//
// # The life of an entry
//
//	Reserve ──► Acquiring ── Track ──► Held ─────┬── RENEW says gone or other ──► Lost        final
//	                │                   ▲        ├── no confirmation in time  ──► Uncertain   final
//	                │                   │        └── Halt, or silence         ──► Halted      final; the lease lapses
//	                │                   │ RENEW says ok
//	                │       Adopt ──► Adopting ──── the same three ways out
//	                └── Halt, or silence ──► Halted
//	any ── Forget, or another Reserve or Adopt of the subject ──► Untracked
//
// Nothing leads back to Held from Lost, Uncertain or Halted: a confirmation that comes late is counted and ignored.
//
// # Reservation
//
// An entry exists before ACQUIRE is sent, so that nobody has to find out afterwards whether a grant on its way is still wanted.
// Track uses the reservation up. It is refused, and the caller gives the lease back, when
//
//   - the subject is not reserved for the very scope and owner of the grant: Forget, Halt, another Reserve or an Adopt came
//     between;
//   - more than half of the trusted time, 0.4 x leaseDuration, has passed since the request was sent. What is left may be too
//     short for the report to begin and for the first renewals to fail;
//   - ownership would be uncertain already.
//
// The request counts as sent at the later of grant.At and the reservation. Both are before it was sent in truth. They differ
// after a suspend only, when grant.At was taken from package time, which is then behind the engine's.
//
// # Removal
//
// Forget and Halt are synchronous: when they return, no renewal of that lease is handed to the store any more, except for one
// that a batch has taken already. That one is on its way, at most one, and for CallTimeout at most. Its reply changes nothing
// here, and in the store it can only lengthen the term that it names, if that still holds the lease: a release that overtakes
// it, or that it overtakes, stands.
//
// # Evidence
//
// No lease is renewed for an owner who may be dead. Reserve, Track, Adopt and Vouch are evidence that he lives; a renewal is
// none, since the engine sends it by itself. An entry without evidence for Options.MaxSilence is Halted, so that its lease
// lapses, and its detail says so. Vouch revives nothing.
//
// # Time
//
// With t0 the instant before the request was sent that was confirmed last, and T, S, U as package lease has them:
//
//	renewed at     t0 + renewalInterval, or up to 10 % earlier, so that a thousand leases of one moment spread out;
//	               on a grid of renewalInterval/100, at most 10 ms, so that many leases fill few batches
//	repeated at    50 to 250 ms after an answer failed to come; no deadline moves. It is safe, as RENEW only ever lengthens
//	               the lease of the very term it names
//	uncertain at   U, or at the end of an adoption
//	trusted until  T
//
// A confirmation counts if its reply came before the deadline that it moves.
//
// # Suspends and clock jumps
//
// Instants are those of a clock.Clock: max(monotonic, boot time) elapsed. Timers stand still while the machine is suspended, so
// nothing waits by one for longer than Tick while there are leases, and after a resume every deadline that has passed is noticed
// within a Tick; State notices it at once.
//
// Once a Tick, wall clock and monotonic clock are compared. If they went more than 2 s apart since the last time, then the
// machine slept, or its hypervisor paused it, or somebody set the clock, and nobody here can tell which. Then nothing is
// stopped, but
//
//   - every deadline becomes now + Verification, 3 s, if it is later;
//   - every lease is renewed at once, also one that is never renewed otherwise; that one's deadline is the old one afterwards,
//     as a confirmation is no extension for it;
//   - only a confirmation of a request that was sent after that sets a deadline beyond it. What was on its way is sent again.
//
// What no clock shows is a pause of the hypervisor for as long as the wall clock is not set right. It is the fencing token's to
// catch what a report does then.
//
// # Who does what
//
//   - Four workers take turns: one waits for what is due and takes the most urgent 100 of it, by deadline, as a batch. Then the
//     next one waits, while the first sends its batch as one pipeline, bounded by 1 s, and settles all of it at once. One
//     lease's answer changes that lease only.
//   - The supervisor watches deadlines and clocks on a goroutine and a heap of its own. It needs no answer from anybody to call
//     a lease uncertain.
//   - Repetitions are paced while they bring no answer: one batch in RetryPace, so an outage costs at most a hundred of them a
//     second, however many leases there are. The first answer to one ends that, and then they go as fast as the store answers.
//     Leases that are due for the first time do not wait for them.
//
// Changes are told through Notify, which says whose lease changed and not what: the caller reads State. It is called on the
// engine's goroutines and never under its lock.
//
// # Failures
//
//	what happens                        what the engine does                          what it means for the lease
//	one lease is refused                repeats it; the others go on                  Uncertain at U
//	reply lost, timeout, end of file    repeats those of the batch without an answer  trusted until T all the same
//	BUSY, LOADING, connection refused   repeats them, paced                           Uncertain at U if it lasts
//	the store answers nothing           four batches hang for 1 s each; the           Uncertain at U, on time
//	                                    supervisor does not wait for them
//	the store is slow                   up to 400 renewals are on their way           renewed late, most urgent first
//	the store panics, or gives          the batch is Unknown and repeated, each       the one that breaks it is Uncertain at U,
//	  another number of answers         lease by its own chance with others           the others are renewed
//	Notify panics                       tells it again at every Tick, and reports     as it is: State is right
//	Observe panics                      goes on with the next result, and reports     none
//	the process gets no turn            looks at the clock before it says anything    Uncertain if U has passed
//	the machine sleeps, a clock jumps   verifies, as said above                       Uncertain 3 s later, or verified
//	the owner dies                      halts after MaxSilence                        lapses one leaseDuration later
//
// # Size and speed
//
// An entry takes less than 512 bytes with its names, its key and value ready to send, and its places in map and queues. A
// renewal allocates nothing, and the lock is taken twice for a batch.
package renewal
