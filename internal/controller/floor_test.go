package controller

import (
	"testing"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
)

func TestATokenIsAboveEveryOneWrittenDownForItsJobID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const written = lease.MaxToken / 2
	for name, lastToken := range map[string]string{"older": "7", "newest": written.String(), "another": lease.MaxToken.String()} {
		f.create(name, func(reportJob *v1alpha1.ReportJob) {
			if name == "another" {
				reportJob.Spec.JobID = "costs"
			}
		})
		reportJob := f.get(name)
		reportJob.Status.LastToken = lastToken
		if err := f.api.Status().Update(t.Context(), reportJob); err != nil {
			t.Fatal(err)
		}
	}
	// Redis knows nothing of them: it is empty.
	f.create("report", nil)
	started := f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
	if got := termIn(t, started).Token; got != written+1 {
		t.Errorf("token %d, want %d", got, written+1)
	}
}

func TestAJobWithoutItsOwnerIsStoppedAllTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, _ := f.toRunning("report")
	job := f.job(running)
	job.OwnerReferences = nil
	if err := f.api.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if err := f.api.Delete(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonDeleted)
	if job := f.job(running); job != nil && job.DeletionTimestamp == nil {
		t.Errorf("Job %s is left alone", job.Name)
	}
}

func TestALeaseOfAReportJobThatIsGoneIsNotRenewedForTheNextOfItsName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", fast)
	former, _ := f.toRunning("report")
	former.Finalizers = nil
	if err := f.api.Update(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	if err := f.api.Delete(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	f.create("report", fast)
	f.expect("report", v1alpha1.PhaseWaiting, v1alpha1.ReasonLeaseHeldByOther)
	if state := f.engine.State(subjectOf(f.key("report"))); state.Term == termIn(t, former) {
		t.Errorf("the engine still has the lease of the former one: %+v", state)
	}
}
