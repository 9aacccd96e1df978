package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// searchLimit bounds the search for an order in one scope. A history that has one is searched in milliseconds.
const searchLimit = time.Minute

// register is the lease of one scope as a single server would keep it.
type register struct {
	held holder
	// until is the earliest instant at which the lease may have lapsed; freed is the one from which a release of unknown
	// outcome may have freed it.
	until, freed time.Duration
	// highest is the highest token granted.
	highest lease.Token
	// restarted says that data was lost; nothing is granted before grants.
	restarted bool
	grants    time.Duration
}

// step is an event, with what is known of it from others.
type step struct {
	event
	// freed is when a release of unknown outcome of the lease granted was sent first, or never.
	freed time.Duration
}

// model is what porcupine explains the answers by.
var model = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, _ any) (bool, any) {
		possible, next := state.(register).take(input.(step))
		return possible, next
	},
}

// free says whether the register may be found free by an answer that was received at an instant.
func (r register) free(at time.Duration) bool {
	return r.held.owner == "" || at >= min(r.until-slack, r.freed)
}

// take returns whether an answer is possible, and the register after it.
func (r register) take(s step) (possible bool, next register) {
	lapsed := r
	lapsed.held = holder{}
	switch s.answer {
	case held:
		return r.held == s.seen, r
	case gone:
		return r.free(s.back), lapsed
	case quarantined:
		return r.free(s.back) && r.restarted, lapsed
	case ok:
		return r.confirm(s)
	default:
		return false, r
	}
}

// grantable says whether a grant is possible.
func (r register) grantable(s step) bool {
	return r.free(s.back) && s.token > r.highest && s.back >= r.grants
}

// confirm is take for what was executed with the wanted effect.
func (r register) confirm(s step) (possible bool, next register) {
	own := holder{s.by, s.token}
	next = r
	next.held = holder{}
	switch s.kind {
	case acquire:
		next.held, next.highest, next.until, next.freed = own, s.token, s.call+ttl, s.freed
		return r.grantable(s), next
	case renew:
		next.held, next.until = own, max(r.until, s.call+ttl)
		return r.held == own, next
	case release:
		return r.held == own, next
	case remove:
		return r.held == s.seen, next
	case restart:
		next.restarted, next.grants = true, s.call+ttl-slack
		return true, next
	case withdraw:
		if r.held.owner != s.by {
			return true, r
		}
		return true, next
	case observe:
	}
	return false, r // an observation has no effect of its own
}

// unexplained returns one text if no order of a scope's events explains all answers.
func unexplained(events []event) []string {
	steps := settle(events)
	operations := make([]porcupine.Operation, len(steps))
	for i, s := range steps {
		operations[i] = porcupine.Operation{Input: s, Call: int64(s.call), Return: int64(s.back)}
	}
	result, info := porcupine.CheckOperationsVerbose(model, operations, searchLimit)
	switch result {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return []string{"no order explains these answers:\n" + aroundTheGap(steps, info)}
	default:
		return []string{fmt.Sprintf("no order was found in %v", searchLimit)}
	}
}

// aroundTheGap prints the events about the first one that the longest order found does not contain.
func aroundTheGap(steps []step, info porcupine.LinearizationInfo) string {
	explained := map[event]bool{}
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) < len(explained) {
			continue
		}
		clear(explained)
		for _, operation := range order {
			explained[operation.Input.(step).event] = true
		}
	}
	first := slices.IndexFunc(steps, func(s step) bool { return !explained[s.event] })
	var text strings.Builder
	for i := max(0, first-12); i < min(len(steps), first+12); i++ {
		mark := " "
		if !explained[steps[i].event] {
			mark = "?"
		}
		fmt.Fprintf(&text, "%s %v\n", mark, steps[i].event)
	}
	return text.String()
}

// settle leaves out what changes no answer, and completes what others saw the effect of.
func settle(events []event) []step {
	var steps []step
	for _, e := range events {
		switch {
		case e.answer == unknown && e.kind == acquire:
			if granted, seen := completed(e, events); seen {
				steps = append(steps, step{granted, freedFrom(granted, events)})
			}
		case e.answer == unknown || e.answer == refused:
		case e.kind == acquire && e.answer == ok:
			steps = append(steps, step{e, freedFrom(e, events)})
		default:
			steps = append(steps, step{e, never})
		}
	}
	return steps
}

// completed turns an acquisition of unknown outcome into the grant that others saw.
func completed(e event, events []event) (granted event, seen bool) {
	e.back = never
	for _, other := range events {
		if other.seen.owner == e.by {
			seen = true
			e.token, e.back = other.seen.token, min(e.back, other.back)
		}
	}
	e.answer = ok
	return e, seen
}

// freedFrom is when the first release or withdrawal of unknown outcome of a grant was sent, or never.
func freedFrom(grant event, events []event) time.Duration {
	from := never
	for _, e := range events {
		if e.by == grant.by && (e.kind == release || e.kind == withdraw) && e.answer == unknown {
			from = min(from, e.call)
		}
	}
	return from
}
