package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// loseLease makes Redis forget the lease and its fence, as FLUSHALL does.
func (f *fixture) loseLease(reportJob *v1alpha1.ReportJob) {
	f.t.Helper()
	if err := f.store.Release(f.t.Context(), termIn(f.t, reportJob)); err != nil {
		f.t.Fatal(err)
	}
}

func TestNothingStartsBesideAPodThatTheAPIServerShowsWhateverRedisForgot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("first", nil)
	first, pod := f.toRunning("first")
	f.loseLease(first)
	f.create("second", nil)
	waiting := f.expect("second", v1alpha1.PhaseWaiting, v1alpha1.ReasonSiblingAlive)
	if waiting.Status.Execution != nil || !f.isFree(termIn(t, first)) || !strings.Contains(waiting.Status.Message, "first") {
		t.Errorf("the second one: %+v", waiting.Status)
	}
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	f.expect("first", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
	f.expect("second", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
}

func TestAPodOfAReportJobThatIsGoneIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("first", nil)
	first, pod := f.toRunning("first")
	f.loseLease(first)
	f.vanish(first)
	f.collect(f.job(first))
	f.create("second", nil)
	waiting := f.expect("second", v1alpha1.PhaseWaiting, v1alpha1.ReasonSiblingAlive)
	if !strings.Contains(waiting.Status.Message, pod.Name) || !strings.Contains(waiting.Status.Message, "gone") {
		t.Errorf("the message: %s", waiting.Status.Message)
	}
	f.kubeletSays(pod, corev1.PodFailed, ended("report", 143, "Error"))
	f.expect("second", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
}

func TestOfTwoExecutionsWithoutAJobTheOlderOneMakesRoom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("first", nil)
	f.reconcile("first") // the lease is granted, and the Job is not created yet
	first := f.get("first")
	f.loseLease(first)
	f.create("second", nil)
	f.reconcile("second") // it waits for the first
	second := f.get("second")
	second.Status.Execution = first.Status.Execution.DeepCopy()
	second.Status.Execution.Token = termIn(t, first).Token.String() + "1"
	second.Status.Execution.Job = "second-job"
	if err := f.api.Status().Update(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	f.reconcile("first")
	if stop := f.get("first").Status.Stop; stop == nil || stop.Reason != v1alpha1.ReasonSiblingAlive {
		t.Fatalf("the older one: stop %+v", stop)
	}
	back := f.expect("first", v1alpha1.PhaseWaiting, v1alpha1.ReasonSiblingAlive)
	if back.Status.Execution != nil || back.Status.Stop != nil {
		t.Errorf("the older one: %+v", back.Status)
	}
}

func TestAnExecutionWhoseLeaseWentBeforeItsJobWasCreatedIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", fast)
	f.reconcile("report")
	before := f.get("report").Status.Execution
	f.engine.Halt(subjectOf(f.key("report")))
	after := f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
	if after.Status.Execution.ID == before.ID || after.Status.Execution.Attempt != 1 || after.Status.Stop != nil {
		t.Errorf("execution %+v, stop %+v", after.Status.Execution, after.Status.Stop)
	}
}

func TestAPodThatLostItsLabelsIsNotTakenForGone(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(map[string]string){
		"ours": func(labels map[string]string) {
			delete(labels, v1alpha1.LabelReportJobUID)
			delete(labels, v1alpha1.LabelFencingToken)
		},
		"all": func(labels map[string]string) { clear(labels) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			_, pod := f.toRunning("report")
			lose(pod.Labels)
			if err := f.api.Update(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			running := f.expect("report", v1alpha1.PhaseRunning, v1alpha1.ReasonPodRunning)
			if err := f.api.Delete(t.Context(), running); err != nil {
				t.Fatal(err)
			}
			f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonDeleted)
			f.collectJob(f.job(running))
			if stopping := f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonDeleted); stopping.Status.Stop.ConfirmedAt != nil {
				t.Error("the stop is confirmed while the pod lives")
			}
			if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.DeletionTimestamp == nil {
				t.Errorf("the pod is not being deleted: %v", err)
			}
		})
	}
}

func TestARunningReportIsVouchedForEveryMinuteWithoutAWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, _ := f.toRunning("report")
	f.Jitter = Spread(func() float64 { return 0.999 })
	if after := f.reconcile("report").RequeueAfter; after <= 0 || after > time.Minute {
		t.Errorf("it looks again after %v", after)
	}
	if f.get("report").ResourceVersion != running.ResourceVersion {
		t.Error("looking after it costs a write")
	}
}

func TestNoEventIsSentToANamespaceThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, _ := f.toRunning("report")
	told := len(f.told.events)
	if err := f.api.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}); err != nil {
		t.Fatal(err)
	}
	if err := f.api.Delete(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonDeleted)
	if len(f.told.events) != told {
		t.Errorf("events: %v", f.told.events[told:])
	}
}
