package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestWaitingSaysWhoHoldsTheLeaseAndWhenItEnds(t *testing.T) {
	t.Parallel()
	const rest = " The report starts when the lease is free; delete the ReportJob to stop waiting."
	for name, tc := range map[string]struct {
		held          plan.LeaseHeldByOther
		holder, wants string
		again         time.Duration
	}{
		"an execution": {plan.LeaseHeldByOther{Owner: "e1", Token: "7", ExpiresIn: 1500 * time.Millisecond}, "e1|7",
			"Execution e1 with fencing token 7 holds the lease." + rest,
			1500 * time.Millisecond},
		"another kind of program": {plan.LeaseHeldByOther{Owner: "cron-box", ExpiresIn: time.Second}, "cron-box",
			`Something that is no execution of a report, "cron-box", holds the lease.` + rest,
			time.Second},
		"a key without an expiry": {plan.LeaseHeldByOther{Owner: "e1", Token: "7", LeaseKey: "leasehold:{a/b}:lease"}, "e1|7",
			"Execution e1 with fencing token 7 holds the lease, which never expires: if nobody holds it any more, remove the key" +
				" leasehold:{a/b}:lease in Redis." + rest, 5 * time.Second},
		"bytes that are no text": {
			plan.LeaseHeldByOther{Owner: "\xff\xfeby-hand", ExpiresIn: time.Hour},
			"?by-hand", `Something that is no execution of a report, "?by-hand", holds the lease.` + rest, 5 * time.Second},
		"a long value": {plan.LeaseHeldByOther{Owner: strings.Repeat("x", 300), ExpiresIn: time.Millisecond},
			strings.Repeat("x", 61) + "…", `Something that is no execution of a report, "` + strings.Repeat("x", 61) +
				`…", holds the lease.` + rest, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision := plan.Decision{Actions: []plan.Action{plan.AcquireLease{}}, At: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)}
			settled := plan.Settle(decision, []plan.Result{tc.held})
			if settled.Status.Holder != tc.holder || settled.Status.Message != tc.wants {
				t.Errorf("holder %q, message:\n%s\nwant %q,\n%s", settled.Status.Holder, settled.Status.Message, tc.holder, tc.wants)
			}
			if settled.RequeueAfter != tc.again {
				t.Errorf("it looks again after %v, want %v", settled.RequeueAfter, tc.again)
			}
		})
	}
}
