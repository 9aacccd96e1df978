package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// announce tells the log, the metrics and the events of each transition that is written down. They all say the same, since
// they come from the same value.
func (r *ReportJobReconciler) announce(ctx context.Context, reportJob *v1alpha1.ReportJob, settled plan.Settled) {
	takesEvents := len(settled.Transitions) > 0 && r.takesEvents(ctx, reportJob)
	r.Metrics.sawPhase(client.ObjectKeyFromObject(reportJob), settled.Status.Phase)
	for i := range settled.Transitions {
		transition := &settled.Transitions[i]
		r.logTransition(reportJob, transition)
		r.Metrics.count(transition, &settled.Status)
		if takesEvents {
			r.emit(reportJob, transition)
		}
	}
}

// takesEvents says that events about the ReportJob can be written: a namespace that is being deleted refuses them, and the client
// would log an error for each.
func (r *ReportJobReconciler) takesEvents(ctx context.Context, reportJob *v1alpha1.ReportJob) bool {
	if reportJob.DeletionTimestamp.IsZero() {
		return true
	}
	var namespace corev1.Namespace
	err := r.Live.Get(ctx, client.ObjectKey{Name: reportJob.Namespace}, &namespace)
	return err != nil || namespace.DeletionTimestamp.IsZero()
}

// logTransition writes the line by which a report's life is followed. Its keys are a contract with those who search for them.
func (r *ReportJobReconciler) logTransition(reportJob *v1alpha1.ReportJob, transition *plan.Transition) {
	r.Log.Info(transition.Message,
		"namespace", reportJob.Namespace,
		"name", reportJob.Name,
		"jobId", transition.JobID,
		"executionId", transition.ExecutionID,
		"attempt", transition.Attempt,
		"retryOf", transition.RetryOf,
		"trigger", transition.Trigger,
		"token", transition.Token,
		"pod", transition.Pod,
		"event", transition.Event,
		"elapsedMs", transition.Elapsed.Milliseconds(),
		"renewalOutcome", transition.RenewalOutcome,
		"reason", transition.Reason,
	)
}

func (r *ReportJobReconciler) emit(reportJob *v1alpha1.ReportJob, transition *plan.Transition) {
	if notice := transition.Notice; notice.Reason != "" {
		r.Recorder.Eventf(reportJob, nil, notice.Type, notice.Reason, transition.Event, "%s", transition.Message)
	}
}

// nextLook says when to reconcile again if nothing else happens. Those who wait for a lease are spread out, or all of them
// would ask Redis in the instant in which it runs out.
func (r *ReportJobReconciler) nextLook(settled plan.Settled) ctrl.Result {
	after := settled.RequeueAfter
	if after > 0 && settled.Status.Phase == v1alpha1.PhaseWaiting {
		after = r.Jitter(after)
	}
	if settled.Status.Execution != nil && !meta.IsStatusConditionTrue(settled.Status.Conditions, v1alpha1.ConditionFinished) {
		if after <= 0 || after > vouchEvery {
			after = r.Jitter(vouchEvery)
		}
	}
	return ctrl.Result{RequeueAfter: max(0, after)}
}

// vouchEvery is how often, at least, an execution under way is looked at, so that the renewal engine hears that its owner lives.
// With Spread it is less than a minute. It costs the API server nothing.
const vouchEvery = 50 * time.Second

// Spread returns a Jitter that lengthens a duration by up to a tenth. random is in [0, 1).
func Spread(random func() float64) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		return d + time.Duration(random()*float64(d)/10)
	}
}
