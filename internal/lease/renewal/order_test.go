package renewal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/clock"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// gate is a store whose renewals pass, whatever their context says, when they are let through.
type gate struct {
	*leasetest.Memory
	shut chan struct{}

	mu    sync.Mutex
	asked [][]lease.Scope
}

func newGate() *gate { return &gate{Memory: leasetest.NewMemory(), shut: make(chan struct{})} }

func (g *gate) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	scopes := make([]lease.Scope, len(renewals))
	for i, r := range renewals {
		scopes[i] = r.Scope()
	}
	g.mu.Lock()
	g.asked = append(g.asked, scopes)
	g.mu.Unlock()
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	<-shut
	return g.Memory.Renew(context.WithoutCancel(ctx), renewals)
}

// open lets through what waits; what comes later waits again.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = make(chan struct{})
}

func (g *gate) batches() [][]lease.Scope {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.asked)
}

// atGate runs a test with an engine on a store that answers when it is let.
func atGate(t *testing.T, test func(t *testing.T, g *gate, e *renewal.Engine)) {
	t.Helper()
	atGateOf(t, func(t *testing.T, g *gate, e *renewal.Engine, _ *machine) { test(t, g, e) })
}

// atGateOf does the same on a machine whose clocks can be moved.
func atGateOf(t *testing.T, test func(t *testing.T, g *gate, e *renewal.Engine, m *machine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g, m := newGate(), &machine{}
		e := renewal.New(renewal.Options{Store: g, Clock: clock.New(m.read)})
		stop := run(t, e)
		test(t, g, e, m)
		stop()
	})
}

func (g *gate) hold(t *testing.T, e *renewal.Engine, scope lease.Scope, timing lease.Timing) {
	t.Helper()
	track(t, e, leasetest.MustAcquire(t, g, scope, timing.LeaseDuration), timing)
}

func TestAConfirmationAfterTheDeadlineRevivesNothing(t *testing.T) {
	t.Parallel()
	atGate(t, func(t *testing.T, g *gate, e *renewal.Engine) {
		g.hold(t, e, "a/late", timing)
		after(13 * time.Second)
		if got := e.State("a/late").Phase; got != renewal.Uncertain {
			t.Errorf("without an answer the lease is %s", got)
		}
		close(g.shut)
		synctest.Wait()
		if left := g.TTL("a/late"); left != timing.LeaseDuration {
			t.Errorf("the late renewal left %v: it did not run, and the test shows nothing", left)
		}
		after(time.Hour)
		if got := e.State("a/late"); got.Phase != renewal.Uncertain || got.Renewals != 0 {
			t.Errorf("after a late confirmation: %+v", got)
		}
		if n := len(g.batches()); n != 1 {
			t.Errorf("%d renewals, and the lease was uncertain after the first", n)
		}
	})
}

func TestAStoreThatNeverReturnsDoesNotStopTheSupervisor(t *testing.T) {
	t.Parallel()
	atGate(t, func(t *testing.T, g *gate, e *renewal.Engine) {
		var want []renewal.Phase
		for i := range 500 {
			g.hold(t, e, lease.Scope(fmt.Sprintf("many/%d", i)), timing)
			want = append(want, renewal.Uncertain)
		}
		after(13 * time.Second)
		var got []renewal.Phase
		for i := range 500 {
			got = append(got, e.State(renewal.Subject(fmt.Sprintf("many/%d", i))).Phase)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(g.batches()); n != 4 {
			t.Errorf("%d requests are on their way, want 4", n)
		}
		close(g.shut)
	})
}

func TestTheEarliestDeadlineGoesFirst(t *testing.T) {
	t.Parallel()
	atGate(t, func(t *testing.T, g *gate, e *renewal.Engine) {
		// Each of these occupies one of the four slots.
		for i := range 4 {
			g.hold(t, e, lease.Scope(fmt.Sprintf("slot/%d", i)), timing)
			after(6 * time.Second)
		}
		patient := lease.Timing{LeaseDuration: time.Hour, RenewalInterval: time.Second, StopGracePeriod: time.Second}
		urgent := lease.Timing{LeaseDuration: time.Minute, RenewalInterval: 20 * time.Second, StopGracePeriod: 5 * time.Second}
		g.hold(t, e, "urgent/1", urgent)
		for i := range 150 {
			g.hold(t, e, lease.Scope(fmt.Sprintf("patient/%d", i)), patient)
		}
		after(20 * time.Second)
		if n := len(g.batches()); n != 4 {
			t.Fatalf("%d requests are on their way, want 4", n)
		}
		close(g.shut)
		after(100 * time.Millisecond)
		// The two batches leave at once; the full one was filled first.
		full := slices.DeleteFunc(g.batches()[4:], func(batch []lease.Scope) bool { return len(batch) < 100 })
		if len(full) != 1 || full[0][0] != "urgent/1" {
			t.Errorf("of 151 leases that were due, these went first: %v", full)
		}
	})
}

// poison answers for one scope as nobody should.
type poison struct {
	*leasetest.Memory
	err error
}

func (p poison) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	errs := p.Memory.Renew(ctx, renewals)
	for i, r := range renewals {
		if r.Scope() == "a/poison" {
			errs[i] = p.err
		}
	}
	return errs
}

func TestAnErrorOfNoKnownKindIsUnknownAndItsLeaseAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := poison{leasetest.NewMemory(), errors.New("of no known kind")}
		e := renewal.New(renewal.Options{Store: store})
		stop := run(t, e)
		for _, scope := range []lease.Scope{"a/poison", "a/good"} {
			track(t, e, leasetest.MustAcquire(t, store, scope, timing.LeaseDuration), timing)
		}
		after(time.Minute)
		bad, good := e.State("a/poison"), e.State("a/good")
		if bad.Phase != renewal.Uncertain || bad.LastResult != renewal.Unknown || good.Phase != renewal.Held {
			t.Errorf("poisoned %+v, good %+v", bad, good)
		}
		stop()
	})
}

func TestAHaltStandsWhateverTheRenewalOnItsWayBrings(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*gate){
		"confirmed":             func(*gate) {},
		"gone":                  func(g *gate) { g.Remove("a/halted") },
		"another's":             func(g *gate) { g.Set("a/halted", "x|1", time.Hour) },
		"confirmed, but late":   func(*gate) { after(8 * time.Second) },
		"gone after the lapse":  func(*gate) { after(time.Minute) },
		"all data was lost":     func(g *gate) { g.LoseEverything() },
		"held by an older term": func(g *gate) { g.Set("a/halted", string(leasetest.NewOwner(t))+"|1", time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atGate(t, func(t *testing.T, g *gate, e *renewal.Engine) {
				g.hold(t, e, "a/halted", timing)
				after(timing.RenewalInterval)
				e.Halt("a/halted")
				before(g)
				close(g.shut)
				after(time.Hour)
				if got := e.State("a/halted").Phase; got != renewal.Halted {
					t.Errorf("the lease is %s", got)
				}
				if n := len(g.batches()); n != 1 {
					t.Errorf("%d renewals, want the one that was on its way", n)
				}
			})
		})
	}
}
