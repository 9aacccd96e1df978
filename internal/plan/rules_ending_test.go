package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestLetGo(t *testing.T) {
	t.Parallel()
	checkDecisions(t, map[string]decision{
		"a ReportJob that never started": {
			obs:  fresh(finalizer, deleted),
			want: view{Rule: "LetGo", Actions: []plan.Action{plan.RemoveFinalizer{}}},
		},
		"a finished one, and the engine forgets its lease": {
			obs: running(exited(0), podSeen, ended, over("Succeeded"), deleted),
			want: view{Rule: "LetGo", Phase: "Succeeded",
				Actions: []plan.Action{aForget, plan.RemoveFinalizer{}}},
		},
		"one without the finalizer": {obs: fresh(deleted), want: view{Rule: "LetGo"}},
		"not while a Job of it is left": {
			obs: fresh(finalizer, deleted, stray),
			want: view{Rule: "RemoveStrayJob", Phase: "Waiting", Reason: "JobDisturbed", After: 5 * time.Second,
				Actions: []plan.Action{plan.DeleteJob{Name: "stray", UID: "stray-uid"}}},
		},
	})
}

func TestRemoveLateJob(t *testing.T) {
	t.Parallel()
	stoppedAndOver := func(o *plan.Observation) {
		stopped("Deleted")(o)
		completed("Stopped", "Deleted", true)(o)
		over("Failed")(o)
		lease(plan.LeaseUntracked)(o)
	}
	checkDecisions(t, map[string]decision{
		"a Job made after the stop, with its pod": {
			obs: running(stoppedAndOver),
			want: view{Rule: "RemoveLateJob", Phase: "Failed", After: 5 * time.Second,
				Actions: []plan.Action{aJob, aPod}},
		},
		"a stray Job": {
			obs: running(stoppedAndOver, noJob, noPod, stray),
			want: view{Rule: "RemoveLateJob", Phase: "Failed", After: 5 * time.Second,
				Actions: []plan.Action{plan.DeleteJob{Name: "stray", UID: "stray-uid"}}},
		},
		"a second pod beside a success, before the lease is given back": {
			obs: running(exited(0), podSeen, ended, secondPod),
			want: view{Rule: "RemoveLateJob", Phase: "Completing", Reason: "PodSucceeded", After: 5 * time.Second,
				Actions: []plan.Action{aJob, plan.DeletePods{
					Pods: []plan.PodRef{{Name: "pod-2", UID: "pod-uid-2"}}, Grace: 10 * time.Second}}},
		},
		"a Job that was refused to this operator and made by another": {
			obs:  running(noPod, noJobYet, completed("Failed", "JobRefused", true)),
			want: view{Rule: "RemoveLateJob", Phase: "Completing", Reason: "JobRefused", After: 5 * time.Second},
		},
		"such a Job once it is written down": {
			obs: running(noPod, completed("Failed", "JobRefused", true)),
			want: view{Rule: "RemoveLateJob", Phase: "Completing", Reason: "JobRefused", After: 5 * time.Second,
				Actions: []plan.Action{aJob}},
		},
		"a Job that somebody suspended after its end": {
			obs:  running(exited(0), podSeen, ended, over("Succeeded"), jobSuspended),
			want: view{Rule: "RemoveLateJob", Phase: "Succeeded", After: 5 * time.Second, Actions: []plan.Action{aJob}},
		},
		"not the Job of a success": {
			obs:  running(exited(0), podSeen, ended, over("Succeeded"), lease(plan.LeaseUntracked), noFinalizer),
			want: view{Rule: "StayFinished", Phase: "Succeeded"},
		},
		"not the Job that is being deleted": {
			obs:  running(stoppedAndOver, jobDeleting, exited(1), noFinalizer),
			want: view{Rule: "StayFinished", Phase: "Failed"},
		},
	})
}

func TestAFinishedReportJobStaysAsItIs(t *testing.T) {
	t.Parallel()
	obs := running(exited(0), podSeen, ended, over("Succeeded"))
	obs.ReportJob.Status.ObservedGeneration = 1
	got := plan.Decide(obs, noon)
	want := plan.Decision{Rule: "StayFinished", Status: obs.ReportJob.Status,
		Actions: []plan.Action{aForget, plan.RemoveFinalizer{}}, At: noon, Lease: held}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	settled := plan.Settle(got, []plan.Result{plan.Failed{Message: "no"}})
	if diff := cmp.Diff(obs.ReportJob.Status, settled.Status); diff != "" {
		t.Errorf("a failed action changed it (-want +got):\n%s", diff)
	}
}

