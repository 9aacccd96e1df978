package lease

import (
	"fmt"
	"time"
)

// StopMargin lies between the end of the grace period and the end of trust: the time it takes to carry a stop out.
const StopMargin = time.Second

// Bounds of a lease's duration. Below 5 s the margins eat the lease; above 24 h a crash blocks a report for a day.
const (
	MinLeaseDuration = 5 * time.Second
	MaxLeaseDuration = 24 * time.Hour
)

// Timing is what the user chose for a report. All durations are positive unless said otherwise.
type Timing struct {
	// LeaseDuration is how long the lease lives in Redis without a renewal.
	LeaseDuration time.Duration
	// RenewalInterval is the time between renewals; 0 never renews.
	RenewalInterval time.Duration
	// RenewalTimeout is how long after a renewal was due its confirmation may be missing; 0 means until the stop must begin.
	RenewalTimeout time.Duration
	// StopGracePeriod is the time from SIGTERM to SIGKILL.
	StopGracePeriod time.Duration
}

// Trusted is how long after t0 a grant or renewal may be relied on: 80 % of the lease. Local and remote clock may each be
// slewed by up to 8.33 % (chrony's default maxslewrate of 83333 ppm), in opposite directions: (1-0.0833)/(1+0.0833) = 0.846.
func (t Timing) Trusted() time.Duration { return t.LeaseDuration / 10 * 8 }

// StopAfter is how long after t0 the stop must begin for the report to be dead by Trusted.
func (t Timing) StopAfter() time.Duration { return t.Trusted() - t.StopGracePeriod - StopMargin }

// UncertainAfter is how long after the t0 of the last confirmation ownership becomes uncertain: RenewalTimeout after the
// next renewal was due, and never later than StopAfter.
func (t Timing) UncertainAfter() time.Duration {
	// Compared by subtraction, so that a very long RenewalTimeout does not wrap around.
	if t.RenewalInterval == 0 || t.RenewalTimeout == 0 || t.RenewalTimeout > t.StopAfter()-t.RenewalInterval {
		return t.StopAfter()
	}
	return t.RenewalInterval + t.RenewalTimeout
}

// Validate refuses a timing under which a report could not be stopped within its lease, naming the field and the number.
func (t Timing) Validate() error {
	if t.LeaseDuration < MinLeaseDuration || t.LeaseDuration > MaxLeaseDuration {
		return fmt.Errorf("leaseDuration is %v: it must be %v to %v", t.LeaseDuration, MinLeaseDuration, MaxLeaseDuration)
	}
	if t.RenewalInterval < 0 || t.RenewalInterval > t.LeaseDuration/3 {
		return fmt.Errorf("renewalInterval is %v: it must be at most a third of leaseDuration, %v",
			t.RenewalInterval, t.LeaseDuration/3)
	}
	if t.StopGracePeriod < time.Second || t.StopGracePeriod > MaxLeaseDuration {
		return fmt.Errorf("stopGracePeriod is %v: it must be 1s to %v", t.StopGracePeriod, MaxLeaseDuration)
	}
	if t.RenewalTimeout < 0 {
		return fmt.Errorf("renewalTimeout is %v: it must not be negative", t.RenewalTimeout)
	}
	if need := 2*t.RenewalInterval + t.StopGracePeriod + 2*time.Second; t.Trusted() < need {
		return fmt.Errorf("leaseDuration is %v, of which 80%% are %v: 2 x renewalInterval + stopGracePeriod + 2s need %v",
			t.LeaseDuration, t.Trusted(), need)
	}
	return nil
}

// Trust is the deadlines that follow from one confirmation. All are instants of the local monotonic clock.
type Trust struct {
	anchor time.Time
	timing Timing
}

// NewTrust anchors a timing at t0, the local instant before the confirmed request was sent.
func NewTrust(t0 time.Time, timing Timing) Trust { return Trust{anchor: t0, timing: timing} }

// Anchor is t0.
func (t Trust) Anchor() time.Time { return t.anchor }

// Deadline is T: from here on the lease may be another's.
func (t Trust) Deadline() time.Time { return t.anchor.Add(t.timing.Trusted()) }

// StopBy is S: the stop must begin here for the report to be dead by Deadline.
func (t Trust) StopBy() time.Time { return t.anchor.Add(t.timing.StopAfter()) }

// UncertainAt is when ownership becomes uncertain without another confirmation; never after StopBy.
func (t Trust) UncertainAt() time.Time { return t.anchor.Add(t.timing.UncertainAfter()) }

// RenewAt is when the next renewal is due; for a lease that is never renewed it is UncertainAt.
func (t Trust) RenewAt() time.Time {
	if t.timing.RenewalInterval == 0 {
		return t.UncertainAt()
	}
	return t.anchor.Add(t.timing.RenewalInterval)
}

// Extend returns the trust after a confirmation whose request was sent at t0. A confirmation that was sent earlier than the
// present anchor changes nothing: deadlines never move back.
func (t Trust) Extend(t0 time.Time) Trust {
	if t0.After(t.anchor) {
		t.anchor = t0
	}
	return t
}
