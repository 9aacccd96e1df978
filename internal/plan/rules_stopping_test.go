package plan_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// stopView is the record of a stop: no action comes with it.
func stopView(rule, reason string, conditions map[string]string, events ...string) view {
	conditions["StopRequested"], conditions["StopConfirmed"] = "True/"+reason, "False/PodsAlive"
	return view{Rule: rule, Phase: "Stopping", Reason: reason, Stop: reason, Conditions: conditions,
		Events: append(events, "job_stop_requested/StopRequested"), After: 5 * time.Second}
}

func TestLeaseLost(t *testing.T) {
	t.Parallel()
	want := stopView("LeaseLost", "LeaseLost", map[string]string{"LeaseHeld": "False/LeaseLost"}, "lease_lost/LeaseLost")
	checkDecisions(t, map[string]decision{
		"while the report runs":   {running(lease(plan.LeaseLost)), want},
		"before there is a Job":   {running(lease(plan.LeaseLost), noJobYet, noJob, noPod), want},
		"after it exited 0":       {running(lease(plan.LeaseLost), exited(0)), want},
		"from the cache":          {running(lease(plan.LeaseLost), cached), want},
		"a restart has confirmed": {running(lease(plan.LeaseLost), adopting), want},
	})
}

func adopting(o *plan.Observation) {
	o.ReportJob.Status.Conditions = nil
	condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionUnknown, v1alpha1.ReasonAdopting)(o)
}

func storeAway(o *plan.Observation) { o.Lease.StoreError = "redis at r:6379: timeout" }

func TestOwnershipUncertain(t *testing.T) {
	t.Parallel()
	uncertain := func() map[string]string {
		return map[string]string{"LeaseHeld": "Unknown/OwnershipUncertain", "OwnershipUncertain": "True/OwnershipUncertain"}
	}
	away := uncertain()
	away["StoreReachable"] = "False/StoreUnreachable"
	there := uncertain()
	there["StoreReachable"] = "True/Reachable"
	event := "ownership_uncertain/OwnershipUncertain"
	checkDecisions(t, map[string]decision{
		"Redis gave no answer in time": {running(lease(plan.LeaseUncertain), storeAway),
			stopView("OwnershipUncertain", "OwnershipUncertain", away, "store_unreachable/StoreUnreachable", event)},
		"renewals were halted and nothing is recorded": {running(lease(plan.LeaseHalted)),
			stopView("OwnershipUncertain", "OwnershipUncertain", there, event)},
	})
}

func TestDeleted(t *testing.T) {
	t.Parallel()
	want := stopView("Deleted", "Deleted", map[string]string{})
	checkDecisions(t, map[string]decision{
		"while the report runs": {running(deleted), want},
		"before there is a Job": {running(deleted, noJobYet, noJob, noPod), want},
	})
}

func TestMaxRuntimeExceeded(t *testing.T) {
	t.Parallel()
	grantedBefore := func(d time.Duration) with {
		return func(o *plan.Observation) { o.ReportJob.Status.Execution.AcquiredAt = metav1.NewMicroTime(noon.Add(-d)) }
	}
	want := stopView("MaxRuntimeExceeded", "MaxRuntimeExceeded", map[string]string{})
	checkDecisions(t, map[string]decision{
		"to the instant":             {running(grantedBefore(20 * time.Minute)), want},
		"a pod that never ran":       {running(grantedBefore(time.Hour), noPod), want},
		"a Job that was not created": {running(grantedBefore(time.Hour), noPod, noJob, noJobYet), want},
		"not before": {running(grantedBefore(20*time.Minute-time.Microsecond), podSeen, startedAt), view{
			Rule: "Watch", Phase: "Running", Reason: "PodRunning", After: time.Millisecond,
			Conditions: map[string]string{"StoreReachable": "True/Reachable"}}},
	})
}

func startedAt(o *plan.Observation) {
	at := metav1.NewTime(granted)
	o.ReportJob.Status.Execution.StartedAt = &at
}

