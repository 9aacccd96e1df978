package redis

import (
	"fmt"
	"time"
)

// Limits within which a server's clock may go another way than ours, beyond what slewing explains.
const (
	// legalSlew is the most that chrony changes a clock's rate by default: maxslewrate 83333 ppm.
	legalSlew = 0.08334
	// maxForward is the largest step forward: it ends leases early.
	maxForward = 2 * time.Second
	// maxBack is the largest step back: it makes leases longer, which is no danger, and clocks are set back for good reasons.
	maxBack = 30 * time.Second
	// maxRateError is the largest relative error of the rate, measured over at least rateSpan.
	maxRateError = 0.10
	rateSpan     = 10 * time.Second
	// frozenAfter is how long two readings in microseconds cannot be equal.
	frozenAfter = time.Second
)

// clockSample is one reading of a server's clock, made at some instant between the local ones.
type clockSample struct {
	server         time.Time
	sent, received time.Time
}

// clockWatch judges a server's clock by its progress between two readings, compared with the progress of the local monotonic
// clock. It never compares the readings of two machines: how far the clocks are apart does not matter. The zero value has seen
// nothing. It is not safe for concurrent use.
type clockWatch struct {
	last clockSample
	// base is where the present measurement of the rate began.
	base clockSample
	// jumped is the local instant at which the clock was last found to be wrong; zero if it never was.
	jumped time.Time
	// fault says how it was wrong.
	fault string
}

// observe judges a further reading. Readings that were sent in another order than they are observed in are left out.
func (w *clockWatch) observe(s clockSample) {
	first := w.last.sent.IsZero()
	if !first && s.sent.Before(w.last.received) {
		return
	}
	if fault := w.judge(s); !first && fault != "" {
		w.jumped, w.fault = s.received, fault
		w.base = s
	}
	if first || s.sent.Sub(w.base.received) >= rateSpan {
		w.base = s
	}
	w.last = s
}

// judge says what is wrong with the progress since the last reading, and since the base; empty if nothing is.
func (w *clockWatch) judge(s clockSample) string {
	step := progressBetween(w.last, s)
	if step.server == 0 && step.least >= frozenAfter {
		return fmt.Sprintf("it stood still for %v", step.least.Round(time.Millisecond))
	}
	if step.ahead(legalSlew) > maxForward {
		return fmt.Sprintf("it went forward by %v within %v", step.server, step.most.Round(time.Millisecond))
	}
	if step.behind(legalSlew) > maxBack {
		return fmt.Sprintf("it went by %v within %v", step.server, step.least.Round(time.Millisecond))
	}
	span := progressBetween(w.base, s)
	if span.least >= rateSpan && (span.ahead(maxRateError) > 0 || span.behind(maxRateError) > 0) {
		return fmt.Sprintf("it went by %v within %v, and no clock is slewed that much", span.server, span.least.Round(time.Millisecond))
	}
	return ""
}

// left is for how long nothing may be granted yet: one longest lease from when the clock was found to be wrong.
func (w *clockWatch) left(now time.Time, longest time.Duration) time.Duration {
	if w.jumped.IsZero() {
		return 0
	}
	return max(0, w.jumped.Add(longest).Sub(now))
}

// progress is how far a server's clock went between two readings, and the least and the most time that passed meanwhile.
type progress struct{ server, least, most time.Duration }

func progressBetween(a, b clockSample) progress {
	return progress{server: b.server.Sub(a.server), least: b.sent.Sub(a.received), most: b.received.Sub(a.sent)}
}

// ahead is by how much the server's clock went further than one that runs fast by the given fraction; behind, by how much less
// far than one that runs slow by it. What the unknown instants of the readings may explain is never counted.
func (p progress) ahead(fraction float64) time.Duration {
	return p.server - p.most - time.Duration(fraction*float64(p.most))
}

func (p progress) behind(fraction float64) time.Duration {
	return p.least - time.Duration(fraction*float64(p.least)) - p.server
}
