package lease_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// wrongClock is a clock whose rate changes now and then, within what chrony may do to it. Its readings and true time are in
// nanoseconds from 0.
type wrongClock struct{ pieces []piece }

// piece is a stretch of true time in which a clock runs at one rate; the last one never ends.
type piece struct{ from, reading, rate float64 }

func newWrongClock(random *rand.Rand, until float64) wrongClock {
	var clock wrongClock
	for at, reading := 0.0, 0.0; at < until; {
		rate := 1 + slew*(2*random.Float64()-1)
		if random.IntN(2) == 0 {
			rate = 1 + slew*math.Copysign(1, rate-1) // the worst there is
		}
		clock.pieces = append(clock.pieces, piece{at, reading, rate})
		length := until * random.Float64()
		at, reading = at+length, reading+length*rate
	}
	return clock
}

// reads is what the clock shows at an instant of true time.
func (c wrongClock) reads(at float64) float64 {
	p := c.pieces[0]
	for _, next := range c.pieces {
		if next.from <= at {
			p = next
		}
	}
	return p.reading + (at-p.from)*p.rate
}

// shows is the instant of true time at which the clock shows a reading.
func (c wrongClock) shows(reading float64) float64 {
	p := c.pieces[0]
	for _, next := range c.pieces {
		if next.reading <= reading {
			p = next
		}
	}
	return p.from + (reading-p.reading)/p.rate
}

// past is one lease as its holder and its server see it, in true time.
type past struct {
	random        *rand.Rand
	local, server wrongClock
	timing        lease.Timing
	base          time.Time // what the local clock's zero is called
	trust         lease.Trust
	ends          float64 // when the server lets the lease end
}

func newPast(random *rand.Rand, timing lease.Timing) *past {
	span := 10 * float64(timing.LeaseDuration)
	h := &past{
		random: random, timing: timing, base: time.Now(),
		local: newWrongClock(random, span), server: newWrongClock(random, span),
	}
	h.trust = lease.NewTrust(h.base, timing)
	h.execute(h.delay())
	return h
}

// execute lets the server run the grant or a renewal at an instant.
func (h *past) execute(at float64) {
	h.ends = h.server.shows(h.server.reads(at) + float64(h.timing.LeaseDuration))
}

// trusted is when the holder's trust ends.
func (h *past) trusted() float64 { return h.local.shows(float64(h.trust.Deadline().Sub(h.base))) }

// delay is a time on the way: mostly none, and sometimes about as long as the lease.
func (h *past) delay() float64 {
	if h.random.IntN(3) == 0 {
		return h.random.ExpFloat64() * float64(h.timing.LeaseDuration)
	}
	return 0
}

// renew sends a renewal at an instant; it may be lost on either way, and comes to nothing when it is executed too late.
func (h *past) renew(sent float64) {
	executed := sent + h.delay()
	if h.random.IntN(4) == 0 || executed >= h.ends {
		return
	}
	h.execute(executed)
	if h.random.IntN(4) != 0 {
		h.trust = h.trust.Extend(h.base.Add(time.Duration(h.local.reads(sent))))
	}
}

// TestTrustEndsBeforeTheLeaseOverAnyHistory follows leases through renewals that are lost, late or confirmed, by two clocks
// that change their rates.
func TestTrustEndsBeforeTheLeaseOverAnyHistory(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 83))
	confirmed := 0
	for range 50_000 {
		h := newPast(random, lease.Timing{LeaseDuration: randomTiming(random).LeaseDuration})
		length := float64(h.timing.LeaseDuration)
		for at := 0.0; at < min(h.ends, 5*length); at += h.random.Float64() * length {
			before := h.trust
			h.renew(at)
			if h.trust != before {
				confirmed++
			}
			if h.trusted() > h.ends {
				t.Fatalf("%v: trusted until %v of true time, and the lease ends at %v", h.timing.LeaseDuration,
					time.Duration(h.trusted()), time.Duration(h.ends))
			}
		}
	}
	if confirmed < 50_000 {
		t.Errorf("only %d renewals were confirmed: the test shows little", confirmed)
	}
}

// TestAQuarantineOutlastsEveryForgottenLease lets a server forget a lease right after it was renewed, and another grant the
// next one as soon as its quarantine of one leaseDuration is over, by a clock of its own.
func TestAQuarantineOutlastsEveryForgottenLease(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 17))
	for range 100_000 {
		h := newPast(random, lease.Timing{LeaseDuration: randomTiming(random).LeaseDuration})
		for at := range 3 {
			h.renew(float64(at) * float64(h.timing.LeaseDuration) / 2)
		}
		// The last renewal that anybody can have been told of was sent before the data was lost.
		lost := h.local.shows(float64(h.trust.Anchor().Sub(h.base)))
		successor := newWrongClock(random, 10*float64(h.timing.LeaseDuration))
		granted := successor.shows(successor.reads(lost) + float64(h.timing.LeaseDuration))
		if h.trusted() > granted {
			t.Fatalf("%v: trusted until %v of true time, and granted again at %v", h.timing.LeaseDuration,
				time.Duration(h.trusted()), time.Duration(granted))
		}
	}
}
