package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// beside puts siblings beside a ReportJob.
func beside(siblings ...plan.Sibling) with {
	return func(o *plan.Observation) { o.Siblings = siblings }
}

// aSibling has a Job and a lower token than the fixtures.
var aSibling = plan.Sibling{ReportJob: "first", UID: "first-uid", Owner: "e5", Token: "5", HasJob: true}

func jobless(token string, uid types.UID) plan.Sibling {
	return plan.Sibling{ReportJob: "first", UID: uid, Owner: "e5", Token: token}
}

// unused is an execution that is written down and has no Job yet.
func unused(changes ...with) plan.Observation {
	return running(append([]with{noJob, noPod, noJobYet, noFinalizer}, changes...)...)
}

func TestNoLeaseIsAskedForWhileAnotherExecutionOfTheJobIDIsNotProvenEnded(t *testing.T) {
	t.Parallel()
	waits := view{Rule: "WaitForSibling", Phase: "Waiting", Reason: "SiblingAlive", After: 5 * time.Second,
		Events: []string{"lease_waiting/WaitingForLease"}}
	atOnce := waits
	atOnce.After = time.Millisecond
	checkDecisions(t, map[string]decision{
		"a report that is new":           {fresh(beside(aSibling)), waits},
		"from the cache":                 {fresh(beside(aSibling), cached), waits},
		"one that waited for the holder": {fresh(beside(aSibling), waiting(time.Minute)), waits},
		"a sibling without a Job counts": {fresh(beside(jobless("5", "u"))), waits},
		"it waits no longer than it has time": {fresh(beside(aSibling), waiting(time.Hour-time.Millisecond)),
			atOnce},
		"and gives up in time": {fresh(beside(aSibling), waiting(time.Hour)), view{Rule: "GiveUpWaiting", Phase: "Skipped",
			Reason: "WaitTimeout", Conditions: map[string]string{"Finished": "True/WaitTimeout"},
			Events: []string{"wait_timeout/WaitTimeout", "report_finished/"}}},
		"a deleted one does not wait": {fresh(beside(aSibling), finalizer, deleted), view{Rule: "LetGo",
			Actions: []plan.Action{plan.RemoveFinalizer{}}}},
	})
}

func TestOfTwoExecutionsOneMakesRoomAndTheOtherWaits(t *testing.T) {
	t.Parallel()
	givesWay := view{Rule: "GiveWay", Phase: "Stopping", Reason: "SiblingAlive", Stop: "SiblingAlive", After: 5 * time.Second,
		Conditions: map[string]string{"StopRequested": "True/SiblingAlive", "StopConfirmed": "False/PodsAlive"},
		Events:     []string{"job_stop_requested/StopRequested"}}
	waits := view{Rule: "WaitForSibling", Phase: "Starting", Reason: "SiblingAlive", After: 5 * time.Second}
	watched := viewOf(running(), plan.Decide(running(), noon))
	delete(watched.Conditions, v1alpha1.ConditionFinished)
	checkDecisions(t, map[string]decision{
		"to a Job, whatever the tokens":   {unused(beside(aSibling)), givesWay},
		"to a newer execution":            {unused(beside(jobless("8", "a"))), givesWay},
		"to a much newer one":             {unused(beside(jobless("10", "a"))), givesWay},
		"an older one is waited for":      {unused(beside(jobless("6", "z"))), waits},
		"equal tokens are told apart":     {unused(beside(jobless("7", "z"))), givesWay},
		"and so the other one waits":      {unused(beside(jobless("7", "a"))), waits},
		"any of them":                     {unused(beside(jobless("6", "a"), aSibling)), givesWay},
		"what has a Job is not disturbed": {running(beside(aSibling)), watched},
		"alone it starts": {unused(), view{Rule: "CreateJob", Phase: "Starting", Reason: "LeaseAcquired", After: 5 * time.Second,
			Actions: []plan.Action{plan.AddFinalizer{}, plan.CreateJob{Name: "revenue-7"}}}},
		"it gives way before it is adopted": {unused(beside(aSibling), lease("")), givesWay},
	})
}