func TestConfirmStop(t *testing.T) {
	t.Parallel()
	confirmed := func(reason, completion string) view {
		return view{Rule: "ConfirmStop", Phase: "Completing", Reason: reason, Completion: completion, After: 5 * time.Second,
			Conditions: map[string]string{"StopConfirmed": "True/PodsGone"},
			Events:     []string{"job_stop_confirmed/StopConfirmed"}}
	}
	vanished := confirmed("PodVanished", "Failed/PodVanished")
	vanished.Events = append(vanished.Events, "report_failed/ReportFailed")
	checkDecisions(t, map[string]decision{
		"the kubelet reported the end": {
			running(stopped("Deleted"), podSeen, exited(143), jobDeleting), confirmed("Deleted", "Stopped/Deleted/ended")},
		"the pod is gone and nobody saw its end": {
			running(stopped("Deleted"), podSeen, noPod, noJob), confirmed("Deleted", "Stopped/Deleted")},
		"the pod is gone before it was recorded": {
			running(stopped("Deleted"), noPod, noJob), confirmed("Deleted", "Stopped/Deleted")},
		"there never was a Job": {
			running(stopped("Deleted"), noJobYet, noPod, noJob), confirmed("Deleted", "Stopped/Deleted/ended")},
		"there never was a Job, and the ReportJob is being deleted": {
			running(stopped("LeaseLost"), noJobYet, noPod, noJob, deleted), confirmed("LeaseLost", "Stopped/LeaseLost/ended")},
		"a disturbed Job may have had another pod": {
			running(stopped("JobDisturbed"), podSeen, exited(0), jobDeleting), confirmed("JobDisturbed", "Stopped/JobDisturbed")},
		"a Job of somebody else is left alone": {
			running(stopped("JobDisturbed"), foreignJob, noPod), confirmed("JobDisturbed", "Stopped/JobDisturbed")},
		"a pod that vanished is a failure": {
			running(stopped("PodVanished"), podSeen, noPod, jobDeleting), vanished},
	})
}

func jobSuspended(o *plan.Observation) { o.Job.Suspended = true }

func foreignJob(o *plan.Observation) { o.Job.Ours = false }

func jobFailed(o *plan.Observation) { o.Job.Ended = &plan.JobEnd{} }

// lossTold is a status that says of the loss already.
func lossTold(o *plan.Observation) {
	meta.SetStatusCondition(&o.ReportJob.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionLeaseHeld, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonLeaseLost})
}

// told is a decision that also tells something.
func told(v view, event string, conditions map[string]string) view {
	v.Events, v.Conditions = []string{event}, conditions
	return v
}

func TestStop(t *testing.T) {
	t.Parallel()
	stopping := func(reason string, actions ...plan.Action) view {
		return view{Rule: "Stop", Phase: "Stopping", Reason: reason, Actions: actions, After: 5 * time.Second,
			Conditions: map[string]string{"StopConfirmed": "False/PodsAlive"}}
	}
	writtenOff := func(o *plan.Observation) { o.Pods[0].Disruption = plan.DisruptedByPodGC }
	checkDecisions(t, map[string]decision{
		"a lost lease is not renewed": {
			running(stopped("LeaseLost"), lease(plan.LeaseLost)), stopping("LeaseLost", aHalt, aJob, aPod)},
		"a lease that goes during another stop is told": {running(stopped("Deleted"), lease(plan.LeaseLost)),
			told(stopping("Deleted", aJob, aPod), "lease_lost/LeaseLost", map[string]string{
				"LeaseHeld": "False/LeaseLost", "StopConfirmed": "False/PodsAlive"})},
		"and told once": {running(stopped("Deleted"), lease(plan.LeaseLost), lossTold),
			stopping("Deleted", aJob, aPod)},
		"one that grows uncertain during another stop is told": {
			running(stopped("Deleted"), lease(plan.LeaseUncertain)),
			told(stopping("Deleted", aJob, aPod), "ownership_uncertain/OwnershipUncertain", map[string]string{
				"LeaseHeld": "Unknown/OwnershipUncertain", "OwnershipUncertain": "True/OwnershipUncertain",
				"StopConfirmed": "False/PodsAlive"})},
		"nor is an uncertain one": {
			running(stopped("OwnershipUncertain"), lease(plan.LeaseUncertain)),
			stopping("OwnershipUncertain", aHalt, aJob, aPod)},
		"a halted lease needs no halt": {
			running(stopped("LeaseLost"), lease(plan.LeaseHalted)), stopping("LeaseLost", aJob, aPod)},
		"a restarted operator does not adopt a lost lease": {
			running(stopped("LeaseLost"), lease(plan.LeaseUntracked)), stopping("LeaseLost", aJob, aPod)},
		"the lease of a deleted ReportJob is renewed": {running(stopped("Deleted")), stopping("Deleted", aJob, aPod)},
		"by a restarted operator too": {
			running(stopped("Deleted"), lease("")), stopping("Deleted", aAdopt, aJob, aPod)},
		"a Job that is being deleted needs no more": {
			running(stopped("Deleted"), jobDeleting), stopping("Deleted", aPod)},
		"a pod that has ended needs no more": {running(stopped("Deleted"), exited(0)), stopping("Deleted", aJob)},
		"a pod that was written off is not dead": {
			running(stopped("Deleted"), exited(1), writtenOff), stopping("Deleted", aJob, aPod)},
		"a Job of somebody else is left alone": {
			running(stopped("JobDisturbed"), foreignJob), stopping("JobDisturbed", aPod)},
		"from the cache, since deletes carry the UID": {
			running(stopped("Deleted"), cached), stopping("Deleted", aJob, aPod)},
		"a pod may be gone while its Job is still whole": {running(stopped("Deleted"), noPod), stopping("Deleted", aJob)},
	})
}

