package renewal

import (
	"math/rand/v2"
	"time"
)

// add puts a new entry in the place of the subject's old one. The lock is held, here and below.
func (e *Engine) add(x *entry) {
	if old := e.entries[x.subject]; old != nil {
		e.end(old, Untracked, nil)
	}
	x.vouched = e.now()
	e.entries[x.subject] = x
	e.ends.add(x, e.endOf(x))
	e.supervisor.expect(e.endOf(x))
}

// end takes an entry out of all queues. Untracked also drops it.
func (e *Engine) end(x *entry, phase Phase, why error) {
	x.phase, x.why = phase, why
	if x.where != nowhere && x.where != flying {
		e.unplan(x)
	}
	if e.ends.holds(x) {
		e.ends.remove(x)
	}
	if phase == Untracked {
		delete(e.entries, x.subject)
	}
}

// plan puts an entry whose renewal is neither planned nor on its way into a queue of tasks.
func (e *Engine) plan(x *entry, in where, at time.Duration) {
	x.where = in
	e.tasks[in].add(x, at)
	e.sender.expect(at)
}

func (e *Engine) unplan(x *entry) {
	e.tasks[x.where].remove(x)
	x.where = nowhere
}

// vouch renews the evidence that the owner of an entry lives. Its place in the queue of ends may be too early from then on.
func (e *Engine) vouch(x *entry, now time.Duration) { x.vouched = now }

// endOf is when an entry ends unless something happens: ownership is uncertain, or nobody vouches for its owner any more.
func (e *Engine) endOf(x *entry) time.Duration {
	if e.options.MaxSilence <= 0 {
		return x.deadline
	}
	return min(x.deadline, x.vouched+e.options.MaxSilence)
}

// believe sets the deadline that follows from a confirmation, whose request was sent at t0, and plans the next renewal. What was
// sent before the clocks were found to disagree proves nothing about now: it is sent again at once.
func (e *Engine) believe(x *entry, t0 time.Duration) {
	x.deadline = x.anchor + x.timing.UncertainAfter()
	next := x.renewAt(rand.Float64())
	if t0 < e.doubted {
		x.deadline, next = min(x.deadline, e.doubted+Verification), 0
	}
	// A later end is found when the earlier one comes. An earlier one follows an adoption or a doubt alone.
	e.ends.hasten(x, e.endOf(x))
	e.supervisor.expect(e.endOf(x))
	if next != never {
		e.plan(x, waiting, next)
	}
}
