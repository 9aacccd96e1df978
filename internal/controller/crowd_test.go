package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// crowd is how many ReportJobs want one lease.
const crowd = 200

func TestOfACrowdOfReportJobsOfOneJobIDOneRunsAndEveryOtherSaysWhy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.runManager()
	f.create("first", nil)
	first := f.awaitJob("first")
	var creating sync.WaitGroup
	for worker := range 8 {
		creating.Go(func() {
			for i := worker; i < crowd; i += 8 {
				f.create(fmt.Sprintf("waits-%03d", i), nil)
			}
		})
	}
	creating.Wait()
	waiting := f.awaitCrowd()
	pod := f.startPod(first)
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	f.await("first", v1alpha1.PhaseSucceeded)
	// Age is a hint: whoever has waited longest is told, and it gets the lease unless another one asks in that very instant.
	next := f.awaitExecution()
	if next.Status.LastToken <= first.Status.LastToken {
		t.Errorf("token %s after %s", next.Status.LastToken, first.Status.LastToken)
	}
	if _, waited := waiting[next.Name]; !waited {
		t.Errorf("%s has the lease and did not wait for it", next.Name)
	}
}

// awaitCrowd waits until each says for whom it waits.
func (f *fixture) awaitCrowd() map[string]*v1alpha1.ReportJob {
	f.t.Helper()
	var waiting map[string]*v1alpha1.ReportJob
	look := func(ctx context.Context) (bool, error) {
		waiting = map[string]*v1alpha1.ReportJob{}
		for _, reportJob := range f.list(ctx) {
			status := &reportJob.Status
			if status.Phase == v1alpha1.PhaseWaiting && status.Reason == v1alpha1.ReasonSiblingAlive && status.Holder != "" {
				waiting[reportJob.Name] = reportJob
			}
		}
		return len(waiting) == crowd, nil
	}
	if err := wait.PollUntilContextTimeout(f.t.Context(), time.Second, 2*time.Minute, true, look); err != nil {
		f.t.Fatalf("%d of %d wait and say for whom: %v", len(waiting), crowd, err)
	}
	return waiting
}

// awaitExecution waits until one of those who waited has a Job, and looks that it is one alone.
func (f *fixture) awaitExecution() *v1alpha1.ReportJob {
	f.t.Helper()
	var with []*v1alpha1.ReportJob
	look := func(ctx context.Context) (bool, error) {
		with = nil
		for _, reportJob := range f.list(ctx) {
			if reportJob.Name != "first" && reportJob.Status.Execution != nil && reportJob.Status.Execution.JobUID != "" {
				with = append(with, reportJob)
			}
		}
		return len(with) > 0, nil
	}
	err := wait.PollUntilContextTimeout(f.t.Context(), 100*time.Millisecond, time.Minute, true, look)
	if err != nil || len(with) > 1 {
		f.t.Fatalf("%d of those who waited have a Job: %v", len(with), err)
	}
	return with[0]
}

func (f *fixture) list(ctx context.Context) []*v1alpha1.ReportJob {
	f.t.Helper()
	var all v1alpha1.ReportJobList
	if err := f.api.List(ctx, &all, client.InNamespace(f.namespace)); err != nil {
		f.t.Fatal(err)
	}
	found := make([]*v1alpha1.ReportJob, len(all.Items))
	for i := range all.Items {
		found[i] = &all.Items[i]
	}
	return found
}
