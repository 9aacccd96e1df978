package renewal

import (
	"container/heap"
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

// entry is one lease. The engine's lock guards it.
type entry struct {
	subject  Subject
	term     lease.Term
	timing   lease.Timing
	phase    Phase
	trust    lease.Trust // of the last confirmation
	deadline time.Time   // when it becomes Uncertain unless something happens; unused while Acquiring
	reserved time.Time   // when it was reserved
	vouched  time.Time   // when its owner was last known to live

	detail     string
	confirmed  time.Time
	lastResult Result
	renewals   uint64
	forgotten  bool
}

// live says whether the entry is still supervised.
func (e *entry) live() bool { return e.renewed() || !e.forgotten && e.phase == Acquiring }

// renewed says whether the entry is still renewed.
func (e *entry) renewed() bool { return !e.forgotten && (e.phase == Held || e.phase == Adopting) }

func (e *entry) end(phase Phase, detail string) { e.phase, e.detail = phase, detail }

// confirm records a renewal that was sent at t0 and confirmed before the deadline.
func (e *entry) confirm(t0 time.Time) {
	if e.phase == Adopting {
		e.phase, e.trust = Held, lease.NewTrust(t0, e.timing)
	} else {
		e.trust = e.trust.Extend(t0)
	}
	e.deadline, e.confirmed, e.detail = e.trust.UncertainAt(), e.trust.Anchor(), ""
	e.renewals++
}

func (e *entry) state() State {
	s := State{Phase: e.phase, Term: e.term, Detail: e.detail, Confirmed: e.confirmed, LastResult: e.lastResult,
		Renewals: e.renewals}
	if !e.confirmed.IsZero() {
		s.Deadline = e.trust.Deadline()
	}
	return s
}

// item is an entry's place in a queue.
type item struct {
	at    time.Time
	entry *entry
}

// queue is a heap of items, earliest first. Items of entries that ended are dropped when they come up.
type queue struct{ items itemHeap }

func (q *queue) push(i item) { heap.Push(&q.items, i) }

func (q *queue) pop() item { return heap.Pop(&q.items).(item) }

// first returns the earliest item of a live entry, having dropped the dead ones before it.
func (q *queue) first() (item, bool) {
	for len(q.items) > 0 && !q.items[0].entry.live() {
		q.pop()
	}
	if len(q.items) == 0 {
		return item{}, false
	}
	return q.items[0], true
}

// next returns when the earliest item of a live entry is due.
func (q *queue) next() (at time.Time, any bool) {
	i, any := q.first()
	return i.at, any
}

type itemHeap []item

func (h itemHeap) Len() int           { return len(h) }
func (h itemHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h itemHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is heap.Interface's.
func (h *itemHeap) Push(x any) { *h = append(*h, x.(item)) }

// Pop is heap.Interface's.
func (h *itemHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = item{}
	*h = old[:len(old)-1]
	return last
}
