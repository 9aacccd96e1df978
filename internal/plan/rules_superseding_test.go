package plan_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func fencing(o *plan.Observation) { o.ReportJob.Spec.LostNode = v1alpha1.LostNodeFenceAndTakeOver }

// stoppedFor is a stop that was requested a while ago.
func stoppedFor(reason string, ago time.Duration) with {
	return func(o *plan.Observation) {
		stopped(reason)(o)
		o.ReportJob.Status.Stop.RequestedAt = metav1.NewMicroTime(noon.Add(-ago))
	}
}

func TestNodeLost(t *testing.T) {
	t.Parallel()
	evictedPod := func(o *plan.Observation) { o.Pods[0].Deleting, o.Pods[0].Disruption = true, "EvictionByEvictionAPI" }
	checkDecisions(t, map[string]decision{
		"a pod that is deleted since its node does not answer": {running(nodeGone), view{Rule: "NodeLost", Phase: "Stopping",
			Reason: "NodeLost", Stop: "NodeLost", After: 5 * time.Second,
			Conditions: map[string]string{"StopRequested": "True/NodeLost", "StopConfirmed": "False/PodsAlive"},
			Events:     []string{"job_stop_requested/StopRequested"}}},
		"not one that is evicted": {running(evictedPod), watched()},
	})
}

func TestSupersede(t *testing.T) {
	t.Parallel()
	overdue, due := stoppedFor("NodeLost", 26*time.Second), stoppedFor("NodeLost", 25*time.Second)
	goes := view{Rule: "Supersede", Phase: "Completing", Reason: "NodeLost", Completion: "Stopped/NodeLost", After: 5 * time.Second,
		Conditions: map[string]string{"StopConfirmed": "Unknown/TokenSuperseded"},
		Events:     []string{"token_superseded/TokenSuperseded"}, Actions: []plan.Action{aPod}}
	withJob := goes
	withJob.Actions = []plan.Action{aJob, aPod}
	asks := view{Rule: "Stop", Phase: "Stopping", Reason: "NodeLost", After: 5 * time.Second, Actions: []plan.Action{aPod},
		Conditions: map[string]string{"StopConfirmed": "Unknown/StopUnconfirmed"},
		Events:     []string{"job_stop_unconfirmed/StopUnconfirmed"}}
	again := asks
	again.Conditions, again.Events = nil, nil
	told := condition(v1alpha1.ConditionStopConfirmed, metav1.ConditionUnknown, v1alpha1.ReasonStopUnconfirmed)
	halts := view{Rule: "Stop", Phase: "Stopping", Reason: "NodeLost", After: 5 * time.Second, Actions: []plan.Action{aHalt, aPod},
		Conditions: map[string]string{"StopConfirmed": "False/PodsAlive"}}
	checkDecisions(t, map[string]decision{
		"an overdue proof, if lostNode says so":        {running(fencing, overdue, jobDeleting), goes},
		"not before it is overdue, but renews no more": {running(fencing, due, jobDeleting), halts},
		"an overdue proof is waited for otherwise":     {running(overdue, jobDeleting), asks},
		"and that is told once":                        {running(overdue, jobDeleting, told), again},
		"the token that a person vouches for, at once": {running(due, vouched("7")), withJob},
		"not another token":                            {running(due, jobDeleting, vouched("6"), ignoredToken("6")), renewing()},
		"on a live look only": {running(fencing, overdue, jobDeleting, cached),
			view{Rule: "Supersede", ReadLive: true}},
		"nothing that is proven": {running(fencing, overdue, jobDeleting, exited(1)), confirmed("NodeLost")},
	})
}

// ignoredToken is what an earlier reconcile told of an annotation.
func ignoredToken(token string) with {
	return func(o *plan.Observation) {
		o.ReportJob.Status.Transitions = append(o.ReportJob.Status.Transitions, v1alpha1.Transition{
			Event: "force_release_ignored", Message: "The annotation leasehold.dev/force-release names fencing token \"" + token +
				"\", and the execution's is 7: it changes nothing."})
	}
}

func renewing() view {
	return view{Rule: "Stop", Phase: "Stopping", Reason: "NodeLost", After: 5 * time.Second, Actions: []plan.Action{aPod},
		Conditions: map[string]string{"StopConfirmed": "False/PodsAlive"}}
}

func confirmed(reason string) view {
	return view{Rule: "ConfirmStop", Phase: "Completing", Reason: reason, Completion: "Stopped/" + reason + "/ended",
		After: 5 * time.Second, Conditions: map[string]string{"StopConfirmed": "True/PodsGone"},
		Events: []string{"job_stop_confirmed/StopConfirmed"}}
}