func TestJobDisturbed(t *testing.T) {
	t.Parallel()
	change := func(f func(*plan.Job)) with { return func(o *plan.Observation) { f(o.Job) } }
	want := stopView("JobDisturbed", "JobDisturbed", map[string]string{})
	checkDecisions(t, map[string]decision{
		"the Job is gone":             {running(noJob), want},
		"the Job is gone, no pod yet": {running(noJob, noPod), want},
		"a pod without a Job":         {running(noJob, noJobYet), want},
		"the Job is being deleted":    {running(jobDeleting), want},
		"the Job is suspended":        {running(change(func(j *plan.Job) { j.Suspended = true })), want},
		"the Job is another one":      {running(change(func(j *plan.Job) { j.UID = "other" })), want},
		"the name is somebody else's": {running(noJobYet, noPod, foreignJob), want},
		"a second pod":                {running(podSeen, secondPod), want},
		"a second pod, none recorded": {running(secondPod), want},
		"a pod other than the recorded": {running(func(o *plan.Observation) {
			o.ReportJob.Status.Execution.PodUID = "first"
		}), want},
	})
}

func TestRecordOutcome(t *testing.T) {
	t.Parallel()
	done := func(reason, completion, event string) view {
		return view{Rule: "RecordOutcome", Phase: "Completing", Reason: reason, Completion: completion,
			Events: []string{event}, After: 5 * time.Second}
	}
	failed := done("PodFailed", "Failed/PodFailed/ended", "report_failed/ReportFailed")
	unproven := done("PodFailed", "Failed/PodFailed", "report_failed/ReportFailed")
	change := func(f func(*plan.Pod)) with { return func(o *plan.Observation) { f(&o.Pods[0]) } }
	adopted := done("PodSucceeded", "Succeeded/PodSucceeded/ended", "lease_adopted/LeaseAdopted")
	adopted.Events = append(adopted.Events, "report_succeeded/ReportSucceeded")
	adopted.Conditions = map[string]string{"LeaseHeld": "True/LeaseAdopted"}
	checkDecisions(t, map[string]decision{
		"exit 0": {running(exited(0)),
			done("PodSucceeded", "Succeeded/PodSucceeded/ended", "report_succeeded/ReportSucceeded")},
		"exit 0, confirmed to a restarted operator": {running(exited(0), adopting), adopted},
		"exit 3":                     {running(exited(3)), failed},
		"exit 3, whatever the lease": {running(exited(3), lease(plan.LeaseAdopting)), failed},
		"a phase of which the kubelet proves nothing": {
			running(exited(1), change(func(p *plan.Pod) { p.Terminated = false })), unproven},
		"a success of which it proves nothing": {
			running(exited(0), change(func(p *plan.Pod) { p.Terminated = false })), unproven},
		"a success without an exit code": {running(exited(0), change(func(p *plan.Pod) { p.ExitCode = nil })), failed},
		"a success with an exit code other than 0": {
			running(exited(2), change(func(p *plan.Pod) { p.Phase = plan.PodSucceeded })), failed},
		"written off by the control plane": {
			running(exited(0), change(func(p *plan.Pod) { p.Disruption = plan.DisruptedByPodGC })),
			done("PodDisrupted", "Failed/PodDisrupted", "report_failed/ReportFailed")},
		"deleted by somebody, and done as told": {
			running(exited(0), change(func(p *plan.Pod) { p.Deleting = true })),
			done("JobDisturbed", "Failed/JobDisturbed/ended", "report_failed/ReportFailed")},
		"evicted, and done as told": {
			running(exited(0), change(func(p *plan.Pod) { p.Disruption = "EvictionByEvictionAPI" })),
			done("JobDisturbed", "Failed/JobDisturbed/ended", "report_failed/ReportFailed")},
		"deleted by somebody, and killed": {
			running(exited(137), change(func(p *plan.Pod) { p.Deleting = true })),
			done("PodDisrupted", "Failed/PodDisrupted/ended", "report_failed/ReportFailed")},
		"evicted by the kubelet": {
			running(exited(137), change(func(p *plan.Pod) { p.Reason = "Evicted" })),
			done("PodDisrupted", "Failed/PodDisrupted/ended", "report_failed/ReportFailed")},
		"out of memory": {
			running(exited(137), change(func(p *plan.Pod) { p.ContainerReason = "OOMKilled" })),
			done("OOMKilled", "Failed/OOMKilled/ended", "report_failed/ReportFailed")},
		"killed by its own deadline": {
			running(exited(143), change(func(p *plan.Pod) { p.Reason = "DeadlineExceeded" })),
			done("MaxRuntimeExceeded", "Failed/MaxRuntimeExceeded/ended", "report_failed/ReportFailed")},
	})
}

