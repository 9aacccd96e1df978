package renewal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease/clock"
)

// supervise ends leases whose time is over, and looks at the clocks. It waits for nothing but time.
func (e *Engine) supervise(ctx context.Context) {
	clocks := e.clock.NewWatch()
	for e.supervisor.await(ctx) {
		e.tell(e.look(clocks))
	}
}

// nextEnd is when the supervisor has something to do. While it supervises nothing, it does not look at the clocks, and their
// divergence in that time is nobody's concern. The lock is held.
func (e *Engine) nextEnd() time.Duration {
	if len(e.untold) > 0 {
		return 0
	}
	_, at := e.ends.first()
	if len(e.ends.items) > 0 && e.rested {
		return 0
	}
	if e.rested && len(e.unheard) == 0 {
		return never
	}
	return min(at, e.nextLook)
}

// look compares the clocks and ends what is over. It returns those whose end was not told yet.
func (e *Engine) look(clocks *clock.Watch) []Subject {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	by, differ := clocks.Look()
	if differ && !e.rested {
		e.doubt(now, by)
	}
	if now >= e.nextLook {
		e.untold = append(e.untold, e.unheard...)
		e.unheard, e.nextLook = nil, now+Tick
	}
	e.expire(now)
	e.rested = len(e.ends.items) == 0
	untold := e.untold
	e.untold = nil
	return untold
}

// doubt lets every lease end soon unless it is confirmed, and renews all of them at once. A cap keeps the order of a queue.
func (e *Engine) doubt(now, by time.Duration) {
	e.doubted, e.by = now, by
	until := now + Verification
	for _, it := range e.ends.items {
		if x := it.entry; x.renewed() {
			x.deadline = min(x.deadline, until)
			e.verify(x, now)
		}
	}
	e.ends.cap(until)
	e.tasks[waiting].cap(now)
	e.tasks[ready].cap(until)
	e.tasks[again].cap(until)
	e.sender.expect(now)
}

// verify plans the renewal of a lease that is never renewed otherwise; the others are in the queues.
func (e *Engine) verify(x *entry, now time.Duration) {
	if x.timing.RenewalInterval == 0 && x.where == nowhere {
		e.plan(x, waiting, now)
	}
}

// current returns the subject's entry as of now; nil if there is none. The lock is held.
func (e *Engine) current(subject Subject, now time.Duration) *entry {
	x := e.entries[subject]
	if x != nil && x.live() && e.endOf(x) <= now {
		e.lapse(x, now)
		e.supervisor.expect(0)
	}
	return x
}

// expire ends every lease whose time has come, and puts those that were renewed meanwhile back with their new one.
func (e *Engine) expire(now time.Duration) {
	for {
		x, at := e.ends.first()
		if x == nil || at > now {
			return
		}
		if end := e.endOf(x); end > now {
			e.ends.postpone(x, end)
			continue
		}
		e.lapse(x, now)
	}
}

// lapse ends an entry whose time is over; the supervisor tells.
func (e *Engine) lapse(x *entry, now time.Duration) {
	if x.deadline > now {
		e.end(x, Halted, fmt.Errorf("nobody vouched for the owner for %v: it may be dead, so its lease is left to lapse",
			rounded(now-x.vouched)))
	} else {
		e.end(x, Uncertain, e.silence(x, now))
	}
	e.untold = append(e.untold, x.subject)
}

// silence says for how long nothing was confirmed, and what the last renewal met.
func (e *Engine) silence(x *entry, now time.Duration) error {
	met := x.why
	if met == nil {
		met = errors.New("no answer")
	}
	switch {
	case x.deadline == e.doubted+Verification:
		return fmt.Errorf("the wall clock went %v apart from the monotonic clock, and no renewal was confirmed for %v since; last: %w",
			rounded(e.by), rounded(now-e.doubted), met)
	case x.anchor == never:
		return fmt.Errorf("the lease could not be confirmed after a restart of the operator; last: %w", met)
	}
	return fmt.Errorf("no renewal was confirmed for %v; last: %w", rounded(now-x.anchor), met)
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
