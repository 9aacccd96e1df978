package plan

import (
	"fmt"
	"time"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// giveUpWaiting ends a ReportJob without an execution whose lease was not free in time. Nothing of it ever ran.
func giveUpWaiting(m *matter) *draft {
	if m.execution != nil || m.now.Before(m.waitEnd()) {
		return nil
	}
	d := m.draft()
	message := fmt.Sprintf("The report did not get its lease within contention.timeout, %s. Last: %s Apply the report again"+
		" under another name to try once more.", waitTimeout(&m.ReportJob.Spec), m.ReportJob.Status.Message)
	d.note(EventWaitTimeout, warning(v1alpha1.EventWaitTimeout), v1alpha1.ReasonWaitTimeout, message)
	phase := v1alpha1.PhaseSkipped
	if m.hasRun() {
		phase = v1alpha1.PhaseFailed
	}
	return d.end(phase, v1alpha1.ReasonWaitTimeout, message)
}

// hasRun says that there was an attempt before.
func (m *matter) hasRun() bool { return m.ReportJob.Status.LastAttempt > 0 }

// skips says that the report does not wait for a lease that another execution holds. One that has run before waits: what holds
// the lease may be what is left of its own attempt.
func (m *matter) skips() bool {
	return m.ReportJob.Spec.Contention.Policy == v1alpha1.ContentionSkip && !m.hasRun()
}

// skip ends a report that does not wait.
func (d *draft) skip(reason, message string) *draft {
	message = fmt.Sprintf("Skipped at %s, since contention.policy is Skip: %s", d.now.UTC().Format(time.RFC3339), message)
	d.note(EventSkipped, normal(v1alpha1.EventReportSkipped), reason, message)
	return d.end(v1alpha1.PhaseSkipped, reason, message)
}

// waitEnd is when contention.timeout is over: in the future while the wait has not begun.
func (m *matter) waitEnd() time.Time {
	since := m.now
	if waiting := m.ReportJob.Status.WaitingSince; waiting != nil {
		since = waiting.Time
	}
	return since.Add(max(time.Millisecond, waitTimeout(&m.ReportJob.Spec)))
}

// acquireLease asks for the lease. What it is granted is written down by this reconcile and used by the next one.
func acquireLease(m *matter) *draft {
	d := m.draft()
	if d.status.Phase == "" {
		d.phase(v1alpha1.PhasePending, v1alpha1.ReasonAccepted, "The ReportJob is accepted.")
	}
	return d.do(AcquireLease{Floor: m.Floor, Longest: m.Longest, Skip: m.skips(), Ahead: m.Ahead}).after(until(m.waitEnd(), m.now))
}
