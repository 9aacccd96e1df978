package renewal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

func TestAdoptionWaitsForAConfirmation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before func(m *leasetest.Memory)
		fault  leasetest.Fault
		wait   time.Duration
		want   renewal.Phase
	}{
		"confirmed":                     {want: renewal.Held},
		"gone":                          {before: func(m *leasetest.Memory) { m.Remove("a/b") }, want: renewal.Lost},
		"another's":                     {before: func(m *leasetest.Memory) { m.Set("a/b", "x|1", time.Hour) }, want: renewal.Lost},
		"no answer yet":                 {fault: leasetest.DropReply, wait: 5*time.Second - 1, want: renewal.Adopting},
		"no answer within the interval": {fault: leasetest.DropReply, wait: 5 * time.Second, want: renewal.Uncertain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				term := leasetest.MustAcquire(b, b.memory, "a/b", timing.LeaseDuration).Term
				after(10 * time.Second)
				if tc.before != nil {
					tc.before(b.memory)
				}
				b.faults.All(tc.fault)
				b.engine.Adopt("a/b", term, timing)
				after(tc.wait)
				b.wantPhase("a/b", tc.want)
				if state := b.engine.State("a/b"); (state.Deadline.IsZero()) == (tc.want == renewal.Held) {
					b.Errorf("%s with deadline %v", state.Phase, state.Deadline)
				}
			})
		})
	}
}

func TestAdoptingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		term := b.track(subject, timing)
		b.memory.Remove(lease.Scope(subject))
		after(timing.RenewalInterval)
		b.engine.Adopt(subject, term, timing)
		after(time.Minute)
		b.wantPhase(subject, renewal.Lost)
	})
}

func TestAHaltedLeaseLapses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.track(subject, timing)
		after(time.Minute)
		b.engine.Halt(subject)
		b.wantPhase(subject, renewal.Halted)
		after(timing.LeaseDuration)
		if got := b.memory.Get(lease.Scope(subject)); got != "" {
			b.Errorf("the lease still holds %q", got)
		}
		b.wantPhase(subject, renewal.Halted)
	})
}

func TestAForgottenLeaseLapsesAndIsUnknown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.track(subject, timing)
		b.faults.All(leasetest.Hang)
		after(timing.RenewalInterval) // a renewal is on its way
		b.engine.Forget(subject)
		b.wantPhase(subject, renewal.Untracked)
		after(time.Minute)
		b.wantPhase(subject, renewal.Untracked)
		if n := b.signals(); n != 0 {
			b.Errorf("%d signals about a lease that was forgotten", n)
		}
	})
}

func TestANewTermReplacesTheOldOne(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.track(subject, timing)
		b.memory.Remove(lease.Scope(subject))
		second := b.track(subject, timing)
		after(time.Hour)
		if state := b.engine.State(subject); state.Phase != renewal.Held || state.Term != second {
			b.Errorf("state %+v, want %s", state, second.Value())
		}
	})
}

func TestOnePoisonedLeaseDelaysNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		const n = 1000
		for i := range n {
			b.track(renewal.Subject(fmt.Sprintf("many/%d", i)), timing)
		}
		b.faults.Inject(func(scope lease.Scope) leasetest.Fault {
			if scope == "many/500" {
				return leasetest.Refuse
			}
			return leasetest.None
		})
		for range 60 {
			after(time.Second)
			for i := range n {
				scope := lease.Scope(fmt.Sprintf("many/%d", i))
				if left := b.memory.TTL(scope); i != 500 && left < 25*time.Second-time.Millisecond {
					b.Fatalf("only %v are left of %s", left, scope)
				}
			}
		}
		counts, least := b.engine.Summary()
		if counts[renewal.Held] != n-1 || counts[renewal.Uncertain] != 1 || least < 18*time.Second {
			b.Errorf("%v, least trust %v", counts, least)
		}
	})
}

// gauge is a store that measures how the engine asks it.
type gauge struct {
	*leasetest.Memory
	mu                             sync.Mutex
	inFlight, mostInFlight, widest int
}

func (g *gauge) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	g.mu.Lock()
	g.inFlight++
	g.mostInFlight, g.widest = max(g.mostInFlight, g.inFlight), max(g.widest, len(renewals))
	g.mu.Unlock()
	time.Sleep(100 * time.Millisecond) // the round trip
	defer func() {
		g.mu.Lock()
		g.inFlight--
		g.mu.Unlock()
	}()
	return g.Memory.Renew(ctx, renewals)
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		g := &gauge{Memory: b.memory}
		engine := renewal.New(renewal.Options{Store: g})
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() { done <- engine.Run(ctx) }()
		for i := range 5000 {
			name := fmt.Sprintf("many/%d", i)
			track(b, engine, leasetest.MustAcquire(b, b.memory, lease.Scope(name), timing.LeaseDuration), timing)
		}
		after(time.Minute)
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		if g.widest != 100 || g.mostInFlight != 4 {
			b.Errorf("batches of up to %d, up to %d at a time; want 100 and 4", g.widest, g.mostInFlight)
		}
		if counts, _ := engine.Summary(); counts[renewal.Held] != 5000 {
			b.Errorf("%v", counts)
		}
	})
}

func TestTheEngineStandsARushOfCalls(t *testing.T) {
	t.Parallel()
	memory := leasetest.NewMemory()
	engine := renewal.New(renewal.Options{Store: memory})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() {
		if err := engine.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for worker := range 8 {
		work.Go(func() { rush(ctx, engine, worker) })
	}
	work.Wait()
	if counts, _ := engine.Summary(); len(counts) == 0 {
		t.Error("nothing was ever tracked")
	}
}

func rush(ctx context.Context, engine *renewal.Engine, worker int) {
	random := rand.New(rand.NewPCG(1, uint64(worker)))
	quick := lease.Timing{LeaseDuration: 5 * time.Second, RenewalInterval: time.Millisecond, StopGracePeriod: time.Second}
	for ctx.Err() == nil {
		s := renewal.Subject(fmt.Sprintf("many/%d", random.IntN(50)))
		term := lease.Term{Scope: lease.Scope(s), Owner: "0123456789abcdef0123456789abcdef", Token: lease.Token(random.IntN(9) + 1)}
		switch random.IntN(7) {
		case 5:
			engine.Reserve(s, term.Scope, term.Owner)
		case 6:
			engine.Vouch(s)
		case 0:
			engine.Track(s, lease.Grant{Term: term, At: time.Now()}, quick)
		case 1:
			engine.Adopt(s, term, quick)
		case 2:
			engine.Halt(s)
		case 3:
			engine.Forget(s)
		case 4:
			engine.State(s)
		}
	}
}
