package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestTheRulesAreTriedInThisOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"LetGo", "RemoveLateJob", "ExpireFinished", "StayFinished", "GiveBackUnused", "ConfirmStop", "Supersede", "Stop",
		"FinishReport", "LeaseLost", "OwnershipUncertain", "Deleted", "RecordOutcome", "ForceReleased", "Suspend", "NodeLost",
		"MaxRuntimeExceeded", "JobDisturbed", "GiveWay", "AdoptLease", "RemoveStrayJob", "StaySuspended", "BackOff",
		"GiveUpWaiting", "RefuseLeaseKey", "WaitForSibling", "CreateJob", "Watch", "AcquireLease",
	}
	if diff := cmp.Diff(want, plan.RuleNames()); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// Each case is an observation to which two rules apply; the graver one decides.
func TestWhatIsGraverOrRecordedDecides(t *testing.T) {
	t.Parallel()
	late := func(o *plan.Observation) {
		o.ReportJob.Status.Execution.AcquiredAt = metav1.NewMicroTime(noon.Add(-time.Hour))
	}
	for name, tc := range map[string]struct {
		obs  plan.Observation
		want string
	}{
		"a loss before a success":             {running(lease(plan.LeaseLost), exited(0)), "LeaseLost"},
		"a loss before a deletion":            {running(lease(plan.LeaseLost), deleted), "LeaseLost"},
		"doubt before a success":              {running(lease(plan.LeaseUncertain), exited(0)), "OwnershipUncertain"},
		"doubt before a deletion":             {running(lease(plan.LeaseUncertain), deleted), "OwnershipUncertain"},
		"a deletion before a success":         {running(deleted, exited(0)), "Deleted"},
		"a success before the deadline":       {running(late, exited(0)), "RecordOutcome"},
		"the deadline before a disturbance":   {running(late, jobDeleting), "MaxRuntimeExceeded"},
		"a success before a suspension":       {running(suspended, exited(0)), "RecordOutcome"},
		"a suspension before the deadline":    {running(late, suspended), "Suspend"},
		"a suspension before the adoption":    {running(suspended, lease(plan.LeaseUntracked)), "Suspend"},
		"a loss before a suspension":          {running(suspended, lease(plan.LeaseLost)), "LeaseLost"},
		"a suspension before the lease":       {fresh(suspended), "StaySuspended"},
		"a suspension before the patience":    {fresh(suspended, waiting(2*time.Hour)), "StaySuspended"},
		"a vouched end before a suspension":   {running(suspended, vouched("7")), "ForceReleased"},
		"a lost node before the deadline":     {running(late, nodeGone), "NodeLost"},
		"a proof before a vouched end":        {running(stopped("NodeLost"), noPod, jobDeleting, vouched("7")), "ConfirmStop"},
		"a deletion before a suspension":      {fresh(suspended, deleted), "LetGo"},
		"a disturbance before the adoption":   {running(jobDeleting, lease(plan.LeaseUntracked)), "JobDisturbed"},
		"a second pod before a success":       {running(secondPod, exited(0)), "JobDisturbed"},
		"the adoption before a stray Job":     {running(stray, lease(plan.LeaseUntracked)), "AdoptLease"},
		"a stray Job before the first Job":    {running(noJob, noPod, noJobYet, stray), "RemoveStrayJob"},
		"a stray Job before the lease":        {fresh(stray), "RemoveStrayJob"},
		"a lost lease before a sibling":       {unused(beside(aSibling), lease(plan.LeaseLost)), "LeaseLost"},
		"a recorded stop before a loss":       {running(stopped(v1alpha1.ReasonDeleted), lease(plan.LeaseLost)), "Stop"},
		"a recorded stop before a success":    {running(stopped(v1alpha1.ReasonLeaseLost), exited(0), jobDeleting), "ConfirmStop"},
		"a recorded end before a loss":        {running(exited(0), podSeen, lease(plan.LeaseLost), ended), "FinishReport"},
		"a finished report before a deletion": {running(exited(0), podSeen, ended, over("Succeeded"), deleted), "LetGo"},
		"a finished report before all else":   {running(exited(0), podSeen, ended, over("Succeeded"), late), "StayFinished"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := plan.Decide(tc.obs, noon).Rule; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

var ended = completed(v1alpha1.OutcomeSucceeded, v1alpha1.ReasonPodSucceeded, true)

func secondPod(o *plan.Observation) {
	o.Pods = append(o.Pods, plan.Pod{Name: "pod-2", UID: "pod-uid-2", Phase: plan.PodRunning, Started: true})
}

func noJobYet(o *plan.Observation) { o.ReportJob.Status.Execution.JobUID = "" }

func TestWhatCannotBeTakenBackIsDecidedOnALiveObservation(t *testing.T) {
	t.Parallel()
	checkLive(t, map[string]plan.Observation{
		"LetGo":          fresh(finalizer, deleted),
		"RemoveLateJob":  running(stopped("Deleted"), completed("Stopped", "Deleted", true), over("Failed")),
		"ConfirmStop":    running(stopped("Deleted"), jobDeleting, noPod),
		"FinishReport":   running(exited(0), podSeen, ended),
		"RecordOutcome":  running(podSeen, noPod),
		"JobDisturbed":   running(noJob),
		"RemoveStrayJob": fresh(stray),
		"CreateJob":      running(noJob, noPod, noJobYet),
	})
}

func checkLive(t *testing.T, cases map[string]plan.Observation) {
	t.Helper()
	for rule, obs := range cases {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			if live := plan.Decide(obs, noon); live.Rule != rule || live.ReadLive {
				t.Errorf("live: rule %s, ReadLive %v", live.Rule, live.ReadLive)
			}
			cached(&obs)
			want := plan.Decision{Rule: rule, ReadLive: true, At: noon, Lease: obs.Lease}
			if diff := cmp.Diff(want, plan.Decide(obs, noon)); diff != "" {
				t.Errorf("cached (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStatusWithoutItsExecutionHarmsNobody(t *testing.T) {
	t.Parallel()
	for name, obs := range map[string]plan.Observation{
		"a stop":                 fresh(stopped(v1alpha1.ReasonDeleted)),
		"a completion":           fresh(ended),
		"a completion, deleted":  fresh(ended, deleted),
		"a completion, finished": fresh(ended, over("Failed")),
		"a stray Job, finished":  fresh(stray, over("Skipped")),
		"a stop and a Job":       fresh(stopped(v1alpha1.ReasonDeleted), job),
		"a Job, finished":        fresh(job, over("Skipped")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, action := range plan.Decide(obs, noon).Actions {
				switch action.(type) {
				case plan.AddFinalizer, plan.AcquireLease, plan.RemoveFinalizer, plan.DeleteJob:
				default:
					t.Errorf("action %T", action)
				}
			}
		})
	}
}

func TestADecisionTellsGenerationAndJobID(t *testing.T) {
	t.Parallel()
	obs := running()
	obs.ReportJob.Spec.JobID = "monthly"
	status := plan.Decide(obs, noon).Status
	if status.ObservedGeneration != 3 || status.JobID != "monthly" {
		t.Errorf("generation %d, jobID %q", status.ObservedGeneration, status.JobID)
	}
	for _, c := range status.Conditions {
		if c.Type != v1alpha1.ConditionLeaseHeld && c.ObservedGeneration != 3 {
			t.Errorf("condition %s has generation %d", c.Type, c.ObservedGeneration)
		}
	}
}
