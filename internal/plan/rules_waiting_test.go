package plan_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func waiting(d time.Duration) with {
	return func(o *plan.Observation) {
		at := metav1.NewMicroTime(noon.Add(-d))
		status := &o.ReportJob.Status
		status.WaitingSince, status.Phase, status.Reason = &at, v1alpha1.PhaseWaiting, v1alpha1.ReasonLeaseHeldByOther
		status.Message, status.Holder = "Execution other holds the lease.", "other|5"
	}
}

func TestGiveUpWaiting(t *testing.T) {
	t.Parallel()
	skipped := view{Rule: "GiveUpWaiting", Phase: "Skipped", Reason: "WaitTimeout",
		Conditions: map[string]string{"Finished": "True/WaitTimeout"},
		Events:     []string{"wait_timeout/WaitTimeout", "report_finished/"}}
	noTimeout := func(o *plan.Observation) { o.ReportJob.Spec.Contention.Timeout = "" }
	zero := func(o *plan.Observation) { o.ReportJob.Spec.Contention.Timeout = "0s" }
	ask := view{Rule: "AcquireLease", Phase: "Waiting", Reason: "LeaseHeldByOther", After: time.Millisecond,
		Actions: []plan.Action{plan.AcquireLease{}}}
	checkDecisions(t, map[string]decision{
		"to the instant":              {fresh(finalizer, waiting(time.Hour)), skipped},
		"not before":                  {fresh(finalizer, waiting(time.Hour-time.Microsecond)), ask},
		"after an hour by default":    {fresh(finalizer, waiting(time.Hour), noTimeout), skipped},
		"with no patience, after one": {fresh(finalizer, waiting(time.Millisecond), zero), skipped},
	})
}

func TestASkippedReportSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	message := plan.Decide(fresh(waiting(time.Hour)), noon).Status.Message
	for _, want := range []string{"1h", "Execution other holds the lease", "Apply the report again"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q is not in %q", want, message)
		}
	}
}

func TestAcquireLease(t *testing.T) {
	t.Parallel()
	floor := func(o *plan.Observation) { o.Floor = "41" }
	zero := func(o *plan.Observation) { o.ReportJob.Spec.Contention.Timeout = "0s" }
	first := view{Rule: "AcquireLease", Phase: "Pending", Reason: "Accepted", After: time.Hour,
		Actions: []plan.Action{plan.AcquireLease{}}}
	impatient := first
	impatient.After = time.Millisecond
	checkDecisions(t, map[string]decision{
		"without the finalizer":  {fresh(), first},
		"with no patience, once": {fresh(zero), impatient},
		"above every earlier token": {fresh(finalizer, floor), view{Rule: "AcquireLease", Phase: "Pending", Reason: "Accepted",
			After: time.Hour, Actions: []plan.Action{plan.AcquireLease{Floor: "41"}}}},
		"from the cache": {fresh(cached), first},
		"again while it waits": {fresh(finalizer, waiting(20*time.Minute)), view{Rule: "AcquireLease", Phase: "Waiting",
			Reason: "LeaseHeldByOther", After: 40 * time.Minute, Actions: []plan.Action{plan.AcquireLease{}}}},
	})
}

func TestWhoHasOthersAheadLooksLessOften(t *testing.T) {
	t.Parallel()
	held := plan.LeaseHeldByOther{Owner: "other", Token: "5", ExpiresIn: 2 * time.Second, LeaseKey: "key"}
	for name, tc := range map[string]struct {
		ahead           int
		lease, siblings time.Duration
	}{
		"the first":       {0, 2 * time.Second, 5 * time.Second},
		"the second":      {1, 4 * time.Second, 10 * time.Second},
		"one of the last": {999, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queued := func(o *plan.Observation) { o.Ahead = tc.ahead }
			if got := plan.Settle(plan.Decide(fresh(queued), noon), results(held)).RequeueAfter; got != tc.lease {
				t.Errorf("asks again after %v, want %v", got, tc.lease)
			}
			if got := plan.Decide(fresh(queued, beside(aSibling)), noon).RequeueAfter; got != tc.siblings {
				t.Errorf("looks for the sibling again after %v, want %v", got, tc.siblings)
			}
		})
	}
}
