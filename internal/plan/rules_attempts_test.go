package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func suspended(o *plan.Observation) { o.ReportJob.Spec.Suspend = true }

func vouched(token string) with {
	return func(o *plan.Observation) {
		o.ReportJob.Annotations = map[string]string{v1alpha1.AnnotationForceRelease: token}
	}
}

// nodeGone is a pod that the control plane deletes because its node does not answer.
func nodeGone(o *plan.Observation) {
	o.Pods[0].Deleting, o.Pods[0].Disruption = true, plan.DisruptedByTaint
}

func retrying(attempts int32, rules ...v1alpha1.RetryRule) with {
	return func(o *plan.Observation) {
		o.ReportJob.Spec.Retry = v1alpha1.Retry{MaxAttempts: attempts, Backoff: "10s", Rules: rules}
	}
}

// attempted is a ReportJob whose first attempt ended at noon, five seconds ago if that is given.
func attempted(ago time.Duration) with {
	return func(o *plan.Observation) {
		status, at := &o.ReportJob.Status, metav1.NewMicroTime(noon.Add(10*time.Second-ago))
		status.Attempts = []v1alpha1.Attempt{{Number: 1, ExecutionID: "0wner", Token: "7", Job: "revenue-7", Counted: true,
			EndedAt: metav1.NewMicroTime(noon.Add(-ago)), Outcome: "Failed", Reason: "PodFailed", Message: "It ended."}}
		status.LastAttempt, status.FailedAttempts, status.RetryAt, status.LastToken = 1, 1, &at, "7"
		status.Phase, status.Reason, status.Message = v1alpha1.PhasePending, v1alpha1.ReasonBackOff, "Attempt 1 ended."
	}
}

func superseded(o *plan.Observation) { o.ReportJob.Status.Attempts[0].Superseded = true }

func codes(operator v1alpha1.ExitCodeOperator, values ...int32) *v1alpha1.OnExitCodes {
	return &v1alpha1.OnExitCodes{Operator: operator, Values: values}
}

