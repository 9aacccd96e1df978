package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// suspend stops an execution whose ReportJob is suspended.
func suspend(m *matter) *draft {
	if !m.underWay() || !m.ReportJob.Spec.Suspend {
		return nil
	}
	return m.draft().requestStop(v1alpha1.ReasonSuspended,
		"spec.suspend is true; the report begins anew when it is false again.")
}

// backOff waits before the next attempt, and for the Job of the one before to say that it has ended.
func backOff(m *matter) *draft {
	wait := m.retryWait()
	if m.awaitVerdict() {
		wait = max(wait, time.Second)
	}
	if m.execution != nil || wait <= 0 {
		return nil
	}
	return m.draft().after(wait)
}

// retryWait is the time until the next attempt may begin. An instant that was written by a clock which is ahead of this one is
// taken for over: two clocks say nothing of how long it is.
func (m *matter) retryWait() time.Duration {
	status := &m.ReportJob.Status
	if status.RetryAt == nil || len(status.Attempts) == 0 {
		return 0
	}
	if m.now.Before(status.Attempts[len(status.Attempts)-1].EndedAt.Time) {
		return 0
	}
	return status.RetryAt.Sub(m.now)
}

// staySuspended keeps a report from starting.
func staySuspended(m *matter) *draft {
	if m.execution != nil || !m.ReportJob.Spec.Suspend {
		return nil
	}
	d := m.draft()
	message := "spec.suspend keeps the report from starting; it goes on when suspend is false."
	if !meta.IsStatusConditionTrue(d.status.Conditions, v1alpha1.ConditionSuspended) {
		d.note(EventSuspended, normal(v1alpha1.EventReportSuspended), v1alpha1.ReasonSuspended, message)
	}
	d.condition(v1alpha1.ConditionSuspended, metav1.ConditionTrue, v1alpha1.ReasonSuspended, message)
	d.status.WaitingSince, d.status.Holder = nil, ""
	d.phase(v1alpha1.PhasePending, v1alpha1.ReasonSuspended, message)
	return d
}

// resumed tells that a report is not suspended any more.
func (d *draft) resumed(m *matter) {
	if m.ReportJob.Spec.Suspend || !meta.IsStatusConditionTrue(d.status.Conditions, v1alpha1.ConditionSuspended) {
		return
	}
	message := "spec.suspend is false, and the report goes on."
	d.condition(v1alpha1.ConditionSuspended, metav1.ConditionFalse, v1alpha1.ReasonResumed, message)
	d.note(EventResumed, normal(v1alpha1.EventReportResumed), v1alpha1.ReasonResumed, message)
	d.phase(v1alpha1.PhasePending, v1alpha1.ReasonResumed, message)
}

// expireFinished deletes a ReportJob whose time after the end is over.
func expireFinished(m *matter) *draft {
	if !m.finished || m.deleted || m.expiry() > 0 || m.ReportJob.Spec.TTLSecondsAfterFinished == nil {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	return m.draft().do(DeleteReportJob{})
}

// expiry is the time until a finished ReportJob is to be deleted; 0 if that is now or never.
func (m *matter) expiry() time.Duration {
	ttl := m.ReportJob.Spec.TTLSecondsAfterFinished
	end := meta.FindStatusCondition(m.ReportJob.Status.Conditions, v1alpha1.ConditionFinished)
	if ttl == nil || end == nil {
		return 0
	}
	return max(0, end.LastTransitionTime.Add(time.Duration(*ttl)*time.Second).Sub(m.now))
}

// refuseLeaseKey waits for an operator that grants spec.leaseKey.
func refuseLeaseKey(m *matter) *draft {
	if m.execution != nil || !m.LeaseKeyDenied {
		return nil
	}
	d := m.draft()
	d.wait(v1alpha1.ReasonLeaseKeyNotAllowed, fmt.Sprintf("The operator's flag --shared-lease-keys does not allow spec.leaseKey %q"+
		" to namespace %s. Have it allowed, or leave leaseKey out in another ReportJob.",
		m.ReportJob.Spec.LeaseKey, m.ReportJob.Namespace),
		EventLeaseKeyNotAllowed, warning(v1alpha1.EventLeaseKeyNotAllowed))
	return d.after(until(m.waitEnd(), m.now))
}
