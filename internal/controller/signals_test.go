package controller

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newQueues() map[string]workQueue {
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	return map[string]workQueue{
		"with a priority queue": priorityqueue.New[reconcile.Request]("signals"),
		"with a plain queue":    workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

func TestSignalsOfManyGoroutinesAreMergedAndNeverBlock(t *testing.T) {
	t.Parallel()
	const goroutines, each, names = 8, 1000, 3
	for name, queue := range newQueues() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer queue.ShutDown()
			var signals Signals
			if err := signals.Source().Start(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
			var senders sync.WaitGroup
			for range goroutines {
				senders.Go(func() {
					for i := range each {
						signals.Notify(types.NamespacedName{Name: fmt.Sprint(i % names)})
					}
				})
			}
			// Nobody takes anything from the queue: a send that could block would block here for good.
			senders.Wait()
			seen := map[string]int{}
			for range names {
				request, _ := queue.Get()
				seen[request.Name]++
				queue.Done(request)
			}
			if len(seen) != names || queue.Len() != 0 {
				t.Errorf("got %v and %d more, want each of %d names once", seen, queue.Len(), names)
			}
		})
	}
}

func TestSignalsBeforeTheStartAndAfterTheStopAreDropped(t *testing.T) {
	t.Parallel()
	for name, queue := range newQueues() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var signals Signals
			signals.Notify(types.NamespacedName{Name: "early"})
			if err := signals.Source().Start(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
			if queue.Len() != 0 {
				t.Error("a signal from before the start is in the queue")
			}
			queue.ShutDown()
			signals.Notify(types.NamespacedName{Name: "late"})
			if _, shutdown := queue.Get(); !shutdown {
				t.Error("a signal from after the stop is in the queue")
			}
		})
	}
}

func TestSignalOvertakesWhatIsMerelyNew(t *testing.T) {
	t.Parallel()
	queue := priorityqueue.New[reconcile.Request]("signals")
	defer queue.ShutDown()
	var signals Signals
	if err := signals.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint(i)}})
	}
	signals.Notify(types.NamespacedName{Name: "lost"})
	if first, _ := queue.Get(); first.Name != "lost" {
		t.Errorf("first in the queue: %s", first.Name)
	}
}
