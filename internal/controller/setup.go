package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

const (
	// concurrentReconciles is the number of workers. Most of a reconcile is waiting for the API server or for Redis.
	concurrentReconciles = 16
	// reconcileTimeout bounds one reconcile, so that an API server or a Redis that hangs takes a worker for no longer.
	reconcileTimeout = 20 * time.Second
	// shortestBackoff and longestBackoff bound the wait after an error. The library's longest would be 16 minutes.
	shortestBackoff = 5 * time.Millisecond
	longestBackoff  = 30 * time.Second
	// leaseIndex finds ReportJobs by the scope of their lease.
	leaseIndex = "lease"
)

// CacheOptions keeps of Jobs and pods only those of ReportJobs, of every object no managed fields, and of any other kind
// nothing: a read of one fails instead of caching the whole cluster.
func CacheOptions() (cache.Options, error) {
	ours, err := labels.NewRequirement(v1alpha1.LabelReportJobUID, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	selector := labels.NewSelector().Add(*ours)
	return cache.Options{
		DefaultTransform:            cache.TransformStripManagedFields(),
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}: {Label: selector},
			&corev1.Pod{}:  {Label: selector},
		},
	}, nil
}

// SetupWithManager registers the controller and what wakes it: ReportJobs, their Jobs and pods, signals of the renewal
// engine, and the end of another ReportJob that held the same lease.
func (r *ReportJobReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, signals *Signals) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.ReportJob{}, leaseIndex, func(object client.Object) []string {
		return []string{string(leaseOf(object.(*v1alpha1.ReportJob)))}
	})
	if err != nil {
		return err
	}
	if err := r.addRunnables(mgr, signals); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("reportjob").
		For(&v1alpha1.ReportJob{}).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.sawPod)).
		Watches(&v1alpha1.ReportJob{}, handler.EnqueueRequestsFromMapFunc(r.waitingFor), builder.WithPredicates(freesLease())).
		WatchesRawSource(signals.Source()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrentReconciles,
			ReconciliationTimeout:   reconcileTimeout,
			EnableWarmup:            new(true),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				shortestBackoff, longestBackoff),
		}).
		Complete(r)
}

// addRunnables adds what goes on beside the reconciles of the leader.
func (r *ReportJobReconciler) addRunnables(mgr ctrl.Manager, signals *Signals) error {
	r.wake = signals.Notify
	if r.Leadership != nil {
		election := &Election{Leadership: r.Leadership, Log: r.Log, Elected: r.LookAtAll, Lost: r.Metrics.follow}
		if err := mgr.Add(election); err != nil {
			return err
		}
	}
	err := mgr.Add(manager.RunnableFunc(r.repeatReleases))
	if err != nil || r.Hints == nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return r.Hints.Run(ctx, r.released) }))
}

// released wakes the first of those who wait for a lease that is free.
func (r *ReportJobReconciler) released(scope lease.Scope) {
	for _, name := range r.waiters.first(scope) {
		r.wake(name)
	}
}

// waitingFor names the ReportJobs that may wait for the lease which a ReportJob has just given up.
func (r *ReportJobReconciler) waitingFor(ctx context.Context, object client.Object) []reconcile.Request {
	former := object.(*v1alpha1.ReportJob)
	r.lastWords.drop(client.ObjectKeyFromObject(former))
	var sharing v1alpha1.ReportJobList
	err := r.Client.List(ctx, &sharing, client.MatchingFields{leaseIndex: string(leaseOf(former))})
	if err != nil {
		// They poll anyway, and find the lease free a little later.
		r.Log.Error(err, "list the ReportJobs that wait for a lease", "lease", string(leaseOf(former)))
		return nil
	}
	return firstInLine(sharing.Items)
}

// firstInLine names those to be told that a lease may be free: who has an execution and waits with its Job, and the first of
// those who wait for the lease. The others find out by their polls.
func firstInLine(sharing []v1alpha1.ReportJob) []reconcile.Request {
	var line []*v1alpha1.ReportJob
	var requests []reconcile.Request
	for i := range sharing {
		switch reportJob := &sharing[i]; {
		case isFinished(reportJob):
		case plan.HoldsLease(reportJob):
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(reportJob)})
		default:
			line = append(line, reportJob)
		}
	}
	slices.SortFunc(line, func(a, b *v1alpha1.ReportJob) int {
		return cmp.Or(waitsSince(a).Compare(waitsSince(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, reportJob := range line[:min(len(line), wokenByRelease)] {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(reportJob)})
	}
	return requests
}

func waitsSince(reportJob *v1alpha1.ReportJob) time.Time {
	if since := reportJob.Status.WaitingSince; since != nil {
		return since.Time
	}
	return reportJob.CreationTimestamp.Time
}

// freesLease passes the events by which a ReportJob stops holding its lease.
func freesLease() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		UpdateFunc: func(update event.UpdateEvent) bool {
			return plan.HoldsLease(update.ObjectOld.(*v1alpha1.ReportJob)) && !plan.HoldsLease(update.ObjectNew.(*v1alpha1.ReportJob))
		},
	}
}

func isFinished(reportJob *v1alpha1.ReportJob) bool {
	return meta.IsStatusConditionTrue(reportJob.Status.Conditions, v1alpha1.ConditionFinished)
}
