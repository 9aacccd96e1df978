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
		if (e.kind != acquire && e.kind != renew) || e.answer != ok {
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
	switch {
	case e.kind == remove && e.answer == ok && e.seen.owner == confirmed.by && e.back > confirmed.call:
		return e.call
	case e.by != confirmed.by:
		return never
	case e.kind == release || e.kind == withdraw:
		return e.call
	case e.kind == renew && (e.answer == gone || e.answer == held):
		return e.back
	}
	return never
}

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
	end := map[holder]time.Duration{}
	for _, e := range events {
		switch {
		case e.kind != acquire && e.kind != renew:
		case e.answer == ok:
			term := holder{e.by, e.token}
			end[term] = max(end[term], e.back+ttl+slack)
		}
	}
	unsure := unsureTerms(events)
	var found []string
	for _, e := range events {
		term := e.seen
		if e.answer == ok && (e.kind == renew || e.kind == release) {
			term = holder{e.by, e.token}
		}
		last, granted := end[term]
		if e.kind == renew && e.answer == ok {
			last = endBefore(events, e)
		}
		if granted && !unsure[term] && e.call > last {
			found = append(found, fmt.Sprintf("the lease was over at %v: %v", last, e))
		}
	}
	return found
}

// endBefore is when the lease of a renewal was over if that renewal had not been made.
func endBefore(events []event, renewal event) (end time.Duration) {
	for _, e := range events {
		confirmed := (e.kind == acquire || e.kind == renew) && e.answer == ok
		if confirmed && e.by == renewal.by && e.call < renewal.call {
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