func TestTheVerdictFollowsTheRulesOfRetryAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	final, exhausted := plan.Verdict{}, plan.Verdict{Exhausted: true}
	after := func(d time.Duration) plan.Verdict { return plan.Verdict{Again: true, Counted: true, Backoff: d} }
	again := after(10 * time.Second)
	ignored := plan.Verdict{Again: true, Backoff: 10 * time.Second}
	failed := func(n int32) with { return func(o *plan.Observation) { o.ReportJob.Status.FailedAttempts = n } }
	exit := func(code int32) with {
		return func(o *plan.Observation) { o.ReportJob.Status.Completion.ExitCode = &code }
	}
	onCodes := func(action v1alpha1.RetryAction, on *v1alpha1.OnExitCodes) v1alpha1.RetryRule {
		return v1alpha1.RetryRule{Action: action, OnExitCodes: on}
	}
	on := func(action v1alpha1.RetryAction, reasons ...v1alpha1.RetryReason) v1alpha1.RetryRule {
		return v1alpha1.RetryRule{Action: action, OnReasons: reasons}
	}
	for name, tc := range map[string]struct {
		reason  string
		changes []with
		want    plan.Verdict
	}{
		"a failure":                       {"PodFailed", []with{retrying(3)}, again},
		"a second failure waits longer":   {"PodFailed", []with{retrying(3), failed(1)}, after(20 * time.Second)},
		"the last one":                    {"PodFailed", []with{retrying(3), failed(2)}, exhausted},
		"the only one":                    {"PodFailed", []with{retrying(1)}, final},
		"three by default":                {"PodFailed", []with{retrying(0), failed(1)}, after(20 * time.Second)},
		"the longest wait":                {"PodFailed", []with{retrying(100), failed(50)}, after(10 * time.Minute)},
		"a lost lease":                    {"LeaseLost", []with{retrying(2)}, again},
		"doubt":                           {"OwnershipUncertain", []with{retrying(2)}, again},
		"a node that is lost":             {"NodeLost", []with{retrying(2)}, again},
		"a Job that a quota forbade":      {"JobForbidden", []with{retrying(2), noJob, noPod}, again},
		"a Job that cannot be":            {"JobRefused", []with{retrying(2), noJob, noPod}, final},
		"the deadline":                    {"MaxRuntimeExceeded", []with{retrying(2)}, final},
		"the deadline, by a rule":         {"MaxRuntimeExceeded", []with{retrying(2, on("Count", "MaxRuntimeExceeded"))}, again},
		"a deletion":                      {"Deleted", []with{retrying(2), deleted}, final},
		"a failure of what is deleted":    {"PodFailed", []with{retrying(2), deleted}, final},
		"a suspension does not count":     {"Suspended", []with{retrying(1)}, plan.Verdict{Again: true}},
		"a code that is final":            {"PodFailed", []with{retrying(3, onCodes("Fail", codes("In", 42))), exit(42)}, final},
		"another code":                    {"PodFailed", []with{retrying(3, onCodes("Fail", codes("In", 42))), exit(1)}, again},
		"no code":                         {"PodFailed", []with{retrying(3, onCodes("Fail", codes("NotIn", 42)))}, again},
		"a code that is not among them":   {"PodFailed", []with{retrying(3, onCodes("Fail", codes("NotIn", 42))), exit(1)}, final},
		"an eviction that does not count": {"PodDisrupted", []with{retrying(1, on("Ignore", "PodDisrupted"))}, ignored},
		"the first rule that matches": {"PodFailed",
			[]with{retrying(1, on("Ignore", "PodFailed"), onCodes("Fail", codes("In", 1))), exit(1)}, ignored},
		"a reason that no rule names":       {"OOMKilled", []with{retrying(2, on("Fail", "PodFailed"))}, again},
		"no rule brings back a refused Job": {"JobRefused", []with{retrying(2, on("Count", "JobForbidden")), noJob, noPod}, final},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := append([]with{exited(1), podSeen, completed("Failed", tc.reason, true)}, tc.changes...)
			got := plan.Decide(running(changes...), noon)
			if diff := cmp.Diff(tc.want, got.Next); diff != "" || got.Rule != "FinishReport" {
				t.Errorf("%s; verdict (-want +got):\n%s", got.Rule, diff)
			}
		})
	}
}

