package plan_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestSuspend(t *testing.T) {
	t.Parallel()
	stop := view{Rule: "Suspend", Phase: "Stopping", Reason: "Suspended", Stop: "Suspended", After: 5 * time.Second,
		Conditions: map[string]string{"StopRequested": "True/Suspended", "StopConfirmed": "False/PodsAlive"},
		Events:     []string{"job_stop_requested/StopRequested"}}
	sleep := view{Rule: "StaySuspended", Phase: "Pending", Reason: "Suspended",
		Conditions: map[string]string{"Suspended": "True/Suspended"}, Events: []string{"report_suspended/ReportSuspended"}}
	quiet := sleep
	quiet.Conditions, quiet.Events = nil, nil
	was := condition(v1alpha1.ConditionSuspended, metav1.ConditionTrue, v1alpha1.ReasonSuspended)
	resumed := view{Rule: "AcquireLease", Phase: "Pending", Reason: "Resumed", After: time.Hour,
		Conditions: map[string]string{"Suspended": "False/Resumed"}, Events: []string{"report_resumed/ReportResumed"},
		Actions: []plan.Action{plan.AcquireLease{}}}
	checkDecisions(t, map[string]decision{
		"stops what runs":                   {running(suspended), stop},
		"keeps a new report from starting":  {fresh(suspended), sleep},
		"ends a wait":                       {fresh(suspended, waiting(time.Minute)), sleep},
		"holds back the next attempt":       {fresh(suspended, attempted(time.Minute)), sleep},
		"is told once":                      {fresh(suspended, was), quiet},
		"ends, and the report goes on":      {fresh(was), resumed},
		"changes nothing about a finished":  {fresh(suspended, over("Skipped")), view{Rule: "StayFinished", Phase: "Skipped"}},
		"leaves an unused lease to be used": {unused(suspended, stopped("Suspended")), giveBack(t)},
	})
}

// giveBack is what becomes of a lease under which nothing ran.
func giveBack(t *testing.T) view {
	t.Helper()
	return view{Rule: "GiveBackUnused", Phase: "Waiting", Reason: "LeaseUnused", After: 250 * time.Millisecond,
		Conditions: map[string]string{"LeaseHeld": "False/LeaseUnused"}, Events: []string{"lease_unused/LeaseUnused"},
		Actions: []plan.Action{aForget, aOnce}}
}

func TestExpireFinished(t *testing.T) {
	t.Parallel()
	overFor := func(d time.Duration, ttl int32) with {
		return func(o *plan.Observation) {
			over("Succeeded")(o)
			conditions := o.ReportJob.Status.Conditions
			conditions[len(conditions)-1].LastTransitionTime = metav1.NewTime(noon.Add(-d))
			o.ReportJob.Spec.TTLSecondsAfterFinished = &ttl
		}
	}
	forever := func(o *plan.Observation) { o.ReportJob.Spec.TTLSecondsAfterFinished = nil }
	shortLived := func(o *plan.Observation) { o.ReportJob.Spec.TTLSecondsAfterFinished = new(int32) }
	gone := view{Rule: "ExpireFinished", Phase: "Succeeded", Actions: []plan.Action{plan.DeleteReportJob{}}}
	stay := view{Rule: "StayFinished", Phase: "Succeeded", After: time.Second}
	checkDecisions(t, map[string]decision{
		"when its time is over":     {fresh(overFor(time.Minute, 60)), gone},
		"at once":                   {fresh(overFor(0, 0)), gone},
		"not before":                {fresh(overFor(59*time.Second, 60)), stay},
		"never without a time":      {fresh(overFor(time.Hour, 60), forever), view{Rule: "StayFinished", Phase: "Succeeded"}},
		"on a live look only":       {fresh(overFor(time.Minute, 60), cached), view{Rule: "ExpireFinished", ReadLive: true}},
		"not what is being deleted": {fresh(overFor(time.Minute, 60), deleted), view{Rule: "LetGo", Phase: "Succeeded"}},
		"not what is under way":     {fresh(shortLived), first()},
		"not before a late Job is gone": {fresh(overFor(time.Minute, 60), stray), view{Rule: "RemoveLateJob", Phase: "Succeeded",
			After: 5 * time.Second, Actions: []plan.Action{plan.DeleteJob{Name: "stray", UID: "stray-uid"}}}},
	})
}

