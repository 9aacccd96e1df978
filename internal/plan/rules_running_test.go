package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestAdoptLease(t *testing.T) {
	t.Parallel()
	want := view{Rule: "AdoptLease", Phase: "Starting", Actions: []plan.Action{aAdopt}, After: 5 * time.Second,
		Conditions: map[string]string{"LeaseHeld": "Unknown/Adopting"}, Events: []string{"lease_adopting/"}}
	again := want
	again.Conditions, again.Events = nil, nil
	checkDecisions(t, map[string]decision{
		"after a restart":                      {running(lease("")), want},
		"after a restart, said in full":        {running(lease(plan.LeaseUntracked)), want},
		"before there is a Job":                {running(lease(""), noJob, noPod, noJobYet), want},
		"after another one, told once":         {running(lease(""), adopting), again},
		"a success waits for the confirmation": {running(lease(""), exited(0)), want},
	})
}

func TestRemoveStrayJob(t *testing.T) {
	t.Parallel()
	strayDeleting := func(o *plan.Observation) { stray(o); o.Strays[0].Deleting = true }
	remove := []plan.Action{plan.DeleteJob{Name: "stray", UID: "stray-uid"}}
	checkDecisions(t, map[string]decision{
		"before the lease": {fresh(stray), view{
			Rule: "RemoveStrayJob", Phase: "Waiting", Reason: "JobDisturbed", Actions: remove, After: 5 * time.Second}},
		"until it is gone": {fresh(strayDeleting), view{
			Rule: "RemoveStrayJob", Phase: "Waiting", Reason: "JobDisturbed", After: 5 * time.Second}},
		"beside a running report": {running(stray), view{
			Rule: "RemoveStrayJob", Phase: "Running", Reason: "PodRunning", Actions: remove, After: 5 * time.Second,
			Conditions: map[string]string{"StoreReachable": "True/Reachable"}, Events: []string{"report_running/ReportRunning"}}},
		"a stray Job that is being deleted does not keep a report from being watched": {running(strayDeleting), view{
			Rule: "Watch", Phase: "Running", Reason: "PodRunning", After: 19 * time.Minute,
			Conditions: map[string]string{"StoreReachable": "True/Reachable"}, Events: []string{"report_running/ReportRunning"}}},
		"but it keeps one from starting": {running(noJob, noPod, noJobYet, strayDeleting), view{
			Rule: "RemoveStrayJob", Phase: "Starting", Reason: "JobDisturbed", After: 5 * time.Second}},
	})
}

func TestCreateJob(t *testing.T) {
	t.Parallel()
	waits := view{Rule: "Watch", Phase: "Starting", Reason: "Adopting", After: 19 * time.Minute,
		Conditions: map[string]string{"StoreReachable": "True/Reachable"}}
	create := view{Rule: "CreateJob", Phase: "Starting", Reason: "LeaseAcquired", After: 5 * time.Second,
		Actions: []plan.Action{plan.CreateJob{Name: "revenue-7"}}}
	adopted := create
	adopted.Conditions = map[string]string{"LeaseHeld": "True/LeaseAdopted"}
	adopted.Events = []string{"lease_adopted/LeaseAdopted"}
	checkDecisions(t, map[string]decision{
		"under a held lease":             {running(noJob, noPod, noJobYet), create},
		"under an adopted one":           {running(noJob, noPod, noJobYet, adopting), adopted},
		"not while it is being adopted":  {running(noJob, noPod, noJobYet, lease(plan.LeaseAdopting)), waits},
		"not from an outdated execution": {running(noJob, noPod, noJobYet, cached), view{Rule: "CreateJob", ReadLive: true}},
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	pending := func(o *plan.Observation) { o.Pods[0].Phase, o.Pods[0].Started = plan.PodPending, false }
	leaving := func(o *plan.Observation) { o.Pods[0].Deleting = true }
	reachable := condition(v1alpha1.ConditionStoreReachable, metav1.ConditionTrue, v1alpha1.ReasonReachable)
	unreachable := condition(v1alpha1.ConditionStoreReachable, metav1.ConditionFalse, v1alpha1.ReasonUnreachable)
	watching := func(phase v1alpha1.Phase, reason string, events ...string) view {
		return view{Rule: "Watch", Phase: phase, Reason: reason, After: 19 * time.Minute, Events: events}
	}
	changed := func(v view, conditions map[string]string) view { v.Conditions = conditions; return v }
	soon := func(v view) view { v.After = 2 * time.Second; return v }
	runs := "report_running/ReportRunning"
	checkDecisions(t, map[string]decision{
		"no pod yet":                  {running(reachable, noPod), watching("Starting", "JobCreated")},
		"a pod that does not run":     {running(reachable, pending), watching("Starting", "JobCreated")},
		"a pod that runs":             {running(reachable), watching("Running", "PodRunning", runs)},
		"a pod that runs on":          {running(reachable, podSeen, startedAt), watching("Running", "PodRunning")},
		"a pod that somebody deletes": {running(reachable, startedAt, leaving), watching("Running", "PodRunning")},
		"exit 0, the lease not confirmed": {running(reachable, startedAt, exited(0), lease(plan.LeaseAdopting)),
			watching("Completing", "Adopting")},
		"Redis does not answer": {running(reachable, startedAt, storeAway), soon(changed(
			watching("Running", "PodRunning", "store_unreachable/StoreUnreachable"),
			map[string]string{"StoreReachable": "False/StoreUnreachable"}))},
		"Redis still does not answer": {
			running(unreachable, startedAt, storeAway), soon(watching("Running", "PodRunning"))},
		"Redis answers again": {running(unreachable, startedAt), changed(
			watching("Running", "PodRunning", "store_reachable/"), map[string]string{"StoreReachable": "True/Reachable"})},
		"the lease is confirmed after a restart": {running(adopting, reachable, startedAt), changed(
			watching("Running", "PodRunning", "lease_adopted/LeaseAdopted"),
			map[string]string{"LeaseHeld": "True/LeaseAdopted"})},
	})
}

func TestWatchWritesDownJobAndPodAsItSeesThem(t *testing.T) {
	t.Parallel()
	obs := running(noJobYet)
	status := plan.Decide(obs, noon).Status
	at := metav1.NewTime(noon)
	want := *obs.ReportJob.Status.Execution
	want.JobUID, want.Pod, want.PodUID, want.Node, want.StartedAt = "job-uid", "pod", "pod-uid", "node", &at
	if diff := cmp.Diff(&want, status.Execution); diff != "" {
		t.Errorf("execution (-want +got):\n%s", diff)
	}
	if status.Holder != "pod" {
		t.Errorf("holder %q", status.Holder)
	}
	if got := plan.Decide(running(noJobYet, noPod), noon).Status.Holder; got != "revenue-7" {
		t.Errorf("holder before the pod %q", got)
	}
}

func TestWatchingARunningReportChangesNothing(t *testing.T) {
	t.Parallel()
	obs := running()
	first := plan.Settle(plan.Decide(obs, noon), nil)
	obs.ReportJob.Status = first.Status
	second := plan.Settle(plan.Decide(obs, noon.Add(time.Minute)), nil)
	if diff := cmp.Diff(first.Status, second.Status); diff != "" {
		t.Errorf("a minute later (-before +after):\n%s", diff)
	}
	if len(second.Transitions) > 0 {
		t.Errorf("transitions %+v", second.Transitions)
	}
}
