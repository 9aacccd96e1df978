package controller

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// writeStatus writes the status once, if it changed, as a change of the very version that was observed: who wrote meanwhile
// wins, and this reconcile is repeated. A patch leaves alone what a newer operator may have added.
func (r *ReportJobReconciler) writeStatus(
	ctx context.Context, observed *v1alpha1.ReportJob, settled plan.Settled, acted acted,
) error {
	if acted.letGo || equality.Semantic.DeepEqual(observed.Status, settled.Status) {
		return nil
	}
	name := client.ObjectKeyFromObject(observed)
	if !r.Leadership.MayAct() {
		if acted.granted != nil { // nobody else can know of it
			r.withdraw(ctx, name, withdrawal{term: *acted.granted, refused: true})
		}
		return errNotLeading
	}
	wanted := observed.DeepCopy()
	wanted.Status = settled.Status
	patch := client.MergeFromWithOptions(observed, client.MergeFromWithOptimisticLock{})
	err := r.Client.Status().Patch(ctx, wanted, patch)
	if err == nil {
		r.written.note(wanted)
		return nil
	}
	if acted.granted != nil {
		r.withdraw(ctx, name, withdrawal{term: *acted.granted, refused: certainlyRefused(err)})
	}
	return wrap(err, "write the status of ReportJob %s", name)
}

// certainlyRefused says that the API server answered and did not write. Of what it answers with a server's error, or not at
// all, nobody knows.
func certainlyRefused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}
