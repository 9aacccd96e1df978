package controller

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	leaseclock "github.com/leasehold-dev/leasehold/internal/lease/clock"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// runManager runs the fixture's operator as a manager does: with a cache, a queue, watches and signals, and with the rights
// that the manifests give it. The fixture's Reconcile must not be called by hand beside it.
func (f *fixture) runManager() {
	f.t.Helper()
	options, err := CacheOptions()
	if err != nil {
		f.t.Fatal(err)
	}
	options.DefaultNamespaces = map[string]cache.Config{f.namespace: {}}
	f.Leadership = f.newLeadership()
	mgr, err := ctrl.NewManager(operatorConfig(f.t), ctrl.Options{
		Scheme: testScheme(f.t), Cache: options, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	signals := &Signals{}
	f.engine = renewal.New(renewal.Options{Store: f.store, Notify: signals.Changed})
	f.Client, f.Live, f.Leases = mgr.GetClient(), mgr.GetAPIReader(), f.engine
	f.Recorder, f.Clock = mgr.GetEventRecorder("leasehold"), clock.RealClock{}
	ctx, cancel := context.WithCancel(f.t.Context())
	if err := f.SetupWithManager(ctx, mgr, signals); err != nil {
		f.t.Fatal(err)
	}
	f.runEngine()
	var running sync.WaitGroup
	running.Go(func() {
		if err := mgr.Start(ctx); err != nil {
			f.t.Errorf("the manager: %v", err)
		}
	})
	f.t.Cleanup(func() { cancel(); running.Wait() })
}

// newLeadership elects a leader of the namespace by a Lease in it.
func (f *fixture) newLeadership() *Leadership {
	f.t.Helper()
	lock, err := NewLeaderLock(restConfig(f.t), f.namespace, "leader")
	if err != nil {
		f.t.Fatal(err)
	}
	return NewLeadership(lock, LeaderLeaseDuration, leaseclock.New(leaseclock.System))
}

// await watches a ReportJob until it has the phase.
func (f *fixture) await(name string, phase v1alpha1.Phase) *v1alpha1.ReportJob {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	watch, err := f.api.Watch(ctx, &v1alpha1.ReportJobList{}, client.InNamespace(f.namespace),
		client.MatchingFields{"metadata.name": name})
	if err != nil {
		f.t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if reportJob, ok := event.Object.(*v1alpha1.ReportJob); ok && reportJob.Status.Phase == phase {
			return reportJob
		}
	}
	f.t.Fatalf("%s did not become %s: %+v", name, phase, f.get(name).Status)
	return nil
}

// awaitEvent watches the events until there is one about the ReportJob with the reason.
func (f *fixture) awaitEvent(name, reason string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	watch, err := f.api.Watch(ctx, &eventsv1.EventList{}, client.InNamespace(f.namespace))
	if err != nil {
		f.t.Fatal(err)
	}
	defer watch.Stop()
	for seen := range watch.ResultChan() {
		event, ok := seen.Object.(*eventsv1.Event)
		if ok && event.Regarding.Kind == "ReportJob" && event.Regarding.Name == name && event.Reason == reason {
			return
		}
	}
	f.t.Fatalf("no event %s about %s", reason, name)
}

// awaitJob watches a ReportJob until its Job exists.
func (f *fixture) awaitJob(name string) *v1alpha1.ReportJob {
	f.t.Helper()
	for {
		reportJob := f.await(name, v1alpha1.PhaseStarting)
		if f.job(reportJob) != nil {
			return reportJob
		}
	}
}

func TestRunningManagerTakesTwoReportsThroughOneLease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.runManager()
	f.create("first", nil)
	pod := f.startPod(f.awaitJob("first"))
	f.await("first", v1alpha1.PhaseRunning)
	f.create("second", nil)
	f.await("second", v1alpha1.PhaseWaiting)
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	first := f.await("first", v1alpha1.PhaseSucceeded)
	f.awaitEvent("first", v1alpha1.EventReportSucceeded)
	second := f.awaitJob("second")
	if handover := second.Status.Execution.AcquiredAt.Sub(first.Status.Completion.At.Time); handover > 2*time.Second {
		t.Errorf("the second report got the lease %v after the first ended", handover)
	}
}

func TestRunningManagerStopsAReportWhoseLeaseIsTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.runManager()
	f.create("report", fast)
	pod := f.startPod(f.awaitJob("report"))
	running := f.await("report", v1alpha1.PhaseRunning)
	if err := f.store.Release(t.Context(), termIn(t, running)); err != nil {
		t.Fatal(err)
	}
	stopping := f.await("report", v1alpha1.PhaseStopping)
	if stopping.Status.Stop.Reason != v1alpha1.ReasonLeaseLost {
		t.Errorf("stop: %+v", stopping.Status.Stop)
	}
	f.awaitDeletion(pod)
	f.killPod(pod)
	failed := f.await("report", v1alpha1.PhaseFailed)
	if failed.Status.Stop.ConfirmedAt == nil || !failed.Status.Completion.ProcessEnded {
		t.Errorf("the stop is not confirmed or not proven: %+v, %+v", failed.Status.Stop, failed.Status.Completion)
	}
}

