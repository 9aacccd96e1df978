package renewal

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// dispatch sends what is due until the context ends.
func (e *Engine) dispatch(ctx context.Context, work *sync.WaitGroup) {
	for e.await(ctx, e.wakeDispatcher, e.nextDue) {
		select {
		case <-ctx.Done():
			return
		case e.slots <- struct{}{}:
		}
		batch := e.take(time.Now())
		if len(batch) == 0 {
			<-e.slots
			continue
		}
		work.Go(func() {
			defer func() { <-e.slots }()
			e.renew(ctx, batch)
		})
	}
}

func (e *Engine) nextDue() (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, any := e.ready.next(); any {
		return time.Time{}, true // due already, however far its deadline is
	}
	return e.due.next()
}

// await waits for the instant that next names, asking again whenever it is woken. It returns false when the context ended.
func (e *Engine) await(ctx context.Context, woken <-chan struct{}, next func() (time.Time, bool)) bool {
	for {
		at, any := next()
		left := time.Until(at)
		if any && left <= 0 {
			return ctx.Err() == nil
		}
		var timer <-chan time.Time
		if any {
			timer = time.After(left) // collected when it is not waited for any more
		}
		select {
		case <-ctx.Done():
			return false
		case <-woken:
		case <-timer:
		}
	}
}

// take moves what is due to the ready queue and returns the most urgent of it.
func (e *Engine) take(now time.Time) []*entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		first, any := e.due.first()
		if !any || first.at.After(now) {
			break
		}
		e.due.pop()
		e.ready.push(item{first.entry.deadline, first.entry})
	}
	var batch []*entry
	for len(batch) < batchSize {
		if _, any := e.ready.first(); !any {
			break
		}
		batch = append(batch, e.ready.pop().entry)
	}
	return batch
}

// renew sends one batch and settles each lease in it by its own answer.
func (e *Engine) renew(ctx context.Context, batch []*entry) {
	renewals := make([]*lease.Renewal, len(batch))
	for i, entry := range batch {
		renewal := lease.NewRenewal(entry.term, entry.timing.LeaseDuration)
		renewals[i] = &renewal
	}
	callCtx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	t0 := time.Now()
	errs := e.store.Renew(callCtx, renewals)
	now := time.Now()
	for i, entry := range batch {
		result, changed := e.settle(entry, errs[i], moment{t0, now})
		e.observe(result)
		if changed {
			e.notify(entry.subject)
		}
	}
	wake(e.wakeDispatcher)
}

// moment is when a request was sent and when its answer came.
type moment struct{ t0, now time.Time }

// settle applies one answer, and says what it was and whether the phase changed.
func (e *Engine) settle(entry *entry, err error, m moment) (Result, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := entry.phase
	result := resultOf(err)
	if result == Confirmed && !m.now.Before(entry.deadline) {
		result = TooLate
	}
	if !entry.renewed() {
		return result, false
	}
	entry.lastResult = result
	switch result {
	case Confirmed:
		e.confirm(entry, m.t0)
	case TooLate:
		entry.end(Uncertain, "the confirmation of the renewal came too late")
	case Refused:
		entry.end(Lost, whose(err))
	default:
		entry.detail = err.Error()
		e.due.push(item{m.now.Add(MinRetryDelay + rand.N(MaxRetryDelay-MinRetryDelay)), entry})
	}
	return result, entry.phase != before
}

// confirm extends the entry's trust and plans its next renewal. Only the end of an adoption can bring a deadline that is
// earlier than the one before.
func (e *Engine) confirm(entry *entry, t0 time.Time) {
	before := entry.deadline
	entry.confirm(t0)
	if entry.deadline.Before(before) {
		e.deadlines.push(item{e.endOf(entry), entry})
		wake(e.wakeSupervisor)
	}
	if entry.timing.RenewalInterval > 0 {
		e.due.push(item{jittered(entry.trust, entry.timing), entry})
	}
}

// whose says in words whom a lost lease belongs to; the reader knows which lease it is.
func whose(err error) string {
	if lost, ok := errors.AsType[*lease.LostError](err); ok {
		return lost.Whose()
	}
	return err.Error()
}

func resultOf(err error) Result {
	var lost *lease.LostError
	switch {
	case err == nil:
		return Confirmed
	case errors.As(err, &lost):
		return Refused
	case lease.OutcomeOf(err) == lease.NotExecuted:
		return NotExecuted
	default:
		return Unknown
	}
}
