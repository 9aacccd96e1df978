package renewal

import (
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Phase is where a lease stands.
type Phase string

// The phases of a lease; the package comment draws them.
const (
	// Untracked: the engine knows of no lease.
	Untracked Phase = "Untracked"
	// Acquiring: the lease was reserved, and may be asked for. Nothing is renewed yet.
	Acquiring Phase = "Acquiring"
	// Adopting: a renewal is to confirm a lease that another process was granted.
	Adopting Phase = "Adopting"
	// Held: the lease is confirmed, and renewed.
	Held Phase = "Held"
	// Lost: the store says that the lease is gone or another's. Final.
	Lost Phase = "Lost"
	// Uncertain: no confirmation came in time. Final.
	Uncertain Phase = "Uncertain"
	// Halted: renewals were stopped on purpose, or because nobody vouched for the owner any more. Final.
	Halted Phase = "Halted"
)

// State is what the engine knows of a lease.
type State struct {
	Phase Phase
	// Term is the grant; zero if Untracked, and without a token while Acquiring.
	Term lease.Term
	// Detail says in words what led to the phase, or what the last renewal met.
	Detail string
	// Confirmed is the t0 of the last confirmation; zero if there was none yet.
	Confirmed time.Time
	// Deadline is the end of the trust in the last confirmation; zero if there was none yet.
	Deadline time.Time
	// LastResult is what came of the last renewal; empty before the first.
	LastResult Result
	// Renewals counts the confirmed renewals.
	Renewals uint64
}

// The kinds of queues: an entry has one place in each.
const (
	task  = iota // when its renewal is to be sent
	watch        // when it ends
	kinds
)

// where says which queue of tasks an entry is in.
type where uint8

// The places of an entry's renewal. It is in no queue while it is nowhere or flying.
const (
	nowhere where = iota
	flying        // on its way
	waiting       // until it is due
	ready         // to be sent, for the first time since the last answer
	again         // to be sent, once more
	queues
)

// entry is one lease. The engine's lock guards it, except for the renewal, which never changes while it is sent. All instants
// are what the engine's clock had elapsed. A hundred thousand entries are nothing unusual, so it is kept small: derived values
// are not stored.
type entry struct {
	subject Subject
	// renewal holds the term; while Acquiring its value is the owner alone.
	renewal lease.Renewal
	timing  lease.Timing
	phase   Phase
	result  Result
	why     error // what led to the phase, or what the last renewal met

	anchor   time.Duration // t0 of the last confirmation, or of the reservation; never if there was none
	deadline time.Duration // when it becomes Uncertain unless something happens
	vouched  time.Duration // when its owner was last known to live

	places   [kinds]int32 // its place in each kind of queue, from 1; 0: in none
	renewals uint32
	where    where
}

// live says whether the entry is still supervised.
func (x *entry) live() bool { return x.renewed() || x.phase == Acquiring }

// renewed says whether the entry is still renewed.
func (x *entry) renewed() bool { return x.phase == Held || x.phase == Adopting }

// answered says whether the last renewal was, if there was one.
func (x *entry) answered() bool { return x.result != Unknown && x.result != NotExecuted }

// detail is why, in words.
func (x *entry) detail() string {
	if x.why == nil {
		return ""
	}
	return x.why.Error()
}

// renewAt is when a confirmed lease should be renewed: when it is due or up to 10 % of the interval earlier; never if it is not
// to be renewed. Instants lie on a grid, so that many leases fill few batches.
func (x *entry) renewAt(chance float64) time.Duration {
	interval := x.timing.RenewalInterval
	if interval == 0 {
		return never
	}
	grid := max(1, min(coarsest, interval/100))
	at := x.anchor + interval - time.Duration(chance*float64(interval)/10)
	return max(at-at%grid, x.anchor+interval/10*9)
}
