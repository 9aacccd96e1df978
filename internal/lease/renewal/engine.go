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
	// never is longer than a process lives.
	never = 100 * 365 * 24 * time.Hour
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
	// MaxSilence is how long a lease is renewed without a word from its owner: an entry that was reserved, tracked, adopted and
	// vouched for so long ago is Halted. 0: for ever.
	MaxSilence time.Duration
}

// Engine renews leases. Its methods may be called at any time from any goroutine; renewals happen while Run runs.
type Engine struct {
	store   lease.Store
	notify  func(Subject)
	observe func(Result)
	silence time.Duration // MaxSilence, or never

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
		entries: map[Subject]*entry{}, silence: options.MaxSilence,
	}
	if e.silence <= 0 {
		e.silence = never
	}
	if e.notify == nil {
		e.notify = func(Subject) {}
	}
	if e.observe == nil {
		e.observe = func(Result) {}
	}
	return e
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
	e.deadlines.push(item{e.endOf(entry), entry})
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
