package renewal

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/clock"
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
	// RetryPace is the least time between two batches of repetitions while none of them brings an answer: however many leases
	// there are, an outage costs at most a hundred of them a second.
	RetryPace = 10 * time.Millisecond
	// Tick is how often clocks are looked at while there are leases, and the longest time that anything waits by a timer: timers
	// stand still while the machine is suspended.
	Tick = time.Second
	// Verification is for how long leases are believed in once the clocks did not agree, unless a renewal confirms them.
	Verification = 3 * time.Second
	// minAdoption is the least time an adoption may take before the lease counts as uncertain.
	minAdoption = time.Second
	// coarsest bounds the grid of renewals.
	coarsest = 10 * time.Millisecond
	// never is later than every instant.
	never time.Duration = math.MaxInt64
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
	// Report is told of a panic in Store, Notify or Observe, with its stack, as a last resort: the engine goes on. nil: Run
	// returns the first one when it ends.
	Report func(error)
	// Clock measures time; clock.System knows of suspends. nil: package time.
	Clock *clock.Clock
	// MaxSilence is how long a lease is renewed without a word from its owner: an entry that was reserved, tracked, adopted and
	// vouched for so long ago is Halted. 0: for ever.
	MaxSilence time.Duration
}

// Engine renews leases. Its methods may be called at any time from any goroutine; renewals happen while Run runs.
type Engine struct {
	options Options
	clock   *clock.Clock
	turn    chan struct{} // held by the worker that takes the next batch
	// sender and supervisor wait for the next thing to send, and the next to end.
	sender, supervisor waiter

	mu      sync.Mutex
	entries map[Subject]*entry
	tasks   [queues]queue // by where: by the time it is due while waiting, and by deadline when it is
	ends    queue         // every live entry, by the time of its end that was known when it was put there, or an earlier one

	untold  []Subject // entries whose end the caller has not heard of
	unheard []Subject // the same, of whom Notify did not want to hear
	faults  error     // the first panic

	paced     bool          // the last repetitions brought no answer
	nextAgain time.Duration // when the next may be sent if paced
	doubted   time.Duration // when the clocks last did not agree
	by        time.Duration // and by how much
	rested    bool          // there was nothing to supervise
	nextLook  time.Duration // when the clocks are looked at again
}

// New makes an engine.
func New(options Options) *Engine {
	if options.Clock == nil {
		options.Clock = clock.New(clock.PackageTime)
	}
	if options.Notify == nil {
		options.Notify = func(Subject) {}
	}
	if options.Observe == nil {
		options.Observe = func(Result) {}
	}
	e := &Engine{
		options: options, clock: options.Clock, turn: make(chan struct{}, 1), ends: queue{kind: watch},
		entries: map[Subject]*entry{}, rested: true, doubted: -never,
	}
	e.sender = waiter{engine: e, next: e.nextTask, woken: make(chan struct{}, 1)}
	e.supervisor = waiter{engine: e, next: e.nextEnd, woken: make(chan struct{}, 1)}
	if e.options.Report == nil {
		e.options.Report = e.keepFault
	}
	return e
}

// Run renews until the context ends, and returns when every request that was on its way has ended: nil, or the first panic that
// was contained and not reported.
func (e *Engine) Run(ctx context.Context) error {
	var work sync.WaitGroup
	for range inFlight {
		work.Go(func() { e.work(ctx) })
	}
	work.Go(func() { e.supervise(ctx) })
	work.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.faults
}

func (e *Engine) keepFault(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.faults == nil {
		e.faults = err
	}
}

func (e *Engine) now() time.Duration { return e.clock.Elapsed() }

// waiter waits for the instant of something, asking again whenever something earlier may have come.
type waiter struct {
	engine *Engine
	// next is called with the engine's lock; never: nothing is expected.
	next  func() time.Duration
	woken chan struct{} // holds one signal
	until time.Duration // what is waited for; guarded by the engine's lock
}

// await waits for the next instant. It returns false when the context ended.
func (w *waiter) await(ctx context.Context) bool {
	timer := time.NewTimer(Tick)
	defer timer.Stop()
	for {
		at, now := w.ask(), w.engine.now()
		switch {
		case at <= now:
			return ctx.Err() == nil
		case at == never:
			timer.Stop()
		default:
			timer.Reset(min(at-now, Tick))
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.woken:
		case <-timer.C:
		}
	}
}

func (w *waiter) ask() time.Duration {
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	w.until = w.next()
	return w.until
}

// expect wakes the waiter if it waits for something later than this. The engine's lock is held.
func (w *waiter) expect(at time.Duration) {
	if at >= w.until {
		return
	}
	select {
	case w.woken <- struct{}{}:
	default:
	}
}