func TestAStopThatTakesTooLongSaysWhatToDo(t *testing.T) {
	t.Parallel()
	obs := running(stopped("Deleted"))
	for name, tc := range map[string]struct {
		at   time.Duration
		want bool
	}{
		"in time": {at: 25*time.Second - 2*time.Second, want: false},
		"overdue": {at: 25 * time.Second, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message := plan.Decide(obs, noon.Add(tc.at)).Status.Message
			if !strings.Contains(message, "pod on node node") {
				t.Errorf("the message does not name the pod and its node: %s", message)
			}
			if got := strings.Contains(message, "delete its Node object"); got != tc.want {
				t.Errorf("overdue: %v, want %v: %s", got, tc.want, message)
			}
		})
	}
}

func TestFinishReport(t *testing.T) {
	t.Parallel()
	releasing := func(reason string, release plan.Action) view {
		return view{Rule: "FinishReport", Phase: "Completing", Reason: reason, Actions: []plan.Action{aForget, release},
			After: 2 * time.Second}
	}
	finished := func(reason string, conditions map[string]string, events ...string) view {
		conditions["Finished"] = "True/" + reason
		return view{Rule: "FinishReport", Phase: "Failed", Reason: reason, Actions: aDone, Conditions: conditions,
			Events: append(events, "report_finished/")}
	}
	gone := func(o *plan.Observation) { noPod(o); noJob(o) }
	checkDecisions(t, map[string]decision{
		"a success gives its lease back": {running(exited(0), podSeen, ended), releasing("PodSucceeded", aRelease)},
		"a deleted one does not wait for Redis": {
			running(exited(0), podSeen, ended, deleted), releasing("PodSucceeded", aOnce)},
		"a stopped one does not wait for Redis": {
			running(gone, completed("Stopped", "Deleted", true)), releasing("Deleted", aOnce)},
		"a refused Job gives it back": {
			running(gone, noJobYet, completed("Failed", "JobRefused", true)), releasing("JobRefused", aRelease)},
		"a restarted operator gives it back": {
			running(exited(0), podSeen, ended, lease("")), releasing("PodSucceeded", aRelease)},
		"a lost lease cannot be given back": {
			running(gone, completed("Stopped", "LeaseLost", true)), finished("LeaseLost", map[string]string{})},
		"without proof of the end it runs out": {
			running(gone, completed("Failed", "PodVanished", false)),
			finished("PodVanished", map[string]string{"LeaseHeld": "False/LeaseLapses"}, "lease_lapses/LeaseLapses")},
		"a refused Job that was made and has ended unrecorded lets it run out": {
			running(noPod, noJobYet, jobFailed, completed("Failed", "JobRefused", true)),
			finished("JobRefused", map[string]string{"LeaseHeld": "False/LeaseLapses"}, "lease_lapses/LeaseLapses")},
		"a refused Job that was made after all lets it run out": {
			running(gone, completed("Failed", "JobRefused", true)),
			finished("JobRefused", map[string]string{"LeaseHeld": "False/LeaseLapses"}, "lease_lapses/LeaseLapses")},
	})
}

func TestAnOutcomeIsNotChangedByWhatComesLater(t *testing.T) {
	t.Parallel()
	obs := running(exited(0), podSeen, completed("Failed", "PodFailed", true), lease(plan.LeaseLost))
	obs.Job.Ended = &plan.JobEnd{Complete: true}
	got := plan.Decide(obs, noon)
	if diff := cmp.Diff(obs.ReportJob.Status.Completion, got.Status.Completion); diff != "" {
		t.Errorf("completion (-want +got):\n%s", diff)
	}
	settled := plan.Settle(got, []plan.Result{plan.Done{}, plan.LeaseGone{}})
	if settled.Status.Phase != v1alpha1.PhaseFailed || settled.Status.Reason != v1alpha1.ReasonPodFailed {
		t.Errorf("phase %s, reason %s", settled.Status.Phase, settled.Status.Reason)
	}
	for _, c := range settled.Status.Conditions {
		if c.Type == v1alpha1.ConditionFinished && c.Status != metav1.ConditionTrue {
			t.Errorf("Finished is %s", c.Status)
		}
	}
}
