package renewal

import (
	"context"
	"fmt"
	"time"
)

// supervise calls leases uncertain when their time is over. It waits for nothing but the clock.
func (e *Engine) supervise(ctx context.Context) {
	for e.await(ctx, e.wakeSupervisor, e.nextDeadline) {
		for _, subject := range e.expire(time.Now()) {
			e.notify(subject)
		}
	}
}

func (e *Engine) nextDeadline() (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.untold) > 0 {
		return time.Time{}, true
	}
	return e.deadlines.next()
}

// current returns the subject's entry as of now; nil if there is none. The lock is held.
func (e *Engine) current(subject Subject, now time.Time) *entry {
	entry := e.entries[subject]
	if entry != nil && entry.live() && !e.endOf(entry).After(now) {
		e.lapse(entry, now)
		wake(e.wakeSupervisor)
	}
	return entry
}

// endOf is when an entry ends unless something happens: ownership is uncertain, or nobody vouches for its owner any more.
func (e *Engine) endOf(entry *entry) time.Time {
	if silent := entry.vouched.Add(e.silence); silent.Before(entry.deadline) {
		return silent
	}
	return entry.deadline
}

// lapse ends an entry whose time is over; the supervisor tells.
func (e *Engine) lapse(entry *entry, now time.Time) {
	if entry.deadline.After(now) {
		entry.end(Halted, fmt.Sprintf("nobody vouched for the owner for %v: it may be dead, so its lease is left to lapse",
			now.Sub(entry.vouched).Round(time.Millisecond)))
	} else {
		entry.end(Uncertain, entry.silence(now))
	}
	e.untold = append(e.untold, entry.subject)
}

// expire ends every lease whose deadline has come, and puts those that were renewed meanwhile back with their new one. It
// returns those whose end was not told yet.
func (e *Engine) expire(now time.Time) []Subject {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		first, any := e.deadlines.first()
		if !any || first.at.After(now) {
			break
		}
		e.deadlines.pop()
		entry := first.entry
		if end := e.endOf(entry); end.After(now) {
			e.deadlines.push(item{end, entry})
			continue
		}
		e.lapse(entry, now)
	}
	untold := e.untold
	e.untold = nil
	return untold
}

// silence says for how long nothing was confirmed, and what the last renewal met.
func (e *entry) silence(now time.Time) string {
	met := e.detail
	if met == "" {
		met = "no answer"
	}
	if e.confirmed.IsZero() {
		return fmt.Sprintf("the lease could not be confirmed after a restart of the operator; last: %s", met)
	}
	return fmt.Sprintf("no renewal was confirmed for %v; last: %s", now.Sub(e.confirmed).Round(time.Millisecond), met)
}