func first() view {
	return view{Rule: "AcquireLease", Phase: "Pending", Reason: "Accepted", After: time.Hour,
		Actions: []plan.Action{plan.AcquireLease{}}}
}

func TestRefuseLeaseKey(t *testing.T) {
	t.Parallel()
	denied := func(o *plan.Observation) { o.ReportJob.Spec.LeaseKey, o.LeaseKeyDenied = "group-close", true }
	wait := view{Rule: "RefuseLeaseKey", Phase: "Waiting", Reason: "LeaseKeyNotAllowed", After: time.Hour,
		Events: []string{"lease_key_not_allowed/LeaseKeyNotAllowed"}}
	checkDecisions(t, map[string]decision{
		"waits for an operator that grants it":    {fresh(denied), wait},
		"and not for longer than its patience":    {fresh(denied, waiting(time.Hour)), skippedByTimeout()},
		"what runs already is none of its matter": {running(denied), watched()},
	})
}

func skippedByTimeout() view {
	return view{Rule: "GiveUpWaiting", Phase: "Skipped", Reason: "WaitTimeout",
		Conditions: map[string]string{"Finished": "True/WaitTimeout"},
		Events:     []string{"wait_timeout/WaitTimeout", "report_finished/"}}
}

func watched() view {
	return view{Rule: "Watch", Phase: "Running", Reason: "PodRunning", After: 19 * time.Minute,
		Conditions: map[string]string{"StoreReachable": "True/Reachable"}, Events: []string{"report_running/ReportRunning"}}
}

func TestSkipEndsAReportThatNeverRan(t *testing.T) {
	t.Parallel()
	skip := func(o *plan.Observation) { o.ReportJob.Spec.Contention.Policy = v1alpha1.ContentionSkip }
	held := plan.LeaseHeldByOther{Owner: "other", Token: "5", ExpiresIn: time.Second, LeaseKey: "key"}
	quarantined := plan.LeaseQuarantined{Left: time.Second}
	for name, tc := range map[string]struct {
		obs           plan.Observation
		result        plan.Result
		phase, reason string
	}{
		"when another execution holds the lease":         {fresh(skip), held, "Skipped", "LeaseHeldByOther"},
		"not while Redis may have forgotten who does":    {fresh(skip), quarantined, "Waiting", "LeaseQuarantined"},
		"not while Redis does not answer":                {fresh(skip), plan.StoreUnreachable{}, "Waiting", "StoreUnreachable"},
		"not before a further attempt, which may wait":   {fresh(skip, attempted(time.Minute)), held, "Waiting", "LeaseHeldByOther"},
		"and a report that waits for its lease does not": {fresh(), held, "Waiting", "LeaseHeldByOther"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := plan.Settle(plan.Decide(tc.obs, noon), results(tc.result)).Status
			if string(status.Phase) != tc.phase || status.Reason != tc.reason {
				t.Errorf("phase %s, reason %s", status.Phase, status.Reason)
			}
		})
	}
	t.Run("and says who, with which token, and when", func(t *testing.T) {
		t.Parallel()
		status := plan.Settle(plan.Decide(fresh(skip), noon), results(held)).Status
		for _, want := range []string{"2026-11-02T12:00:00Z", "Execution other with fencing token 5"} {
			if !strings.Contains(status.Message, want) {
				t.Errorf("%q is not in %q", want, status.Message)
			}
		}
		if status.Holder != "other|5" {
			t.Errorf("holder %q", status.Holder)
		}
	})
	t.Run("when a sibling is under way", func(t *testing.T) {
		t.Parallel()
		decision := plan.Decide(fresh(skip, beside(aSibling)), noon)
		if decision.Rule != "WaitForSibling" || decision.Status.Phase != v1alpha1.PhaseSkipped {
			t.Errorf("%s, phase %s", decision.Rule, decision.Status.Phase)
		}
	})
}

func TestAReportThatRanAndGetsNoFurtherLeaseHasFailed(t *testing.T) {
	t.Parallel()
	decision := plan.Decide(fresh(attempted(2*time.Hour), waiting(time.Hour)), noon)
	if decision.Rule != "GiveUpWaiting" || decision.Status.Phase != v1alpha1.PhaseFailed {
		t.Errorf("%s, phase %s", decision.Rule, decision.Status.Phase)
	}
}
