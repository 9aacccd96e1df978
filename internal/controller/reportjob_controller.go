package controller

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// ReportJobReconciler runs ReportJobs under their leases. All exported fields are set before the first call.
type ReportJobReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Store grants leases and takes them back.
	Store lease.Store
	// Leases renews the leases that were granted.
	Leases Leases
	// Leadership says whether this process may act; nil if it has no rivals.
	Leadership *Leadership
	// Recorder takes events; it may drop any of them.
	Recorder events.EventRecorder
	// Metrics counts what is announced.
	Metrics *Metrics
	// Log takes one line for every transition.
	Log logr.Logger
	// Clock is the operator's clock.
	Clock clock.PassiveClock
	// Random draws the owners of executions.
	Random io.Reader
	// Jitter spreads the polls of those who wait: it returns a duration from d to a little more.
	Jitter func(d time.Duration) time.Duration

	// SharedLeaseKeys says which namespaces may use which leaseKeys; the zero value allows none.
	SharedLeaseKeys SharedLeaseKeys

	// Hints tells of released leases, so that who waits need not poll for long; nil if nobody does.
	Hints lease.Hints

	written   writtenVersions
	lastWords lastWords
	waiters   waiters
	releases  releases
	// wake asks for a reconcile.
	wake func(types.NamespacedName)
}

// +kubebuilder:rbac:groups=leasehold.dev,resources=reportjobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=leasehold.dev,resources=reportjobs/status,verbs=patch
// +kubebuilder:rbac:groups=leasehold.dev,resources=reportjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile takes a ReportJob one step further, or finds that there is nothing to do.
func (r *ReportJobReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if !r.Leadership.MayAct() {
		return r.follow(ctx, request.NamespacedName)
	}
	reportJob, err := r.get(ctx, request.NamespacedName)
	if reportJob == nil {
		return ctrl.Result{}, err
	}
	r.vouch(reportJob)
	observation, err := r.observe(ctx, reportJob)
	if err != nil {
		return ctrl.Result{}, err
	}
	decision := plan.Decide(*observation, r.Clock.Now())
	if decision.ReadLive {
		if observation, err = r.observeLive(ctx, request.NamespacedName); observation == nil {
			return ctrl.Result{}, err
		}
		decision = plan.Decide(*observation, r.Clock.Now())
	}
	acted := r.act(ctx, observation, decision.Actions)
	if acted.isVoid() {
		return quietly(acted.err)
	}
	settled := plan.Settle(decision, acted.results)
	if err := r.writeStatus(ctx, observation.ReportJob, settled, acted); err != nil {
		return quietly(err)
	}
	r.waiters.saw(r.Hints, observation.ReportJob, &settled.Status)
	r.announce(ctx, observation.ReportJob, settled)
	if acted.err != nil {
		return quietly(acted.err)
	}
	return r.nextLook(settled), nil
}

// soon is when a reconcile that lost a race against another writer is run again: the watch brings the newer object by then.
const soon = 50 * time.Millisecond

// unconfirmed is when a process looks again that cannot say whether it leads: by then its renewal is confirmed, or it ends.
const unconfirmed = time.Second

// errNotLeading stops a reconcile in front of its next effect.
var errNotLeading = errors.New("whether this process still leads is not confirmed")

// quietly makes a reason to look again of what is no error: somebody else wrote first, or may lead by now.
func quietly(err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, errNotLeading):
		return ctrl.Result{RequeueAfter: unconfirmed}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	return ctrl.Result{}, err
}
