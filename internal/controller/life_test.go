package controller

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
)

// isFree says whether nobody holds the lease of a ReportJob, by renewing it: a renewal creates nothing.
func (f *fixture) isFree(reportJob *v1alpha1.ReportJob) bool {
	f.t.Helper()
	var lost *lease.LostError
	err := f.store.Renew(f.t.Context(), []lease.Renewal{{Term: termIn(f.t, reportJob), TTL: lease.MinLeaseDuration}})[0]
	return errors.As(err, &lost) && lost.Gone()
}

func TestReportSucceedsUnderItsLeaseAndGivesItBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, pod := f.toRunning("report")
	if f.isFree(running) {
		t.Error("the report runs and nobody holds its lease")
	}
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	finished := f.expect("report", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
	if !isFinished(finished) || !f.isFree(finished) {
		t.Errorf("finished: %v, lease free: %v", isFinished(finished), f.isFree(finished))
	}
	wantEvents := []string{v1alpha1.EventLeaseAcquired, v1alpha1.EventGuardOff, v1alpha1.EventJobCreated,
		v1alpha1.EventReportRunning, v1alpha1.EventReportSucceeded, v1alpha1.EventLeaseReleased}
	if diff := cmp.Diff(wantEvents, f.told.eventReasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