func TestAFailedAttemptMakesRoomForTheNext(t *testing.T) {
	t.Parallel()
	obs := running(exited(1), podSeen, completed("Failed", "OOMKilled", true), retrying(3))
	settled := plan.Settle(plan.Decide(obs, noon), results(plan.Done{}, plan.LeaseReleased{}))
	status := settled.Status
	left := v1alpha1.ReportJobStatus{Execution: status.Execution, Stop: status.Stop, Completion: status.Completion,
		WaitingSince: status.WaitingSince, Holder: status.Holder}
	if diff := cmp.Diff(v1alpha1.ReportJobStatus{}, left); diff != "" {
		t.Errorf("left of the attempt (-want +got):\n%s", diff)
	}
	want := v1alpha1.Attempt{Number: 1, ExecutionID: "0wner", Token: "7", Job: "revenue-7", Pod: "pod",
		AcquiredAt: metav1.NewMicroTime(granted), EndedAt: metav1.NewMicroTime(noon), Outcome: "Failed", Reason: "OOMKilled",
		Message: "It ended.", Counted: true}
	if diff := cmp.Diff([]v1alpha1.Attempt{want}, status.Attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	got := []any{status.LastAttempt, status.FailedAttempts, status.RetryAt.Time, string(status.Phase), status.Reason,
		settled.RequeueAfter}
	next := []any{int32(1), int32(1), noon.Add(10 * time.Second), "Pending", "BackOff", 10 * time.Second}
	if diff := cmp.Diff(next, got); diff != "" {
		t.Errorf("what comes next (-want +got):\n%s", diff)
	}
}

func TestTheNextAttemptSaysWhichOneItRepeats(t *testing.T) {
	t.Parallel()
	kafka := &v1alpha1.Trigger{Kind: "Kafka",
		Kafka: &v1alpha1.KafkaTrigger{Topic: "reports", Partition: 3, Offset: 991, MessageID: "m-17"}}
	obs := fresh(finalizer, attempted(time.Minute), func(o *plan.Observation) { o.ReportJob.Spec.Trigger = kafka })
	granted := plan.LeaseGranted{Owner: "two", Token: "8", LeaseKey: "key", Job: "revenue-8"}
	settled := plan.Settle(plan.Decide(obs, noon), results(granted))
	execution := settled.Status.Execution
	if execution.Attempt != 2 || execution.RetryOf != "0wner" || settled.Status.RetryAt != nil {
		t.Errorf("execution %+v, next at %v", execution, settled.Status.RetryAt)
	}
	if diff := cmp.Diff(kafka, execution.Trigger); diff != "" {
		t.Errorf("trigger (-want +got):\n%s", diff)
	}
	want := "The lease key is granted with fencing token 8. It is attempt 2, after execution 0wner ended with PodFailed." +
		" It was triggered by Kafka message reports/3 at offset 991 (m-17)."
	if got := settled.Transitions[0].Message; got != want {
		t.Errorf("the transition says\n%s\nand not\n%s", got, want)
	}
}

func TestBackOff(t *testing.T) {
	t.Parallel()
	waits := view{Rule: "BackOff", Phase: "Pending", Reason: "BackOff", After: 4 * time.Second}
	asks := view{Rule: "AcquireLease", Phase: "Pending", Reason: "BackOff", After: time.Hour,
		Actions: []plan.Action{plan.AcquireLease{}}}
	checkDecisions(t, map[string]decision{
		"until it is time":                         {fresh(finalizer, attempted(6*time.Second)), waits},
		"not after that":                           {fresh(finalizer, attempted(10*time.Second)), asks},
		"not by a clock that is ahead of this one": {fresh(finalizer, attempted(-time.Hour)), asks},
	})
}

func TestTheJobsOfEndedAttemptsStayForTheirLogs(t *testing.T) {
	t.Parallel()
	old := func(job plan.Job) with {
		return func(o *plan.Observation) { o.Strays = []plan.Job{job} }
	}
	ended := plan.Job{Name: "revenue-7", UID: "job-uid", Ended: &plan.JobEnd{}}
	living := plan.Job{Name: "revenue-7", UID: "job-uid"}
	atOnce := func(o *plan.Observation) {
		at := metav1.NewMicroTime(noon)
		o.ReportJob.Status.RetryAt = &at
	}
	deleting := plan.Job{Name: "revenue-7", UID: "job-uid", Deleting: true}
	asks := view{Rule: "AcquireLease", Phase: "Pending", Reason: "BackOff", After: time.Hour,
		Actions: []plan.Action{plan.AcquireLease{}}}
	checkDecisions(t, map[string]decision{
		"one that ended": {fresh(finalizer, attempted(time.Minute), old(ended)), asks},
		"one that may start a pod does not": {fresh(finalizer, attempted(time.Minute), old(living)),
			view{Rule: "RemoveStrayJob", Phase: "Waiting", Reason: "JobDisturbed", After: 5 * time.Second,
				Actions: []plan.Action{plan.DeleteJob{Name: "revenue-7", UID: "job-uid"}}}},
		"one that is about to end is waited for": {fresh(finalizer, attempted(9*time.Second), atOnce, old(living)),
			view{Rule: "BackOff", Phase: "Pending", Reason: "BackOff", After: time.Second}},
		"one that is being deleted": {fresh(finalizer, attempted(time.Minute), old(deleting)), asks},
	})
}
