package lease_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// slew is the most that chrony changes the rate of a clock by default: maxslewrate 83333 ppm.
const slew = 0.083333

// TestTrustEndsBeforeTheLease follows one lease through every order of events that can be: the request is sent at t0 of the
// local clock, executed at some later instant, and answered later still, while both clocks run wrong in any direction.
func TestTrustEndsBeforeTheLease(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(20, 26))
	for range 200_000 {
		timing := randomTiming(random)
		if timing.Validate() != nil {
			continue
		}
		localRate := 1 + slew*(2*random.Float64()-1)
		serverRate := 1 + slew*(2*random.Float64()-1)
		requestTook := time.Duration(random.ExpFloat64() * float64(time.Second))
		// True time runs from 0, when the request is sent.
		expires := float64(requestTook) + float64(timing.LeaseDuration)/serverRate
		t0 := time.Now()
		trusted := lease.NewTrust(t0, timing).Deadline().Sub(t0)
		if ends := float64(trusted) / localRate; ends > expires {
			t.Fatalf("%+v: trusted until %v, expired at %v of true time; local rate %v, server's %v",
				timing, time.Duration(ends), time.Duration(expires), localRate, serverRate)
		}
	}
}

func randomTiming(random *rand.Rand) lease.Timing {
	duration := lease.MinLeaseDuration + time.Duration(random.Float64()*float64(lease.MaxLeaseDuration-lease.MinLeaseDuration))
	if random.IntN(2) == 0 {
		duration = lease.MinLeaseDuration + time.Duration(random.Float64()*float64(time.Minute))
	}
	return lease.Timing{
		LeaseDuration:   duration,
		RenewalInterval: time.Duration(random.Float64() * float64(duration) / 3),
		RenewalTimeout:  time.Duration(random.Float64() * float64(duration)),
		StopGracePeriod: time.Second + time.Duration(random.Float64()*float64(duration)),
	}
}

func TestTheDeadlinesOfAValidTimingAreInOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 33))
	valid := 0
	for range 100_000 {
		timing := randomTiming(random)
		if timing.Validate() != nil {
			continue
		}
		valid++
		trust := lease.NewTrust(time.Now(), timing)
		if !trust.Anchor().Before(trust.UncertainAt()) || trust.UncertainAt().After(trust.StopBy()) ||
			trust.RenewAt().After(trust.UncertainAt()) || trust.StopBy().Add(timing.StopGracePeriod+lease.StopMargin) != trust.Deadline() {
			t.Fatalf("%+v: renew at %v, uncertain at %v, stop by %v, deadline %v", timing,
				trust.RenewAt(), trust.UncertainAt(), trust.StopBy(), trust.Deadline())
		}
	}
	if valid < 1000 {
		t.Errorf("only %d timings were valid: the test shows little", valid)
	}
}

func TestTrustNeverMovesBack(t *testing.T) {
	t.Parallel()
	t0 := time.Now()
	trust := lease.NewTrust(t0, lease.Timing{LeaseDuration: 30 * time.Second})
	if later := trust.Extend(t0.Add(time.Second)); later.Deadline() != t0.Add(25*time.Second) {
		t.Errorf("extended to %v", later.Deadline().Sub(t0))
	}
	if same := trust.Extend(t0.Add(-time.Second)); same.Deadline() != trust.Deadline() {
		t.Errorf("an older confirmation moved the deadline to %v", same.Deadline().Sub(t0))
	}
}

func TestATimingThatCannotHoldIsRefusedByFieldAndNumber(t *testing.T) {
	t.Parallel()
	const s, ms = time.Second, time.Millisecond
	for name, tc := range map[string]struct {
		timing lease.Timing
		says   string
	}{
		"the article's":              {lease.Timing{30 * s, 5 * s, 0, 10 * s}, ""},
		"the shortest":               {lease.Timing{5 * s, 500 * ms, 0, s}, ""},
		"never renewed":              {lease.Timing{time.Minute, 0, 0, 10 * s}, ""},
		"a lease too short":          {lease.Timing{5*s - ms, 500 * ms, 0, s}, "leaseDuration is 4.999s: it must be 5s to 24h0m0s"},
		"a lease too long":           {lease.Timing{24*time.Hour + ms, s, 0, s}, "it must be 5s to 24h0m0s"},
		"an interval above a third":  {lease.Timing{30 * s, 10*s + ms, 0, s}, "at most a third of leaseDuration, 10s"},
		"a negative interval":        {lease.Timing{30 * s, -ms, 0, s}, "renewalInterval"},
		"a grace below a second":     {lease.Timing{30 * s, 5 * s, 0, s - ms}, "stopGracePeriod"},
		"a grace that just fits":     {lease.Timing{30 * s, 5 * s, 0, 12 * s}, ""},
		"a grace that does not":      {lease.Timing{30 * s, 5 * s, 0, 12*s + ms}, "of which 80% are 24s"},
		"a negative renewal timeout": {lease.Timing{30 * s, 5 * s, -ms, 10 * s}, "renewalTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.timing.Validate()
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}