func TestAPodThatVanishedIsNeverASuccess(t *testing.T) {
	t.Parallel()
	complete := func(o *plan.Observation) { o.Job.Ended = &plan.JobEnd{Complete: true} }
	deadline := func(o *plan.Observation) { o.Job.Ended = &plan.JobEnd{Reason: "DeadlineExceeded"} }
	vanished := func(reason string) view {
		return view{Rule: "RecordOutcome", Phase: "Completing", Reason: reason, Completion: "Failed/" + reason,
			Events: []string{"report_failed/ReportFailed"}, After: 5 * time.Second}
	}
	checkDecisions(t, map[string]decision{
		"its Job is gone too":             {running(podSeen, noPod, noJob), vanished("PodVanished")},
		"its Job says Complete":           {running(podSeen, noPod, complete), vanished("PodVanished")},
		"nobody saw it at all":            {running(noPod, complete), vanished("PodVanished")},
		"its Job had its time":            {running(noPod, deadline), vanished("MaxRuntimeExceeded")},
		"its Job could start another one": {running(podSeen, noPod), stopView("RecordOutcome", "PodVanished", map[string]string{})},
		"its Job is being deleted":        {running(podSeen, noPod, jobDeleting), vanished("PodVanished")},
	})
}

func TestAFailureSaysHow(t *testing.T) {
	t.Parallel()
	obs := running(exited(137), func(o *plan.Observation) {
		o.Pods[0].ContainerReason, o.Pods[0].Reason, o.Pods[0].Message = "OOMKilled", "Evicted", "The node was low on memory."
		o.Pods[0].Disruption = "TerminationByKubelet"
	})
	completion := plan.Decide(obs, noon).Status.Completion
	for _, want := range []string{
		"pod", "137", "OOMKilled", "Evicted", "TerminationByKubelet", "low on memory", "kubectl logs pod",
	} {
		if !strings.Contains(completion.Message, want) {
			t.Errorf("%q is not in %q", want, completion.Message)
		}
	}
	if completion.ExitCode == nil || *completion.ExitCode != 137 || completion.Token != "7" || !completion.At.Time.Equal(noon) {
		t.Errorf("completion %+v", completion)
	}
}

func TestALossNamesItsCause(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		view plan.LeaseView
		want string
	}{
		"lost, by the engine":      {plan.LeaseView{Phase: plan.LeaseLost, Detail: "held by thief|9"}, "held by thief|9"},
		"lost, no detail":          {plan.LeaseView{Phase: plan.LeaseLost}, "gone or another's"},
		"uncertain, by the engine": {plan.LeaseView{Phase: plan.LeaseUncertain, Detail: "last answer 18s ago"}, "18s ago"},
		"uncertain, no detail":     {plan.LeaseView{Phase: plan.LeaseUncertain}, "no renewal was confirmed in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obs := running()
			obs.Lease = tc.view
			stop := plan.Decide(obs, noon).Status.Stop
			if !strings.Contains(stop.Message, tc.want) || !strings.Contains(stop.Message, "token 7") {
				t.Errorf("%q does not name %q and the token", stop.Message, tc.want)
			}
			if !stop.RequestedAt.Time.Equal(noon) {
				t.Errorf("requested at %v", stop.RequestedAt)
			}
		})
	}
}
