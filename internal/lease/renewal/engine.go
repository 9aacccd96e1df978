package renewal

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

const (
	// batchSize and inFlight come from measurement: pipelines of 100 reach the ceiling of one connection, and four of them hide
	// a round trip of several milliseconds.
	batchSize = 100
	inFlight  = 4
	// CallTimeout bounds one batch. A batch that is stuck must not hold its slot until the leases in it are uncertain.
	CallTimeout = time.Second
	// MinRetryDelay is the least time before a renewal that brought no answer is repeated.
	MinRetryDelay = 50 * time.Millisecond
	// MaxRetryDelay is the most. The repetition comes at any time between the two, so that many leases do not come back at once.
	MaxRetryDelay = 250 * time.Millisecond
	// minAdoption is the least time an adoption may take before the lease counts as uncertain.
	minAdoption = time.Second
)

// Subject is the caller's name for what a lease is for. It has one lease at a time.
type Subject string

// Result is what came of one renewal.
type Result string

// The results of a renewal, for metrics.
const (
	// Confirmed: the lease was extended in time.
	Confirmed Result = "confirmed"
	// TooLate: the lease was extended, but the answer came when ownership was uncertain already.
	TooLate Result = "late"
	// Refused: the lease is gone or another's.
	Refused Result = "lost"
	// NotExecuted: the store certainly did not run the renewal.
	NotExecuted Result = "not_executed"
	// Unknown: the store may have run the renewal.
	Unknown Result = "unknown"
)

// Results lists every Result, so that a metric can begin with zeros.
func Results() []Result { return []Result{Confirmed, TooLate, Refused, NotExecuted, Unknown} }

// Options are what an engine needs.
type Options struct {
	// Store renews.
	Store lease.Store
	// Notify is told whose state changed. It must not block for long. nil: nobody is told.
	Notify func(Subject)
	// Observe is told the result of each renewal. nil: nobody is told.
	Observe func(Result)
}

// Engine renews leases. Its methods may be called at any time from any goroutine; renewals happen while Run runs.
type Engine struct {
	store   lease.Store
	notify  func(Subject)
	observe func(Result)

	// wakeDispatcher and wakeSupervisor hold one signal each: something earlier than what they wait for may have come.
	wakeDispatcher, wakeSupervisor chan struct{}
	slots                          chan struct{}

	mu        sync.Mutex
	entries   map[Subject]*entry
	due       queue     // entries that wait for their next renewal, by the time it is due
	ready     queue     // entries whose renewal is due, by deadline
	deadlines queue     // every live entry, by the deadline known when it was put there or an earlier one
	untold    []Subject // entries that became Uncertain and whose caller has not heard of it
}

// New makes an engine.
func New(options Options) *Engine {
	e := &Engine{
		store: options.Store, notify: options.Notify, observe: options.Observe,
		wakeDispatcher: make(chan struct{}, 1), wakeSupervisor: make(chan struct{}, 1),
		slots:   make(chan struct{}, inFlight),
		entries: map[Subject]*entry{},
	}
	if e.notify == nil {
		e.notify = func(Subject) {}
	}
	if e.observe == nil {
		e.observe = func(Result) {}
	}
	return e
}

// Track renews a lease that was just granted. It replaces whatever the subject had before.
func (e *Engine) Track(subject Subject, grant lease.Grant, timing lease.Timing) {
	trust := lease.NewTrust(grant.At, timing)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(&entry{
		subject: subject, term: grant.Term, timing: timing, phase: Held,
		trust: trust, deadline: trust.UncertainAt(), confirmed: grant.At,
	}, jittered(trust, timing))
}

// Adopt takes over a lease that an earlier process was granted: it is Adopting until a renewal confirms it, and Uncertain if
// none does within the longest of renewalTimeout, renewalInterval and 1 s. Adopting what the subject has already changes
// nothing.
func (e *Engine) Adopt(subject Subject, term lease.Term, timing lease.Timing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if known := e.current(subject, now); known != nil && known.term == term {
		return
	}
	e.add(&entry{
		subject: subject, term: term, timing: timing, phase: Adopting,
		deadline: now.Add(max(timing.RenewalTimeout, timing.RenewalInterval, minAdoption)),
	}, now)
}

// Halt stops renewing, so that the lease lapses. The state stays readable; Lost and Uncertain stay what they are.
func (e *Engine) Halt(subject Subject) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.current(subject, time.Now()); entry != nil && entry.live() {
		entry.end(Halted, "renewals were stopped")
	}
}

// Forget drops the entry. A renewal that is on its way changes nothing any more.
func (e *Engine) Forget(subject Subject) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.entries[subject]; entry != nil {
		entry.forgotten = true
		delete(e.entries, subject)
	}
}

// State returns what is known of the subject's lease; Untracked if nothing is. It looks at the clock itself: after a freeze
// of the process the caller may come before the supervisor.
func (e *Engine) State(subject Subject) State {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.current(subject, time.Now()); entry != nil {
		return entry.state()
	}
	return State{Phase: Untracked}
}

// Summary counts the entries by phase and gives the least time that is left of a held lease's trust; 0 if none is held.
func (e *Engine) Summary() (counts map[Phase]int, least time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	counts = map[Phase]int{}
	for _, entry := range e.entries {
		counts[entry.phase]++
		if left := entry.trust.Deadline().Sub(now); entry.phase == Held && (counts[Held] == 1 || left < least) {
			least = left
		}
	}
	return counts, least
}

// Run renews until the context ends, and returns when every request that was on its way has ended. It always returns nil.
func (e *Engine) Run(ctx context.Context) error {
	var work sync.WaitGroup
	work.Go(func() { e.dispatch(ctx, &work) })
	work.Go(func() { e.supervise(ctx) })
	work.Wait()
	return nil
}

// add puts an entry in the place of the subject's old one. The lock is held.
func (e *Engine) add(entry *entry, due time.Time) {
	if old := e.entries[entry.subject]; old != nil {
		old.forgotten = true
	}
	e.entries[entry.subject] = entry
	if entry.phase == Adopting || entry.timing.RenewalInterval > 0 {
		e.due.push(item{due, entry})
	}
	e.deadlines.push(item{entry.deadline, entry})
	wake(e.wakeDispatcher)
	wake(e.wakeSupervisor)
}

// jittered is when a lease should be renewed: when it is due or up to 10 % of the interval earlier.
func jittered(trust lease.Trust, timing lease.Timing) time.Time {
	return trust.RenewAt().Add(-time.Duration(rand.Float64() * float64(timing.RenewalInterval) / 10))
}

func wake(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