func TestRunningManagerStartsNothingBesideAReportWhoseLeaseRedisForgot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.runManager()
	f.create("first", fast)
	pod := f.startPod(f.awaitJob("first"))
	first := f.await("first", v1alpha1.PhaseRunning)
	f.create("second", fast)
	f.await("second", v1alpha1.PhaseWaiting)
	f.loseLease(first)
	f.await("first", v1alpha1.PhaseStopping)
	f.awaitDeletion(pod)
	if second := f.get("second"); second.Status.Execution != nil {
		t.Errorf("the second report has a lease while the first one lives: %+v", second.Status.Execution)
	}
	f.killPod(pod)
	f.collectJob(f.job(first))
	f.await("first", v1alpha1.PhaseFailed)
	second := f.awaitJob("second")
	if older, newer := termIn(t, first).Token, termIn(t, second).Token; newer <= older {
		t.Errorf("tokens: %d, then %d", older, newer)
	}
}

// awaitDeletion watches a pod until somebody wants it deleted.
func (f *fixture) awaitDeletion(pod *corev1.Pod) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	watch, err := f.api.Watch(ctx, &corev1.PodList{}, client.InNamespace(f.namespace),
		client.MatchingFields{"metadata.name": pod.Name})
	if err != nil {
		f.t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if seen, ok := event.Object.(*corev1.Pod); ok && seen.DeletionTimestamp != nil {
			return
		}
	}
	f.t.Fatalf("pod %s is not being deleted", pod.Name)
}

func TestWhoSeesAnotherLeaderMayNotActAnyMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	former, next := f.newLeadership(), f.newLeadership()
	if err := former.Create(t.Context(), heldBy(former)); err != nil {
		t.Fatal(err)
	}
	if !former.MayAct() || next.MayAct() {
		t.Fatalf("the leader may act: %v, the candidate: %v", former.MayAct(), next.MayAct())
	}
	if _, _, err := next.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := next.Update(t.Context(), heldBy(next)); err != nil {
		t.Fatal(err)
	}
	if err := former.Update(t.Context(), heldBy(former)); err == nil {
		t.Fatal("both hold the lock")
	}
	if _, _, err := former.Get(t.Context()); err != nil || former.MayAct() || !next.MayAct() {
		t.Errorf("error %v; the former leader may act: %v, the next: %v", err, former.MayAct(), next.MayAct())
	}
}

// heldBy is what is written when a leader renews.
func heldBy(leader *Leadership) resourcelock.LeaderElectionRecord {
	now := metav1.NewTime(noon)
	return resourcelock.LeaderElectionRecord{
		HolderIdentity: leader.Identity(), LeaseDurationSeconds: int(LeaderLeaseDuration.Seconds()), AcquireTime: now, RenewTime: now,
	}
}
