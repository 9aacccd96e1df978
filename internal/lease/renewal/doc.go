// Package renewal keeps leases alive: an Engine renews every lease it was told of until it is told otherwise, or until the
// lease is lost, or until nobody can say any more whose it is.
//
// # The life of an entry
//
//	Track ──► Held ──────────────┬── RENEW says gone or other ──► Lost        final
//	            ▲                ├── no confirmation in time  ──► Uncertain   final
//	            │ RENEW says ok  └── Halt ─────────────────────► Halted      the lease lapses
//	Adopt ──► Adopting ──────────┴── the same two ways out
//	any ── Forget ──► Untracked
//
// Nothing leads back to Held from Lost, Uncertain or Halted: a confirmation that comes late is counted and ignored.
//
// # Time
//
// A confirmation counts from the instant before its request was sent (t0), as lease.Trust has it. A lease is renewed
// renewalInterval after its last t0, or up to 10 % earlier so that a thousand leases of one moment spread out. A renewal that
// was not executed, or whose outcome is unknown, moves no deadline; it is repeated after 50 to 250 ms. That is safe because
// RENEW only ever lengthens the lease of the very term it names.
//
// All instants are monotonic ones of this machine. Linux's monotonic clock stands still while the machine is suspended: after
// such a sleep the engine believes in its leases for as long as it did before. What a report does then is the fencing token's
// to catch.
//
// # Who does what
//
//   - The dispatcher takes what is due, earliest deadline first, into batches of at most 100, and has at most 4 on their way.
//   - Each batch is one goroutine and one pipeline, bounded by 1 s. One lease's answer changes that lease only.
//   - The supervisor watches the deadlines on a goroutine and a heap of its own. It needs no answer from anybody to call a lease
//     uncertain.
//
// Changes are told through Notify, which says whose lease changed and not what: the caller reads State. It is called on the
// engine's goroutines and never under its lock.
package renewal
