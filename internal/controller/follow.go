package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// follow is what a replica does that does not lead: it decides and writes nothing, and renews no lease any more of which the
// leader has written down that it is to end. It vouches for none either, so that a replica that hears nothing from the API
// server renews for as long as its evidence is good, and no longer; see renewal.Options.MaxSilence.
func (r *ReportJobReconciler) follow(ctx context.Context, name types.NamespacedName) (ctrl.Result, error) {
	var reportJob v1alpha1.ReportJob
	err := r.Client.Get(ctx, name, &reportJob)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read ReportJob %s: %w", name, err)
	}
	subject := subjectOf(name)
	term := r.Leases.State(subject).Term
	if err != nil || !plan.KeepsLease(&reportJob, string(term.Owner), term.Token.String()) {
		r.Leases.Forget(subject)
	}
	if r.Leadership.leadsUnconfirmed() {
		return quietly(errNotLeading)
	}
	return ctrl.Result{}, nil
}

// LookAtAll asks for a reconcile of every ReportJob: whoever has just begun to lead has passed over all that happened before.
func (r *ReportJobReconciler) LookAtAll(ctx context.Context) {
	var all v1alpha1.ReportJobList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		r.Log.Error(err, "list the ReportJobs to look at as the new leader; each waits for its next event")
		return
	}
	for i := range all.Items {
		r.wake(client.ObjectKeyFromObject(&all.Items[i]))
	}
}
