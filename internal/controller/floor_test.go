package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestATokenIsAboveEveryOneWrittenDownForItsJobID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const written = lease.MaxToken / 2
	for name, lastToken := range map[string]string{"older": "7", "newest": written.String(), "another": lease.MaxToken.String()} {
		f.create(name, func(reportJob *v1alpha1.ReportJob) {
			switch name {
			case "another":
				reportJob.Spec.JobID, reportJob.Spec.LeaseDuration, reportJob.Spec.MaxRuntime = "costs", "2h", "3h"
			case "older":
				reportJob.Spec.LeaseDuration, reportJob.Spec.MaxRuntime = "1h", "3h"
			}
		})
		reportJob := f.get(name)
		reportJob.Status.LastToken = lastToken
		if err := f.api.Status().Update(t.Context(), reportJob); err != nil {
			t.Fatal(err)
		}
	}
	f.create("report", nil)
	actions := plan.Decide(f.look("report"), noon).Actions
	action, ok := actions[len(actions)-1].(plan.AcquireLease)
	if !ok || action.Floor != written.String() || action.Longest != time.Hour {
		t.Errorf("%+v, want the floor %s and a longest lease of 1h", action, written)
	}
	// Redis knows nothing of them: it is empty, and may have forgotten a lease.
	waiting := f.expect("report", v1alpha1.PhaseWaiting, v1alpha1.ReasonQuarantined)
	for _, want := range []string{"2026-11-30T13:00:0", "lost data"} {
		if !strings.Contains(waiting.Status.Message, want) {
			t.Errorf("%q is not in %q", want, waiting.Status.Message)
		}
	}
}

// look observes a ReportJob.
func (f *fixture) look(name string) plan.Observation {
	f.t.Helper()
	observation, err := f.observe(f.t.Context(), f.get(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return *observation
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
	f.vanish(former)
	f.create("report", fast)
	f.expect("report", v1alpha1.PhaseWaiting, v1alpha1.ReasonSiblingAlive)
	if state := f.engine.State(subjectOf(f.key("report"))); state.Term == termIn(t, former) {
		t.Errorf("the engine still has the lease of the former one: %+v", state)
	}
}
