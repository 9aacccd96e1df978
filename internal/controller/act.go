package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// acted is what became of a decision's actions.
type acted struct {
	// results are those of the actions that were tried, in order.
	results []plan.Result
	// err is why the last of them failed; nil if none did.
	err error
	// granted is a grant of this reconcile, which is to be written down or given back.
	granted *lease.Term
	// letGo says that the finalizer was taken off a ReportJob that is being deleted, so that it may be gone.
	letGo bool
}

// isVoid says that somebody else was faster, or may lead by now, so that the decision is void and there is nothing to tell of it.
// A grant is to be dealt with in any case.
func (a acted) isVoid() bool {
	return (apierrors.IsConflict(a.err) || errors.Is(a.err, errNotLeading)) && a.granted == nil
}

// act carries the actions out in order and stops at the first that fails. It keeps the ReportJob of the observation up to
// date with its own writes.
func (r *ReportJobReconciler) act(ctx context.Context, observation *plan.Observation, actions []plan.Action) acted {
	a := actor{
		ReportJobReconciler: r,
		reportJob:           observation.ReportJob,
		name:                client.ObjectKeyFromObject(observation.ReportJob),
	}
	for _, action := range actions {
		result, err := a.carryOut(ctx, action)
		if err != nil {
			a.acted.err = err
			result = plan.Failed{Message: err.Error()}
		}
		a.acted.results = append(a.acted.results, result)
		if err != nil {
			break
		}
	}
	return a.acted
}

// actor is the actions of one reconcile.
type actor struct {
	*ReportJobReconciler
	reportJob *v1alpha1.ReportJob
	name      types.NamespacedName
	acted     acted
}

// carryOut does one action. An error means that it is right to try again.
func (a *actor) carryOut(ctx context.Context, action plan.Action) (plan.Result, error) {
	if !a.Leadership.MayAct() {
		return nil, errNotLeading
	}
	switch action := action.(type) {
	case plan.AcquireLease, plan.AdoptLease, plan.HaltRenewal, plan.ForgetLease, plan.ReleaseLease:
		return a.aboutLease(ctx, action)
	case plan.CreateJob:
		return a.createJob(ctx, action)
	case plan.DeleteJob:
		return plan.Done{}, a.deleteJob(ctx, action)
	case plan.DeletePods:
		return plan.Done{}, a.deletePods(ctx, action)
	case plan.AddFinalizer:
		return plan.Done{}, a.addFinalizer(ctx)
	case plan.RemoveFinalizer:
		return plan.Done{}, a.removeFinalizer(ctx)
	case plan.DeleteReportJob:
		return plan.Done{}, a.deleteReportJob(ctx)
	default:
		return nil, fmt.Errorf("ReportJob %s: the operator does not know how to carry out %T", a.name, action)
	}
}

func (a *actor) aboutLease(ctx context.Context, action plan.Action) (plan.Result, error) {
	switch action := action.(type) {
	case plan.AcquireLease:
		return a.acquire(ctx, action)
	case plan.AdoptLease:
		return plan.Done{}, a.adopt(grantRef(action))
	case plan.HaltRenewal:
		a.ifTracked(grantRef(action), a.Leases.Halt)
		return plan.Done{}, nil
	case plan.ForgetLease:
		a.ifTracked(grantRef(action), a.Leases.Forget)
		return plan.Done{}, nil
	case plan.ReleaseLease:
		return a.release(ctx, action)
	default:
		return nil, fmt.Errorf("ReportJob %s: %T is not about a lease", a.name, action)
	}
}