func TestForceRelease(t *testing.T) {
	t.Parallel()
	stop := view{Rule: "ForceReleased", Phase: "Stopping", Reason: "ForceReleased", Stop: "ForceReleased", After: 5 * time.Second,
		Conditions: map[string]string{"StopRequested": "True/ForceReleased", "StopConfirmed": "False/PodsAlive"},
		Events:     []string{"job_stop_requested/StopRequested"}}
	ignored := watched()
	ignored.Events = append([]string{"force_release_ignored/ForceReleaseIgnored"}, ignored.Events...)
	checkDecisions(t, map[string]decision{
		"of the execution's token":    {running(vouched("7")), stop},
		"of another token":            {running(vouched("70")), ignored},
		"of another token, told once": {running(vouched("70"), ignoredToken("70")), watched()},
		"of an attempt that has ended": {fresh(attempted(6*time.Second), vouched("7")),
			view{Rule: "BackOff", Phase: "Pending", Reason: "BackOff", After: 4 * time.Second}},
	})
}

func TestWhatIsGivenBackWithoutAProof(t *testing.T) {
	t.Parallel()
	given := func(o *plan.Observation) {
		at := metav1.NewMicroTime(noon)
		o.ReportJob.Status.Stop.SupersededAt = &at
	}
	base := []with{podSeen, jobDeleting, stopped("NodeLost"), completed("Stopped", "NodeLost", false), given}
	lapses := view{Rule: "FinishReport", Phase: "Failed", Reason: "NodeLost", Actions: aDone,
		Conditions: map[string]string{"LeaseHeld": "False/LeaseLapses", "Finished": "True/NodeLost"},
		Events:     []string{"lease_lapses/LeaseLapses", "report_finished/"}}
	checkDecisions(t, map[string]decision{
		"nothing because of lostNode": {running(append(base, fencing)...), lapses},
		"the lease, if a person vouches": {running(append(base, vouched("7"))...), view{Rule: "FinishReport", Phase: "Completing",
			Reason: "NodeLost", After: 2 * time.Second, Actions: []plan.Action{aForget, aOnce}}},
	})
}

func TestNobodyWaitsForASupersededToken(t *testing.T) {
	t.Parallel()
	own := fresh(attempted(time.Minute)).ReportJob
	given := fresh(attempted(time.Minute), superseded).ReportJob
	for name, tc := range map[string]struct {
		reportJob *v1alpha1.ReportJob
		others    []*v1alpha1.ReportJob
		uid       types.UID
		want      int
	}{
		"a pod of an earlier attempt":                {own, nil, "uid", 1},
		"one that is given up":                       {given, nil, "uid", 0},
		"one that another ReportJob has given up":    {named("other", "uid-2"), []*v1alpha1.ReportJob{given}, "uid", 0},
		"one that another ReportJob still waits for": {named("other", "uid-2"), []*v1alpha1.ReportJob{own}, "uid", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			traces := []plan.Trace{{ReportJob: "revenue", UID: tc.uid, Token: "7", Pod: "pod"}}
			if got := plan.SiblingsOf(tc.reportJob, tc.others, traces); len(got) != tc.want {
				t.Errorf("siblings %+v", got)
			}
		})
	}
}

func named(name string, uid types.UID) *v1alpha1.ReportJob {
	reportJob := fresh().ReportJob
	reportJob.Name, reportJob.UID = name, uid
	reportJob.Spec.JobID = "revenue"
	return reportJob
}

func TestWhoWaitsForLongerIsAhead(t *testing.T) {
	t.Parallel()
	waits := func(name string, d time.Duration) *v1alpha1.ReportJob {
		reportJob := fresh(waiting(d)).ReportJob
		reportJob.Name, reportJob.UID, reportJob.Spec.JobID = name, types.UID(name), "revenue"
		return reportJob
	}
	others := []*v1alpha1.ReportJob{waits("older", time.Hour), waits("younger", time.Second), waits("as old", time.Minute)}
	keyed := waits("of another key", time.Hour)
	keyed.Spec.LeaseKey = "group-close"
	others = append(others, keyed)
	if got := plan.Ahead(waits("me", time.Minute), others); got != 2 {
		t.Errorf("%d are ahead of one that waits", got)
	}
	if got := plan.Ahead(named("new", "new"), others); got != 3 {
		t.Errorf("%d are ahead of a new one", got)
	}
}

func TestTheAdviceForAnOverdueStopNamesTheCommand(t *testing.T) {
	t.Parallel()
	message := plan.Decide(running(stoppedFor("NodeLost", time.Minute), jobDeleting), noon).Status.Message
	for _, want := range []string{"pod on node node", "kubectl annotate reportjob revenue leasehold.dev/force-release=7"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q is not in %q", want, message)
		}
	}
}
