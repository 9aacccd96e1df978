package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// requestStop records the order to stop. Nothing is deleted in the same reconcile: the order must be written first.
func (d *draft) requestStop(reason, message string) *draft {
	d.status.Stop = &v1alpha1.Stop{Reason: reason, Message: clip(message), RequestedAt: microTime(d.now)}
	d.phase(v1alpha1.PhaseStopping, reason, message)
	d.condition(v1alpha1.ConditionStopRequested, metav1.ConditionTrue, reason, message)
	d.condition(v1alpha1.ConditionStopConfirmed, metav1.ConditionFalse, v1alpha1.ReasonPodsAlive,
		"The report is about to be stopped.")
	d.note(EventStopRequested, warning(v1alpha1.EventStopRequested), reason, message)
	return d.after(recheck)
}

// complete records how the report ended. The lease is dealt with after this is written.
func (d *draft) complete(completion v1alpha1.Completion) *draft {
	completion.At = microTime(d.now)
	completion.Token = d.status.Execution.Token
	completion.Message = clip(completion.Message)
	d.status.Completion = &completion
	d.phase(v1alpha1.PhaseCompleting, completion.Reason, completion.Message)
	switch completion.Outcome {
	case v1alpha1.OutcomeSucceeded:
		d.note(EventSucceeded, normal(v1alpha1.EventReportSucceeded), completion.Reason, completion.Message)
	case v1alpha1.OutcomeFailed:
		d.note(EventFailed, warning(v1alpha1.EventReportFailed), completion.Reason, completion.Message)
	case v1alpha1.OutcomeStopped: // job_stop_confirmed has said it
	}
	return d.after(recheck)
}

// lapse records that the lease is left to run out by itself.
func (d *draft) lapse(message string) {
	d.condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionFalse, v1alpha1.ReasonLeaseLapses, message)
	d.note(EventLapses, warning(v1alpha1.EventLeaseLapses), v1alpha1.ReasonLeaseLapses, message)
}

// finish ends the ReportJob as its completion says.
func (d *draft) finish() *draft {
	if d.next.Again {
		return d.tryAgain()
	}
	completion := d.status.Completion
	phase := v1alpha1.PhaseFailed
	if completion.Outcome == v1alpha1.OutcomeSucceeded {
		phase = v1alpha1.PhaseSucceeded
	}
	message := completion.Message
	if d.next.Exhausted {
		message = fmt.Sprintf("All %d attempts failed. Last: %s", d.status.FailedAttempts+1, message)
	}
	return d.end(phase, completion.Reason, message)
}

// end makes the ReportJob final.
func (d *draft) end(phase v1alpha1.Phase, reason, message string) *draft {
	d.phase(phase, reason, message)
	d.condition(v1alpha1.ConditionFinished, metav1.ConditionTrue, reason, message)
	d.note(EventFinished, Notice{}, reason, message)
	return d.after(0)
}
