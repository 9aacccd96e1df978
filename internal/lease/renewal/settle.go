package renewal

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

var errTooLate = errors.New("the confirmation of the renewal came too late")

// settle applies the answers to a batch, each to its own lease.
func (e *Engine) settle(b *batch) {
	for _, err := range b.errs {
		b.results = append(b.results, resultOf(err))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := false
	for i, x := range b.entries {
		repeated := !x.answered()
		before := x.phase
		b.results[i] = e.apply(x, b.results[i], b.errs[i], b)
		heard = heard || repeated && x.answered()
		if x.phase != before {
			b.changed = append(b.changed, x.subject)
		}
	}
	if b.repeated {
		e.pace(heard)
	}
}

// pace holds repetitions back while they bring no answer.
func (e *Engine) pace(heard bool) {
	e.paced = !heard
	if heard {
		e.nextAgain = 0
		e.sender.expect(0)
	}
}

// apply gives a lease the answer to its renewal, and returns what the result is in the end.
func (e *Engine) apply(x *entry, result Result, err error, b *batch) Result {
	x.where = nowhere
	if result == Confirmed && b.answered >= x.deadline {
		result = TooLate
	}
	if !x.renewed() {
		return result
	}
	x.result = result
	switch result {
	case Confirmed:
		e.confirm(x, b.sent)
	case TooLate:
		e.end(x, Uncertain, errTooLate)
	case Refused:
		e.end(x, Lost, whose(err))
	default:
		x.why = err
		e.plan(x, waiting, b.answered+MinRetryDelay+rand.N(MaxRetryDelay-MinRetryDelay))
	}
	return result
}

// confirm extends the entry's trust. A lease that is not renewed was asked for because the clocks did not agree, and is trusted
// for as long as before.
func (e *Engine) confirm(x *entry, t0 time.Duration) {
	if x.phase == Adopting {
		x.phase, x.anchor = Held, t0
	} else if x.timing.RenewalInterval > 0 {
		x.anchor = max(x.anchor, t0)
	}
	x.why = nil
	x.renewals++
	e.believe(x, t0)
}

// whose says in words whom a lost lease belongs to; the reader knows which lease it is.
func whose(err error) error {
	if lost, ok := errors.AsType[*lease.LostError](err); ok {
		return errors.New(lost.Whose())
	}
	return err
}

func resultOf(err error) Result {
	if err == nil {
		return Confirmed
	}
	var lost *lease.LostError
	switch {
	case errors.As(err, &lost):
		return Refused
	case lease.OutcomeOf(err) == lease.NotExecuted:
		return NotExecuted
	default:
		return Unknown
	}
}