func TestAnExecutionUnderWhichNothingRanIsNoFailure(t *testing.T) {
	t.Parallel()
	again := func(held string, actions ...plan.Action) view {
		return view{Rule: "GiveBackUnused", Phase: "Waiting", Reason: "LeaseUnused", After: 250 * time.Millisecond,
			Conditions: map[string]string{"LeaseHeld": held}, Events: []string{"lease_unused/LeaseUnused"}, Actions: actions}
	}
	const held = "False/LeaseUnused"
	checkDecisions(t, map[string]decision{
		"lost":             {unused(stopped("LeaseLost")), again(held, aForget)},
		"uncertain":        {unused(stopped("OwnershipUncertain")), again(held, aForget, aOnce)},
		"with a finalizer": {unused(stopped("LeaseLost"), finalizer), again(held, aForget, plan.RemoveFinalizer{})},
		"it gave way":      {unused(stopped("SiblingAlive")), again(held, aForget, aOnce)},
	})
	for name, obs := range map[string]plan.Observation{
		"a Job was recorded":      running(noJob, noPod, stopped("LeaseLost")),
		"a Job is there":          running(noPod, noJobYet, stopped("LeaseLost")),
		"a pod is there":          running(noJob, noJobYet, stopped("LeaseLost")),
		"it is being deleted":     unused(stopped("LeaseLost"), deleted),
		"the stop is no accident": unused(stopped("MaxRuntimeExceeded")),
	} {
		t.Run("not when "+name, func(t *testing.T) {
			t.Parallel()
			if got := plan.Decide(obs, noon); got.Rule == "GiveBackUnused" || got.Status.Execution == nil {
				t.Errorf("rule %s, execution %+v", got.Rule, got.Status.Execution)
			}
		})
	}
	checkLive(t, map[string]plan.Observation{
		"GiveBackUnused": unused(stopped("LeaseLost")), "GiveWay": unused(beside(aSibling)),
	})
}

func TestNothingOfAnUnusedExecutionIsLeftInTheStatus(t *testing.T) {
	t.Parallel()
	obs := unused(stopped("OwnershipUncertain"),
		condition(v1alpha1.ConditionOwnershipUncertain, metav1.ConditionTrue, "OwnershipUncertain"),
		condition(v1alpha1.ConditionStopRequested, metav1.ConditionTrue, "OwnershipUncertain"),
		condition(v1alpha1.ConditionStopConfirmed, metav1.ConditionFalse, "PodsAlive"))
	obs.ReportJob.Status.LastToken = "7"
	settled := plan.Settle(plan.Decide(obs, noon), results(plan.Done{}, plan.StoreUnreachable{Address: "r", Message: "away"}))
	status := settled.Status
	if status.Execution != nil || status.Stop != nil || status.Holder != "" || status.LastToken != "7" {
		t.Errorf("execution %+v, stop %+v, holder %q, last token %q", status.Execution, status.Stop, status.Holder, status.LastToken)
	}
	if !status.WaitingSince.Time.Equal(noon) {
		t.Errorf("waiting since %v", status.WaitingSince)
	}
	for _, c := range status.Conditions {
		if c.Type != v1alpha1.ConditionLeaseHeld && c.Type != v1alpha1.ConditionFinished {
			t.Errorf("condition %+v is left", c)
		}
	}
}

func TestWaitingForASiblingIsToldOnceAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	stopping := aSibling
	stopping.Stopping, stopping.Node = true, "n1"
	gone := aSibling
	gone.Gone, gone.Pod = true, "first-5-x"
	for name, tc := range map[string]struct {
		siblings []plan.Sibling
		says     []string
	}{
		"it runs":          {[]plan.Sibling{aSibling}, []string{"ReportJob first", "token 5", "end is proven"}},
		"it is stopped":    {[]plan.Sibling{stopping}, []string{"is being stopped", "node n1", "delete its Node object"}},
		"nobody owns it":   {[]plan.Sibling{gone}, []string{"first-5-x", "which is gone", "the node of its pod"}},
		"there are others": {[]plan.Sibling{aSibling, gone}, []string{"and 1 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obs := fresh(beside(tc.siblings...))
			first := plan.Settle(plan.Decide(obs, noon), nil)
			for _, part := range tc.says {
				if !strings.Contains(first.Status.Message, part) {
					t.Errorf("%q is not in %q", part, first.Status.Message)
				}
			}
			obs.ReportJob.Status = first.Status
			second := plan.Settle(plan.Decide(obs, noon.Add(time.Minute)), nil)
			if diff := cmp.Diff(first.Status, second.Status); diff != "" || len(second.Transitions) > 0 {
				t.Errorf("told again: %v (-first +second):\n%s", second.Transitions, diff)
			}
		})
	}
}

// other is a ReportJob of the same jobID.
func other(name string, edit func(*v1alpha1.ReportJob)) *v1alpha1.ReportJob {
	obs := running(podSeen)
	obs.ReportJob.Name, obs.ReportJob.UID = name, types.UID(name+"-uid")
	obs.ReportJob.Spec.JobID = "revenue"
	if edit != nil {
		edit(obs.ReportJob)
	}
	return obs.ReportJob
}

func noExecution(r *v1alpha1.ReportJob) { r.Status.Execution = nil }
func ofCosts(r *v1alpha1.ReportJob)     { r.Spec.JobID = "costs" }

func TestSiblingsAreWhatMayRunUnderTheSameJobID(t *testing.T) {
	t.Parallel()
	self := other("self", nil)
	finishedOne := other("first", func(r *v1alpha1.ReportJob) { over("Failed")(&plan.Observation{ReportJob: r}) })
	first := plan.Sibling{ReportJob: "first", UID: "first-uid", Owner: "0wner", Token: "7", HasJob: true, Pod: "pod"}
	moved := first
	moved.Stopping, moved.Pod, moved.Node = true, "pod-2", "n2"
	trace := plan.Trace{ReportJob: "first", UID: "first-uid", Owner: "0wner", Token: "7", Pod: "pod-2", Node: "n2", Deleting: true}
	for name, tc := range map[string]struct {
		others []*v1alpha1.ReportJob
		traces []plan.Trace
		want   []plan.Sibling
	}{
		"an execution under way": {others: []*v1alpha1.ReportJob{other("first", nil)}, want: []plan.Sibling{first}},
		"not itself":             {others: []*v1alpha1.ReportJob{self}},
		"not one without":        {others: []*v1alpha1.ReportJob{other("first", noExecution)}},
		"not a finished one":     {others: []*v1alpha1.ReportJob{finishedOne}},
		"not another jobID's":    {others: []*v1alpha1.ReportJob{other("first", ofCosts)}},
		"a pod of a finished one": {
			others: []*v1alpha1.ReportJob{finishedOne}, traces: []plan.Trace{trace}, want: []plan.Sibling{moved},
		},
		"one with its pod is one": {
			others: []*v1alpha1.ReportJob{other("first", nil)}, traces: []plan.Trace{trace}, want: []plan.Sibling{moved},
		},
		"not its own pod": {traces: []plan.Trace{{UID: "self-uid", Token: "7", Pod: "p"}}},
		"its own of another token": {traces: []plan.Trace{{UID: "self-uid", Token: "6", Pod: "p"}},
			want: []plan.Sibling{{UID: "self-uid", Token: "6", Pod: "p", HasJob: true}}},
		"not its own stray Job": {traces: []plan.Trace{{UID: "self-uid", Token: "6"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := plan.SiblingsOf(self, tc.others, tc.traces)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
