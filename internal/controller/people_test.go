package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestASuspendedReportIsStoppedAndBeginsAnew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, pod := f.toRunning("report")
	f.edit(func(r *v1alpha1.ReportJob) { r.Spec.Suspend = true })
	f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonSuspended)
	if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	f.kubeletSays(pod, corev1.PodFailed, ended("report", 143, "Error"))
	f.reconcile("report")
	f.killPod(pod)
	f.collectJob(f.job(running))
	suspended := f.expect("report", v1alpha1.PhasePending, v1alpha1.ReasonSuspended)
	if !f.isFree(termIn(t, running)) || suspended.Status.FailedAttempts != 0 {
		t.Errorf("lease free: %v, failed attempts: %d", f.isFree(termIn(t, running)), suspended.Status.FailedAttempts)
	}
	if after := f.reconcile("report").RequeueAfter; after != 0 {
		t.Errorf("a suspended report is looked at again after %v", after)
	}
	f.edit(func(r *v1alpha1.ReportJob) { r.Spec.Suspend = false })
	again := f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
	if meta.IsStatusConditionTrue(again.Status.Conditions, v1alpha1.ConditionSuspended) || again.Status.Execution.Attempt != 2 {
		t.Errorf("after it was resumed: %+v", again.Status)
	}
}

func TestASkippingReportEndsWithTheHoldersName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("first", nil)
	first, _ := f.toRunning("first")
	f.create("second", func(r *v1alpha1.ReportJob) { r.Spec.Contention.Policy = v1alpha1.ContentionSkip })
	skipped := f.expect("second", v1alpha1.PhaseSkipped, v1alpha1.ReasonSiblingAlive)
	for _, want := range []string{first.Status.Execution.Token, "2026-11-30T12:00:00Z"} {
		if !strings.Contains(skipped.Status.Message, want) {
			t.Errorf("%q is not in %q", want, skipped.Status.Message)
		}
	}
}

func TestAFinishedReportJobIsDeletedWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", func(r *v1alpha1.ReportJob) { r.Spec.TTLSecondsAfterFinished = new(int32(60)) })
	_, pod := f.toRunning("report")
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	f.expect("report", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
	if after := f.reconcile("report").RequeueAfter; after <= 59*time.Second || after > 60*time.Second {
		t.Errorf("it is looked at again after %v, want 60s", after)
	}
	f.clock.SetTime(noon.Add(time.Minute))
	f.reconcile("report")
	var gone v1alpha1.ReportJob
	if err := f.api.Get(t.Context(), f.key("report"), &gone); !apierrors.IsNotFound(err) {
		t.Errorf("after its time: %v", err)
	}
}

func TestAPersonWhoVouchesForTheEndGivesTheLeaseBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", twice)
	running, pod := f.toRunning("report")
	token := running.Status.Execution.Token
	annotate := func(value string) {
		f.edit(func(r *v1alpha1.ReportJob) {
			metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1alpha1.AnnotationForceRelease, value)
		})
	}
	annotate("1" + token)
	f.expect("report", v1alpha1.PhaseRunning, v1alpha1.ReasonPodRunning)
	annotate(token)
	f.expect("report", v1alpha1.PhasePending, v1alpha1.ReasonBackOff)
	if !f.isFree(termIn(t, running)) {
		t.Error("the lease is not given back")
	}
	if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.DeletionTimestamp == nil {
		t.Errorf("the pod was not told to end: %v", err)
	}
	f.clock.SetTime(noon.Add(time.Minute))
	f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
	want := map[string]int{v1alpha1.EventForceReleaseIgnored: 1, v1alpha1.EventTokenSuperseded: 1, v1alpha1.EventReportRetrying: 1}
	got := map[string]int{}
	for _, reason := range f.told.eventReasons() {
		if _, asked := want[reason]; asked {
			got[reason]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestALostNodeIsWaitedForUnlessTheReportIsFenced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", twice)
	running, pod := f.toRunning("report")
	f.loseNode(pod)
	f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonNodeLost)
	f.clock.SetTime(noon.Add(time.Minute))
	waiting := f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonNodeLost)
	confirmed := meta.FindStatusCondition(waiting.Status.Conditions, v1alpha1.ConditionStopConfirmed)
	if confirmed.Status != metav1.ConditionUnknown || !strings.Contains(confirmed.Message, "kubectl annotate reportjob report") {
		t.Errorf("StopConfirmed: %+v", confirmed)
	}
	f.edit(func(r *v1alpha1.ReportJob) { r.Spec.LostNode = v1alpha1.LostNodeFenceAndTakeOver })
	fenced := f.expect("report", v1alpha1.PhasePending, v1alpha1.ReasonBackOff)
	if attempt := fenced.Status.Attempts[0]; !attempt.Superseded || attempt.Reason != v1alpha1.ReasonNodeLost {
		t.Errorf("the attempt: %+v", attempt)
	}
	f.clock.SetTime(noon.Add(2 * time.Minute))
	f.expect("report", v1alpha1.PhaseWaiting, v1alpha1.ReasonLeaseHeldByOther) // its own lease has to run out
	if err := f.store.Release(t.Context(), termIn(t, running)); err != nil {
		t.Fatal(err)
	}
	f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
}

// loseNode deletes a pod as the control plane does when its node does not answer.
func (f *fixture) loseNode(pod *corev1.Pod) {
	f.t.Helper()
	if err := f.api.Get(f.t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		f.t.Fatal(err)
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: plan.DisruptedByTaint,
	})
	if err := f.api.Status().Update(f.t.Context(), pod); err != nil {
		f.t.Fatal(err)
	}
	if err := f.api.Delete(f.t.Context(), pod); err != nil {
		f.t.Fatal(err)
	}
}
