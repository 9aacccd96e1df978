package controller

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
)

// wokenByRelease is how many of those who wait for a lease are told that it was released: the first in line alone, so that age
// decides. The others find out by their polls, should that one not come.
const wokenByRelease = 1

// waiters are the ReportJobs that wait for each lease, and since when. The zero value is ready.
type waiters struct {
	mu     sync.Mutex
	since  map[lease.Scope]map[types.NamespacedName]time.Time
	scopes map[types.NamespacedName]lease.Scope
}

// saw notes whether a ReportJob waits, and listens for releases of its lease as long as one does.
func (w *waiters) saw(hints lease.Hints, reportJob *v1alpha1.ReportJob, status *v1alpha1.ReportJobStatus) {
	name := types.NamespacedName{Namespace: reportJob.Namespace, Name: reportJob.Name}
	if status.Phase != v1alpha1.PhaseWaiting || status.WaitingSince == nil {
		w.drop(hints, name)
		return
	}
	scope := leaseOf(reportJob)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since == nil {
		w.since = map[lease.Scope]map[types.NamespacedName]time.Time{}
		w.scopes = map[types.NamespacedName]lease.Scope{}
	}
	if w.since[scope] == nil {
		w.since[scope] = map[types.NamespacedName]time.Time{}
		if hints != nil {
			hints.Watch(scope)
		}
	}
	w.since[scope][name], w.scopes[name] = status.WaitingSince.Time, scope
}

// drop forgets a ReportJob that does not wait any more.
func (w *waiters) drop(hints lease.Hints, name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scope, waits := w.scopes[name]
	if !waits {
		return
	}
	delete(w.scopes, name)
	delete(w.since[scope], name)
	if len(w.since[scope]) > 0 {
		return
	}
	delete(w.since, scope)
	if hints != nil {
		hints.Unwatch(scope)
	}
}

// first are those who waited longest for a lease.
func (w *waiters) first(scope lease.Scope) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	since := w.since[scope]
	names := make([]types.NamespacedName, 0, len(since))
	for name := range since {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int {
		return cmp.Or(since[a].Compare(since[b]), cmp.Compare(a.Name, b.Name))
	})
	return names[:min(len(names), wokenByRelease)]
}
