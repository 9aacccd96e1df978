package renewal_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// timing is the article's: renewed every 5 s, uncertain 13 s after the last confirmation, over at 24 s.
var timing = lease.Timing{LeaseDuration: 30 * time.Second, RenewalInterval: 5 * time.Second, StopGracePeriod: 10 * time.Second}

const subject = renewal.Subject("finance/revenue")

// bench is a running engine on a store in memory that can be made to misbehave. It lives in a synctest bubble.
type bench struct {
	*testing.T
	memory *leasetest.Memory
	faults *leasetest.Faults
	engine *renewal.Engine

	mu       sync.Mutex
	notified map[renewal.Subject]int
	results  map[renewal.Result]int
}

// inBubble runs a test with a running engine; the bubble fails if a goroutine outlives it.
func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	inBubbleWith(t, renewal.Options{}, test)
}

// inBubbleWith does the same with further options.
func inBubbleWith(t *testing.T, options renewal.Options, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { withEngine(t, options, test) })
}

// withEngine does the same in the bubble that it is in.
func withEngine(t *testing.T, options renewal.Options, test func(b *bench)) {
	t.Helper()
	memory := leasetest.NewMemory()
	b := &bench{T: t, memory: memory, faults: leasetest.NewFaults(memory),
		notified: map[renewal.Subject]int{}, results: map[renewal.Result]int{}}
	options.Store, options.Notify, options.Observe = b.faults, b.notify, b.observe
	b.engine = renewal.New(options)
	stop := run(t, b.engine)
	test(b)
	stop()
}

// run runs an engine until the function that it returns is called.
func run(t *testing.T, e *renewal.Engine) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// notify asks the engine for the state, as a reconciler may: that must not be a deadlock.
func (b *bench) notify(s renewal.Subject) {
	b.engine.State(s)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notified[s]++
}

func (b *bench) observe(r renewal.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[r]++
}

func (b *bench) count(r renewal.Result) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.results[r]
}

// signals counts those about subject.
func (b *bench) signals() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notified[subject]
}

// track acquires a lease for a subject and hands it to the engine.
func (b *bench) track(s renewal.Subject, timing lease.Timing) lease.Term {
	b.Helper()
	grant := leasetest.MustAcquire(b, b.memory, lease.Scope(s), timing.LeaseDuration)
	track(b, b.engine, grant, timing)
	return grant.Term
}

// track hands a lease to an engine as its caller does, but in no time.
func track(t testing.TB, e *renewal.Engine, grant lease.Grant, timing lease.Timing) {
	t.Helper()
	s := renewal.Subject(grant.Term.Scope)
	e.Reserve(s, grant.Term.Scope, grant.Term.Owner)
	if !e.Track(s, grant, timing) {
		t.Fatalf("%s is not tracked, and it was reserved", s)
	}
}

// after lets time pass until everything that it brings has happened.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) wantPhase(s renewal.Subject, want renewal.Phase) {
	b.Helper()
	if got := b.engine.State(s); got.Phase != want {
		b.Errorf("%s is %s (%s), want %s", s, got.Phase, got.Detail, want)
	}
}

func TestALeaseIsRenewedForHours(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		term := b.track(subject, timing)
		for range 8 * 3600 {
			after(time.Second)
			if left := b.memory.TTL(lease.Scope(subject)); left < timing.LeaseDuration-timing.RenewalInterval {
				b.Fatalf("only %v of the lease are left", left)
			}
		}
		state := b.engine.State(subject)
		if state.Phase != renewal.Held || state.Term != term {
			b.Errorf("state: %+v", state)
		}
		// A renewal is due every 5 s and comes up to a tenth earlier.
		if n := state.Renewals; n < 5760 || n > 6400 {
			b.Errorf("%d renewals in 8 hours", n)
		}
		if n := b.signals(); n != 0 {
			b.Errorf("%d signals, and nothing happened", n)
		}
	})
}

func TestALostLeaseIsToldAtTheNextRenewal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		take func(m *leasetest.Memory)
		says string
	}{
		"removed": {func(m *leasetest.Memory) { m.Remove(lease.Scope(subject)) }, "gone"},
		"stolen":  {func(m *leasetest.Memory) { m.Set(lease.Scope(subject), "thief|1", time.Hour) }, "thief"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				b.track(subject, timing)
				tc.take(b.memory)
				after(timing.RenewalInterval)
				b.wantPhase(subject, renewal.Lost)
				if state := b.engine.State(subject); !strings.Contains(state.Detail, tc.says) {
					b.Errorf("the detail does not say %q: %s", tc.says, state.Detail)
				}
				after(time.Hour)
				b.wantPhase(subject, renewal.Lost)
				if n := b.signals(); n != 1 {
					b.Errorf("%d signals, want 1", n)
				}
				if n := b.count(renewal.Refused); n != 1 {
					b.Errorf("%d renewals after the loss", n)
				}
			})
		})
	}
}

func TestALeaseIsUncertainWhenTheStopMustBegin(t *testing.T) {
	t.Parallel()
	strict := timing
	strict.RenewalTimeout = time.Second
	unrenewed := lease.Timing{LeaseDuration: time.Minute, StopGracePeriod: 10 * time.Second}
	for name, tc := range map[string]struct {
		timing lease.Timing
		fault  leasetest.Fault
		// at is when it becomes uncertain, after the last confirmation.
		at time.Duration
	}{
		"no reply":                         {timing, leasetest.DropReply, 13 * time.Second},
		"no request arrives":               {timing, leasetest.DropRequest, 13 * time.Second},
		"the store refuses":                {timing, leasetest.Refuse, 13 * time.Second},
		"the store hangs":                  {timing, leasetest.Hang, 13 * time.Second},
		"the store hangs, strict":          {strict, leasetest.Hang, 6 * time.Second},
		"no reply, strict":                 {strict, leasetest.DropReply, 6 * time.Second},
		"never renewed, and nothing fails": {unrenewed, leasetest.None, 37 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				b.track(subject, tc.timing)
				b.faults.All(tc.fault)
				after(tc.at - time.Nanosecond)
				b.wantPhase(subject, renewal.Held)
				after(time.Nanosecond)
				b.wantPhase(subject, renewal.Uncertain)
				if n := b.signals(); n != 1 {
					b.Errorf("%d signals, want 1", n)
				}
				b.faults.All(leasetest.None)
				after(time.Hour)
				b.wantPhase(subject, renewal.Uncertain)
			})
		})
	}
}

func TestRetriesAreSpacedAndNotAFlood(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.track(subject, timing)
		b.faults.All(leasetest.Refuse)
		after(timing.StopAfter())
		// From the first renewal, at 4.5 to 5 s, to 13 s, one every 50 to 250 ms.
		if n := b.count(renewal.NotExecuted); n < 30 || n > 171 {
			b.Errorf("%d attempts", n)
		}
	})
}
