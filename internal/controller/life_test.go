package controller

import (
	"errors"
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
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// isFree says whether nobody holds the lease of a ReportJob, by renewing it: a renewal creates nothing.
func (f *fixture) isFree(term lease.Term) bool {
	f.t.Helper()
	var lost *lease.LostError
	err := f.store.Renew(f.t.Context(), leasetest.Renewals(lease.MinLeaseDuration, term))[0]
	return errors.As(err, &lost) && lost.Gone()
}

func TestReportSucceedsUnderItsLeaseAndGivesItBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, pod := f.toRunning("report")
	if f.isFree(termIn(t, running)) {
		t.Error("the report runs and nobody holds its lease")
	}
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	finished := f.expect("report", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
	if len(running.Finalizers) != 1 || len(finished.Finalizers) != 0 {
		t.Errorf("finalizers: %v while it runs, %v afterwards", running.Finalizers, finished.Finalizers)
	}
	if !isFinished(finished) || !f.isFree(termIn(t, finished)) {
		t.Errorf("finished: %v, lease free: %v", isFinished(finished), f.isFree(termIn(t, finished)))
	}
	if state := f.engine.State(subjectOf(f.key("report"))); state.Phase != renewal.Untracked {
		t.Errorf("the engine still has the lease: %+v", state)
	}
	wantEvents := []string{v1alpha1.EventLeaseAcquired, v1alpha1.EventGuardOff, v1alpha1.EventJobCreated,
		v1alpha1.EventReportRunning, v1alpha1.EventReportSucceeded, v1alpha1.EventLeaseReleased}
	if diff := cmp.Diff(wantEvents, f.told.eventReasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestSecondReportWaitsForTheHolderAndThenRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("first", nil)
	first, pod := f.toRunning("first")
	f.create("second", nil)
	waiting := f.expect("second", v1alpha1.PhaseWaiting, v1alpha1.ReasonSiblingAlive)
	if !strings.HasPrefix(waiting.Status.Holder, first.Status.Execution.Owner) || waiting.Status.Execution != nil {
		t.Errorf("the waiting one: %+v", waiting.Status)
	}
	if after := f.reconcile("second").RequeueAfter; after <= 0 || after > 5*time.Second {
		t.Errorf("the waiting one looks again after %v, want at most 5s", after)
	}
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	f.expect("first", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
	second := f.expect("second", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
	if older, newer := termIn(t, first).Token, termIn(t, second).Token; newer <= older {
		t.Errorf("tokens: %d, then %d", older, newer)
	}
}

func TestReportWhoseLeaseIsLostIsStoppedInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", fast)
	running, pod := f.toRunning("report")
	if err := f.store.Release(t.Context(), termIn(t, running)); err != nil {
		t.Fatal(err)
	}
	f.runEngine()
	f.awaitSignal()

	recorded := f.expectReasonFirst()
	f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonLeaseLost)
	if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	if grace := pod.DeletionGracePeriodSeconds; grace == nil || *grace != 2 {
		t.Errorf("the pod is deleted with a grace period of %v, want 2", grace)
	}
	if state := f.engine.State(subjectOf(f.key("report"))); state.Phase != renewal.Lost {
		t.Errorf("the engine says %s of the lost lease", state.Phase)
	}
	f.killPod(pod)
	f.collectJob(f.job(recorded))
	failed := f.expect("report", v1alpha1.PhaseFailed, v1alpha1.ReasonLeaseLost)
	if failed.Status.Stop.ConfirmedAt == nil || failed.Status.Completion.Outcome != v1alpha1.OutcomeStopped {
		t.Errorf("stop %+v, completion %+v", failed.Status.Stop, failed.Status.Completion)
	}
	want := []string{v1alpha1.EventLeaseLost, v1alpha1.EventStopRequested, v1alpha1.EventStopConfirmed}
	if diff := cmp.Diff(want, f.told.eventReasons()[4:]); diff != "" {
		t.Errorf("events from the loss on (-want +got):\n%s", diff)
	}
}

// expectReasonFirst reconciles once: the reason of the stop is written down, and nothing is deleted yet.
func (f *fixture) expectReasonFirst() *v1alpha1.ReportJob {
	f.t.Helper()
	f.reconcile("report")
	recorded := f.get("report")
	if stop := recorded.Status.Stop; stop == nil || stop.Reason != v1alpha1.ReasonLeaseLost {
		f.t.Fatalf("stop: %+v", stop)
	}
	if job := f.job(recorded); job == nil || job.DeletionTimestamp != nil {
		f.t.Fatal("the Job is deleted before the reason is written down")
	}
	return recorded
}

func TestReportWhoseLeaseIsNotConfirmedInTimeIsStopped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", fast)
	f.toRunning("report")
	f.store.All(leasetest.Refuse)
	f.runEngine()
	f.awaitSignal()
	stopping := f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonOwnershipUncertain)
	for condition, want := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionOwnershipUncertain: metav1.ConditionTrue, v1alpha1.ConditionStopRequested: metav1.ConditionTrue,
		v1alpha1.ConditionLeaseHeld: metav1.ConditionUnknown, v1alpha1.ConditionStoreReachable: metav1.ConditionFalse,
	} {
		if !meta.IsStatusConditionPresentAndEqual(stopping.Status.Conditions, condition, want) {
			t.Errorf("condition %s is not %s: %+v", condition, want, stopping.Status.Conditions)
		}
	}
	// Redis comes back and still has the lease: that revives nothing.
	f.store.All(leasetest.None)
	f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonOwnershipUncertain)
}

