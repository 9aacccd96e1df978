package histories

import (
	"slices"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

const planted = lease.Scope("finance/revenue")

var (
	first  = holder{"first", 100}
	second = holder{"second", 200}
)

// at makes an event that was on its way for 10 ms. Times are in seconds.
func at(seconds float64, k kind, by holder, a answer) event {
	call := time.Duration(seconds * float64(time.Second))
	return event{
		kind: k, scope: planted, by: by.owner, token: by.token, answer: a,
		call: call, anchor: call, back: call + 10*time.Millisecond,
	}
}

// seeing adds the holder that an answer names.
func (e event) seeing(h holder) event {
	e.seen = h
	return e
}

// lasting stretches an event.
func (e event) lasting(d time.Duration) event {
	e.back = e.call + d
	return e
}

func TestAHistoryThatTheProtocolAllowsPasses(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]event{
		"a release and another's grant": {
			at(1, acquire, first, ok), at(2, renew, first, ok), at(3, release, first, ok), at(3.1, acquire, second, ok),
		},
		"a lease lapses after its time": {
			at(1, acquire, first, ok), at(3, renew, first, ok), at(7.9, acquire, holder{owner: second.owner}, held).seeing(first),
			at(8.1, acquire, second, ok), at(8.2, renew, first, held).seeing(second),
		},
		"a release whose reply was lost, and that ran": {
			at(1, acquire, first, ok), at(2, release, first, unknown), at(2.1, acquire, second, ok),
		},
		"a release whose reply was lost, and that never ran": {
			at(1, acquire, first, ok), at(2, release, first, unknown), at(4, observe, holder{}, held).seeing(first),
			at(6.1, acquire, second, ok),
		},
		"a grant whose reply was lost, seen by another": {
			at(1, acquire, holder{owner: first.owner}, unknown), at(2, acquire, holder{owner: second.owner}, held).seeing(first),
			at(2.1, withdraw, holder{owner: first.owner}, ok), at(2.2, acquire, second, ok),
		},
		"an acquisition that nobody saw": {
			at(1, acquire, holder{owner: first.owner}, unknown), at(1.1, acquire, second, ok),
		},
		"a grant that overtakes a release by a slow reply": {
			at(1, acquire, first, ok), at(2, release, first, ok).lasting(time.Second), at(2.1, acquire, second, ok),
		},
		"a person removes the lease": {
			at(1, acquire, first, ok), at(2, remove, holder{}, ok).seeing(first), at(2.1, acquire, second, ok),
			at(2.2, renew, first, held).seeing(second),
		},
		"a restart without data": {
			at(1, acquire, first, ok), at(2, restart, holder{}, ok), at(2.1, renew, first, gone),
			at(3, acquire, holder{owner: second.owner}, quarantined), at(8.1, acquire, second, ok),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, v := range check(events) {
				t.Errorf("%s: %s", v.rule, v.text)
			}
		})
	}
}

// violations are histories that the protocol does not allow.
var violations = map[string]struct {
	events []event
	want   []string // rules
}{
	"two trusted holders": {
		[]event{at(1, acquire, first, ok), at(2, acquire, second, ok)},
		[]string{exclusion, linearizability},
	},
	"two trusted holders, as a lease lapsed a second early": {
		[]event{at(1, acquire, first, ok), at(3, renew, first, ok), at(6.5, acquire, second, ok)},
		[]string{exclusion, linearizability},
	},
	"a lease that lapsed early, when it was trusted no more": {
		[]event{at(1, acquire, first, ok), at(3, renew, first, ok), at(7.5, acquire, second, ok)},
		[]string{linearizability},
	},
	"a token that goes back": {
		[]event{at(1, acquire, second, ok), at(2, release, second, ok), at(3, acquire, first, ok)},
		[]string{linearizability, tokens},
	},
	"a token granted twice": {
		[]event{at(1, acquire, first, ok), at(2, release, first, ok), at(3, acquire, holder{"third", first.token}, ok)},
		[]string{linearizability, tokens},
	},
	"a token not above its floor": {
		[]event{{kind: acquire, scope: planted, by: "first", token: 7, floor: 7, answer: ok, back: time.Second}},
		[]string{tokens},
	},
	"a renewal confirmed after another's grant": {
		[]event{at(1, acquire, first, ok), at(6.1, acquire, second, ok), at(6.2, release, second, ok), at(6.3, renew, first, ok)},
		[]string{duration, linearizability},
	},
	"a renewal that revives what has lapsed": {
		[]event{at(1, acquire, first, ok), at(6.2, renew, first, ok)},
		[]string{duration},
	},
	"a lease that is seen after its time": {
		[]event{at(1, acquire, first, ok), at(6.2, observe, holder{}, held).seeing(first)},
		[]string{duration},
	},
	"a release that frees another's lease": {
		[]event{
			at(1, acquire, first, ok), at(6.1, acquire, second, ok), at(6.2, release, first, ok),
			at(6.3, observe, holder{}, gone),
		},
		[]string{duration, linearizability},
	},
	"a release confirmed, and the lease seen": {
		[]event{at(1, acquire, first, ok), at(2, release, first, ok), at(2.1, observe, holder{}, held).seeing(first)},
		[]string{linearizability},
	},
	"a grant that is said to be not executed": {
		[]event{at(1, acquire, holder{owner: "first"}, refused), at(2, observe, holder{}, held).seeing(first)},
		[]string{linearizability},
	},
	"a grant soon after a restart without data": {
		[]event{at(1, acquire, first, ok), at(2, restart, holder{}, ok), at(6.5, acquire, second, ok)},
		[]string{linearizability},
	},
	"a quarantine without a cause": {
		[]event{at(1, acquire, holder{owner: "first"}, quarantined)},
		[]string{linearizability},
	},
	"a loss that did not happen": {
		[]event{at(1, acquire, first, ok), at(2, renew, first, gone)},
		[]string{linearizability},
	},
}

func TestAPlantedViolationIsFoundByTheRuleItBreaks(t *testing.T) {
	t.Parallel()
	for name, tc := range violations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, v := range check(tc.events) {
				got = append(got, v.rule)
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, tc.want) {
				t.Errorf("rules broken: %v, want %v", got, tc.want)
			}
		})
	}
}
