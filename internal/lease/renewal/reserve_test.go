package renewal_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

func TestALeaseIsTrackedOnlyUnderItsOwnReservation(t *testing.T) {
	t.Parallel()
	const owner, other = lease.Owner("0123456789abcdef0123456789abcdef"), lease.Owner("ffffffffffffffffffffffffffffffff")
	term := lease.Term{Scope: lease.Scope(subject), Owner: owner, Token: 7}
	for name, tc := range map[string]struct {
		meanwhile func(e *renewal.Engine)
		tracked   bool
		phase     renewal.Phase
	}{
		"nothing happens":        {func(*renewal.Engine) {}, true, renewal.Held},
		"half of the trust":      {func(*renewal.Engine) { after(12 * time.Second) }, true, renewal.Held},
		"over half of the trust": {func(*renewal.Engine) { after(12*time.Second + 1) }, false, renewal.Untracked},
		"forgotten":              {func(e *renewal.Engine) { e.Forget(subject) }, false, renewal.Untracked},
		"halted":                 {func(e *renewal.Engine) { e.Halt(subject) }, false, renewal.Halted},
		"vouched for":            {func(e *renewal.Engine) { e.Vouch(subject) }, true, renewal.Held},
		"reserved by another":    {func(e *renewal.Engine) { e.Reserve(subject, term.Scope, other) }, false, renewal.Acquiring},
		"reserved elsewhere":     {func(e *renewal.Engine) { e.Reserve(subject, "a/b", owner) }, false, renewal.Acquiring},
		"reserved again":         {func(e *renewal.Engine) { e.Reserve(subject, term.Scope, owner) }, true, renewal.Held},
		"adopted":                {func(e *renewal.Engine) { e.Adopt(subject, term, timing) }, false, renewal.Adopting},
		"tracked already": {func(e *renewal.Engine) {
			e.Track(subject, lease.Grant{Term: term, At: time.Now()}, timing)
		}, false, renewal.Held},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := renewal.New(renewal.Options{Store: leasetest.NewMemory()})
				e.Reserve(subject, term.Scope, owner)
				if got := e.State(subject); got.Phase != renewal.Acquiring || got.Term != (lease.Term{Scope: term.Scope, Owner: owner}) {
					t.Errorf("reserved: %+v", got)
				}
				grant := lease.Grant{Term: term, At: time.Now()}
				tc.meanwhile(e)
				if got := e.Track(subject, grant, timing); got != tc.tracked {
					t.Errorf("Track says %t", got)
				}
				if got := e.State(subject); got.Phase != tc.phase {
					t.Errorf("the lease is %s, want %s", got.Phase, tc.phase)
				}
			})
		})
	}
}

func TestALeaseWithoutAReservationIsNotTracked(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		grant := leasetest.MustAcquire(b, b.memory, lease.Scope(subject), timing.LeaseDuration)
		if b.engine.Track(subject, grant, timing) {
			b.Error("it is tracked")
		}
		b.wantPhase(subject, renewal.Untracked)
		after(timing.LeaseDuration)
		if got := b.memory.Get(lease.Scope(subject)); got != "" {
			b.Errorf("it is renewed: %q", got)
		}
	})
}

// TestALeaseThatIsUncertainWhenItIsGrantedIsNotTracked has a timing by which ownership is uncertain before half of the trust
// is used up.
func TestALeaseThatIsUncertainWhenItIsGrantedIsNotTracked(t *testing.T) {
	t.Parallel()
	strict := lease.Timing{LeaseDuration: time.Minute, RenewalInterval: time.Second, RenewalTimeout: time.Second,
		StopGracePeriod: time.Second}
	for wait, want := range map[time.Duration]bool{2*time.Second - 1: true, 2 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			memory := leasetest.NewMemory()
			e := renewal.New(renewal.Options{Store: memory})
			grant := leasetest.MustAcquire(t, memory, lease.Scope(subject), time.Minute)
			e.Reserve(subject, grant.Term.Scope, grant.Term.Owner)
			after(wait)
			grant.At = time.Now().Add(-wait)
			if got := e.Track(subject, grant, strict); got != want {
				t.Errorf("after %v: %t", wait, got)
			}
		})
	}
}

func TestALeaseWhoseOwnerIsSilentLapses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		begin func(b *bench) lease.Scope
	}{
		"reserved": {func(b *bench) lease.Scope {
			b.engine.Reserve(subject, lease.Scope(subject), leasetest.NewOwner(b))
			return lease.Scope(subject)
		}},
		"tracked": {func(b *bench) lease.Scope { return b.track(subject, timing).Scope }},
		"adopted": {func(b *bench) lease.Scope {
			term := leasetest.MustAcquire(b, b.memory, lease.Scope(subject), timing.LeaseDuration).Term
			b.engine.Adopt(subject, term, timing)
			return term.Scope
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubbleWith(t, renewal.Options{MaxSilence: time.Minute}, func(b *bench) {
				scope := tc.begin(b)
				for range 10 {
					after(time.Minute - 1)
					b.engine.Vouch(subject)
				}
				signals := b.signals()
				after(time.Minute - 1)
				if got := b.engine.State(subject).Phase; got == renewal.Halted {
					b.Error("halted before its time")
				}
				after(1)
				if got := b.engine.State(subject); got.Phase != renewal.Halted || !strings.Contains(got.Detail, "for 1m0s") {
					b.Errorf("after a minute of silence: %+v", got)
				}
				if n := b.signals() - signals; n != 1 {
					b.Errorf("%d signals, want 1", n)
				}
				b.engine.Vouch(subject)
				after(timing.LeaseDuration)
				b.wantPhase(subject, renewal.Halted)
				if got := b.memory.Get(scope); got != "" {
					b.Errorf("the lease still holds %q", got)
				}
			})
		})
	}
}

func TestAdoptingAgainVouches(t *testing.T) {
	t.Parallel()
	inBubbleWith(t, renewal.Options{MaxSilence: time.Minute}, func(b *bench) {
		term := b.track(subject, timing)
		for range 10 {
			after(50 * time.Second)
			b.engine.Adopt(subject, term, timing)
		}
		b.wantPhase(subject, renewal.Held)
	})
}
