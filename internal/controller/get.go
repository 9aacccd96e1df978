package controller

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// get reads the ReportJob from the cache, or live if the cache has not caught up with what was last written here. It returns
// nil and no error when there is none.
func (r *ReportJobReconciler) get(ctx context.Context, name types.NamespacedName) (*v1alpha1.ReportJob, error) {
	reportJob, err := r.read(ctx, r.Client, name)
	if reportJob == nil || !r.written.isOlder(reportJob) {
		return reportJob, err
	}
	return r.read(ctx, r.Live, name)
}

func (r *ReportJobReconciler) read(
	ctx context.Context, reader client.Reader, name types.NamespacedName,
) (*v1alpha1.ReportJob, error) {
	var reportJob v1alpha1.ReportJob
	err := reader.Get(ctx, name, &reportJob)
	if apierrors.IsNotFound(err) {
		r.dismiss(name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ReportJob %s: %w", name, err)
	}
	return &reportJob, nil
}

// dismiss drops all that is remembered of a ReportJob that is gone. Its lease is not renewed any more, and not given back
// either: whoever removed the finalizer by hand did not wait for the end of its pod.
func (r *ReportJobReconciler) dismiss(name types.NamespacedName) {
	r.written.drop(name)
	r.lastWords.drop(name)
	r.waiters.drop(r.Hints, name)
	r.Leases.Forget(subjectOf(name))
	r.Metrics.dismiss(name)
}

// writtenVersions remembers the resource version of the last write to each ReportJob. The zero value is ready.
type writtenVersions struct {
	mu       sync.Mutex
	versions map[types.NamespacedName]string
}

func (w *writtenVersions) note(object client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[types.NamespacedName]string{}
	}
	w.versions[client.ObjectKeyFromObject(object)] = object.GetResourceVersion()
}

// isOlder says whether the object is older than the last write. A version that cannot be compared is not: the write that
// follows compares it anyway.
func (w *writtenVersions) isOlder(object client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	version, found := w.versions[client.ObjectKeyFromObject(object)]
	if !found {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), version)
	return err == nil && order < 0
}

func (w *writtenVersions) drop(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, name)
}