func TestDeletedReportJobGoesWhenItsPodIsProvenDead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, pod := f.toRunning("report")
	if err := f.api.Delete(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	stopping := f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonDeleted)
	f.killPod(pod)
	f.sawPod(pod)
	f.collectJob(f.job(stopping))
	for range 5 {
		f.reconcile("report")
	}
	err := f.api.Get(t.Context(), f.key("report"), &v1alpha1.ReportJob{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the ReportJob is still there: %v, %+v", err, f.get("report").Status)
	}
	if !f.isFree(termIn(t, running)) {
		t.Error("the lease is not given back although the end of the pod was seen")
	}
}

func TestDeletedReportJobThatWaitsGoesAtOnceWithoutAnOperator(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("first", nil)
	f.toRunning("first")
	f.create("second", nil)
	waiting := f.expect("second", v1alpha1.PhaseWaiting, v1alpha1.ReasonSiblingAlive)
	if err := f.api.Delete(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	if err := f.api.Get(t.Context(), f.key("second"), waiting); !apierrors.IsNotFound(err) {
		t.Errorf("the ReportJob is still there: %v", err)
	}
}

func TestRestartedOperatorAdoptsTheRunningReport(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	before, pod := f.toRunning("report")
	f.start()
	f.reconcile("report")
	if state := f.engine.State(subjectOf(f.key("report"))); state.Phase != renewal.Adopting {
		t.Errorf("the new engine says %s", state.Phase)
	}
	f.runEngine()
	f.awaitSignal()
	after := f.expect("report", v1alpha1.PhaseRunning, v1alpha1.ReasonPodRunning)
	if diff := cmp.Diff(before.Status.Execution, after.Status.Execution); diff != "" {
		t.Errorf("the execution changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]string{v1alpha1.EventLeaseAdopted}, f.told.eventReasons()); diff != "" {
		t.Errorf("events of the new operator (-want +got):\n%s", diff)
	}
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	f.expect("report", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
}

func TestReportJobThatVanishesIsNotRenewedAnyMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, _ := f.toRunning("report")
	running.Finalizers = nil
	if err := f.api.Update(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	if err := f.api.Delete(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	f.reconcile("report")
	if state := f.engine.State(subjectOf(f.key("report"))); state.Phase != renewal.Untracked {
		t.Errorf("the engine says %s of the lease of nobody", state.Phase)
	}
	if f.isFree(termIn(t, running)) {
		t.Error("the lease was given back although nobody saw the end of the pod")
	}
}
