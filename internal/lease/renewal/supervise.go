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
	if entry != nil && entry.live() && !entry.deadline.After(now) {
		e.lapse(entry, now)
		wake(e.wakeSupervisor)
	}
	return entry
}

// lapse calls an entry uncertain; the supervisor tells.
func (e *Engine) lapse(entry *entry, now time.Time) {
	entry.end(Uncertain, entry.silence(now))
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
		if entry.deadline.After(now) {
			e.deadlines.push(item{entry.deadline, entry})
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
