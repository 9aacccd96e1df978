package renewal_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// TestLeasesThatAreGoodForHoursDelayNoOther lets more leases than a batch takes come due during an outage. Their deadlines are
// far, and the lease beside them is due before long.
func TestLeasesThatAreGoodForHoursDelayNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		long := lease.Timing{LeaseDuration: 24 * time.Hour, RenewalInterval: time.Minute, StopGracePeriod: time.Second}
		for i := range 450 {
			b.track(renewal.Subject(fmt.Sprintf("long/%d", i)), long)
		}
		after(50 * time.Second)
		b.faults.All(leasetest.Hang)
		after(20 * time.Second)
		b.faults.All(leasetest.None)
		b.track(subject, timing)
		after(10 * time.Minute)
		b.wantPhase(subject, renewal.Held)
		for i := range 450 {
			name := lease.Scope(fmt.Sprintf("long/%d", i))
			if left := b.memory.TTL(name); left < long.LeaseDuration-long.RenewalInterval {
				b.Fatalf("only %v of %s are left", left, name)
			}
		}
	})
}

// TestAnAdoptedLeaseIsUncertainByItsOwnDeadline has a timing under which the adoption may take longer than the lease's first
// confirmation lasts.
func TestAnAdoptedLeaseIsUncertainByItsOwnDeadline(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timing lease.Timing
		at     time.Duration
	}{
		"within a second": {lease.Timing{LeaseDuration: 5 * time.Second, RenewalInterval: 300 * time.Millisecond,
			RenewalTimeout: 200 * time.Millisecond, StopGracePeriod: time.Second}, 500 * time.Millisecond},
		"with a timeout beyond the lease": {lease.Timing{LeaseDuration: 30 * time.Second, RenewalInterval: 5 * time.Second,
			RenewalTimeout: time.Hour, StopGracePeriod: 10 * time.Second}, 13 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				term := leasetest.MustAcquire(b, b.memory, lease.Scope(subject), tc.timing.LeaseDuration).Term
				b.engine.Adopt(subject, term, tc.timing)
				synctest.Wait()
				b.wantPhase(subject, renewal.Held)
				b.faults.All(leasetest.Refuse)
				after(tc.at)
				if n := b.signals(); n != 2 {
					b.Errorf("%d signals, want one of the adoption and one of its end", n)
				}
				b.wantPhase(subject, renewal.Uncertain)
			})
		})
	}
}

// TestAStateIsReadByTheClock asks an engine whose goroutines got no turn, as after a freeze.
func TestAStateIsReadByTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory()
		var told []renewal.Subject
		e := renewal.New(renewal.Options{Store: memory, Notify: func(s renewal.Subject) { told = append(told, s) }})
		track(t, e, leasetest.MustAcquire(t, memory, lease.Scope(subject), timing.LeaseDuration), timing)
		after(13*time.Second - 1)
		if got := e.State(subject).Phase; got != renewal.Held {
			t.Errorf("before the deadline: %s", got)
		}
		after(1)
		if got := e.State(subject); got.Phase != renewal.Uncertain || got.Detail == "" {
			t.Errorf("at the deadline: %+v", got)
		}
		runFor(t, e, time.Second)
		if got := e.State(subject); got.Phase != renewal.Uncertain || got.Renewals != 0 {
			t.Errorf("when the engine runs again: %+v", got)
		}
		if len(told) != 1 {
			t.Errorf("told of %v, want of %s once", told, subject)
		}
	})
}

// runFor lets an engine run for a while.
func runFor(t *testing.T, e *renewal.Engine, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := e.Run(ctx); err != nil {
		t.Error(err)
	}
}
