package renewal

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// batch is what one worker has on its way. It is used again and again.
type batch struct {
	entries  []*entry
	renewals []*lease.Renewal
	errs     []error
	results  []Result
	changed  []Subject
	repeated bool // it holds repetitions

	sent, answered time.Duration
}

func newBatch() *batch {
	return &batch{
		entries: make([]*entry, 0, batchSize), renewals: make([]*lease.Renewal, 0, batchSize), results: make([]Result, 0, batchSize),
	}
}

func (b *batch) clear() {
	clear(b.entries)
	clear(b.renewals)
	b.entries, b.renewals, b.results, b.changed = b.entries[:0], b.renewals[:0], b.results[:0], b.changed[:0]
	b.errs, b.repeated = nil, false
}

func (b *batch) add(x *entry) {
	b.entries, b.renewals = append(b.entries, x), append(b.renewals, &x.renewal)
}

// work sends one batch after the other until the context ends.
func (e *Engine) work(ctx context.Context) {
	for b := newBatch(); e.collect(ctx, b); b.clear() {
		e.send(ctx, b)
		e.settle(b)
		e.observe(b.results)
		e.tell(b.changed)
	}
}

// collect waits for its turn, and then until something is due. It returns false when the context ended.
func (e *Engine) collect(ctx context.Context, b *batch) bool {
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-e.turn }()
	for e.sender.await(ctx) {
		if e.take(b); len(b.entries) > 0 {
			return true
		}
	}
	return false
}

// nextTask is when the next batch can be sent. The lock is held.
func (e *Engine) nextTask() time.Duration {
	if len(e.tasks[ready].items) > 0 {
		return 0 // due already, however far its deadline is
	}
	_, at := e.tasks[waiting].first()
	if len(e.tasks[again].items) > 0 {
		at = min(at, e.nextAgain)
	}
	return at
}

// take fills a batch with the most urgent of what is due.
func (e *Engine) take(b *batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	e.promote(now)
	for len(b.entries) < batchSize {
		x := e.mostUrgent(now)
		if x == nil {
			break
		}
		b.repeated = b.repeated || x.where == again
		e.unplan(x)
		x.where = flying
		b.add(x)
	}
	if b.repeated && e.paced {
		e.nextAgain = now + RetryPace
	}
}

// promote moves what is due to the queues of what is to be sent.
func (e *Engine) promote(now time.Duration) {
	for {
		x, at := e.tasks[waiting].first()
		if at > now || x == nil {
			return
		}
		e.unplan(x)
		x.where = ready
		if !x.answered() {
			x.where = again
		}
		e.tasks[x.where].add(x, x.deadline)
	}
}

// mostUrgent is what is to be sent next; nil if nothing is.
func (e *Engine) mostUrgent(now time.Duration) *entry {
	first, by := e.tasks[ready].first()
	repeated, deadline := e.tasks[again].first()
	if repeated != nil && now >= e.nextAgain && (first == nil || deadline < by) {
		return repeated
	}
	return first
}

// send asks the store to renew a batch. Every lease gets an error or nil. If the store breaks on one of them, the batch is
// unknown; what is repeated meets other leases in its next batch, as each comes back in its own time.
func (e *Engine) send(ctx context.Context, b *batch) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	b.sent = e.now()
	err := e.contain("renewing leases", func() { b.errs = e.options.Store.Renew(ctx, b.renewals) })
	b.answered = e.now()
	if err == nil && len(b.errs) != len(b.entries) {
		err = fmt.Errorf("the store gave %d answers to %d renewals", len(b.errs), len(b.entries))
	}
	if err == nil {
		return
	}
	b.errs = make([]error, len(b.entries))
	for i := range b.errs {
		b.errs[i] = err
	}
}
