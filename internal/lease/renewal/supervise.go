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
	return e.deadlines.next()
}

// expire ends every lease whose deadline has come, and puts those that were renewed meanwhile back with their new one.
func (e *Engine) expire(now time.Time) []Subject {
	e.mu.Lock()
	defer e.mu.Unlock()
	var expired []Subject
	for {
		first, any := e.deadlines.first()
		if !any || first.at.After(now) {
			return expired
		}
		e.deadlines.pop()
		entry := first.entry
		if entry.deadline.After(now) {
			e.deadlines.push(item{entry.deadline, entry})
			continue
		}
		entry.end(Uncertain, entry.silence(now))
		expired = append(expired, entry.subject)
	}
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
