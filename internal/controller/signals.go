package controller

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// urgent is the priority of a signal. It stands above that of watch events (0) and of the initial list (-100), because a
// lease that is lost must not wait behind a thousand objects that are merely new.
const urgent = 100

type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Signals carries word from the renewal engine to the reconciler: that something changed about a ReportJob's lease, not
// what. The reconciler reads the engine's state for itself, so a signal that is lost or merged costs time and nothing else.
// The zero value is ready; all methods may be called at any time from any goroutine.
type Signals struct {
	queue atomic.Pointer[workQueue]
}

// Notify asks for a reconcile of the ReportJob. It never blocks: the queue takes any number of names and keeps each once.
// Before the controller runs and after it stopped there is no queue, and the signal is dropped.
func (s *Signals) Notify(name types.NamespacedName) {
	queue := s.queue.Load()
	if queue == nil {
		return
	}
	request := reconcile.Request{NamespacedName: name}
	if prioritized, ok := (*queue).(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		prioritized.AddWithOpts(priorityqueue.AddOpts{Priority: new(urgent)}, request)
		return
	}
	(*queue).Add(request)
}

// Changed is Notify for the renewal engine, which knows ReportJobs as the subjects of leases.
func (s *Signals) Changed(subject renewal.Subject) { s.Notify(nameOf(subject)) }

// Source hands the controller's queue to the signals.
func (s *Signals) Source() source.Source {
	return source.Func(func(_ context.Context, queue workQueue) error {
		s.queue.Store(&queue)
		return nil
	})
}
