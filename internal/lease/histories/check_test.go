package histories

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// slack is what clocks that count in milliseconds, and round, can differ by; a violation that matters is far longer.
const slack = 20 * time.Millisecond

// violation is something that the protocol says cannot be seen.
type violation struct {
	rule  string
	scope lease.Scope
	text  string
}

// The rules, as package histories has them.
const (
	exclusion       = "exclusion"
	tokens          = "tokens"
	duration        = "duration"
	linearizability = "linearizability"
)

// check finds the violations in a history: all but those of linearizability, of which it finds one in each scope.
func check(events []event) []violation {
	var found []violation
	scopes := byScope(events)
	for _, scope := range slices.Sorted(maps.Keys(scopes)) {
		for rule, texts := range map[string][]string{
			exclusion:       overlaps(scopes[scope]),
			tokens:          disorder(scopes[scope]),
			duration:        outlived(scopes[scope]),
			linearizability: unexplained(scopes[scope]),
		} {
			for _, text := range texts {
				found = append(found, violation{rule, scope, text})
			}
		}
	}
	return found
}

// span is a time in which an owner believes that he is alone.
type span struct {
	owner    lease.Owner
	from, to time.Duration
}

// overlaps looks for instants that two owners trust in.
func overlaps(events []event) []string {
	spans := trustedSpans(events)
	var found []string
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			if b.from >= a.to {
				break
			}
			if a.owner != b.owner {
				found = append(found, fmt.Sprintf("%.6s trusts from %v to %v, and %.6s from %v to %v",
					string(a.owner), a.from, a.to, string(b.owner), b.from, b.to))
			}
		}
	}
	return found
}

// trustedSpans are sorted by their beginning.
func trustedSpans(events []event) []span {
	var spans []span
	for _, e := range events {
		if !confirms(e) {
			continue
		}
		s := span{e.by, e.back, e.anchor + trusted}
		for _, later := range events {
			s.to = min(s.to, trustEnd(e, later))
		}
		if s.from < s.to {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return spans
}

// never is later than every history.
const never = time.Duration(1<<63 - 1)

// trustEnd is when another event ends the trust in a confirmation, or never.
func trustEnd(confirmed, e event) time.Duration {
	if e.kind == remove {
		return removalEnd(confirmed, e)
	}
	if e.by != confirmed.by {
		return never
	}
	switch {
	case e.kind == release || e.kind == withdraw:
		return e.call
	case e.kind == renew && (e.answer == gone || e.answer == held):
		return e.back
	}
	return never
}

// removalEnd is trustEnd for a removal.
func removalEnd(confirmed, removal event) time.Duration {
	if removal.answer == ok && removal.seen.owner == confirmed.by && removal.back > confirmed.call {
		return removal.call
	}
	return never
}

// confirms says whether an event lets its term be trusted.
func confirms(e event) bool { return (e.kind == acquire || e.kind == renew) && e.answer == ok }

// disorder looks for tokens that do not increase.
func disorder(events []event) []string {
	var found []string
	grants := slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.kind != acquire || e.answer != ok })
	for i, a := range grants {
		if a.floor >= a.token {
			found = append(found, fmt.Sprintf("a token not above its floor %d: %v", a.floor, a))
		}
		for _, b := range grants[i+1:] {
			if a.token == b.token || a.back < b.call && a.token > b.token {
				found = append(found, fmt.Sprintf("%v\nand then %v", a, b))
			}
		}
	}
	return found
}

// outlived looks for leases that were seen after they must have been over.
func outlived(events []event) []string {
	unsure := unsureTerms(events)
	var found []string
	for _, e := range events {
		term := shown(e)
		if end := endBefore(events, term, e.call); end > 0 && e.call > end && !unsure[term] {
			found = append(found, fmt.Sprintf("the lease was over at %v: %v", end, e))
		}
	}
	return found
}

// shown is the term that an answer shows to be alive.
func shown(e event) holder {
	if e.answer == ok && (e.kind == renew || e.kind == release) {
		return holder{e.by, e.token}
	}
	return e.seen
}

// endBefore is when the lease of a term was over, by the confirmations of it that were sent before an instant; 0: there are none.
func endBefore(events []event, term holder, call time.Duration) (end time.Duration) {
	for _, e := range events {
		if confirms(e) && term == (holder{e.by, e.token}) && e.call < call {
			end = max(end, e.back+ttl+slack)
		}
	}
	return end
}

// unsureTerms are those whose lease a request of unknown outcome may have lengthened.
func unsureTerms(events []event) map[holder]bool {
	unsure := map[holder]bool{}
	for _, e := range events {
		if e.kind == renew && e.answer == unknown {
			unsure[holder{e.by, e.token}] = true
		}
	}
	return unsure
}
