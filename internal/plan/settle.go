package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Settle completes a decision by what became of its actions: results[i] belongs to Actions[i], and is missing for an action
// that was not tried. It changes neither argument.
func Settle(decision Decision, results []Result) Settled {
	d := &draft{
		status: *decision.Status.DeepCopy(), transitions: append([]Transition(nil), decision.Transitions...),
		requeueAfter: decision.RequeueAfter, now: decision.At, lease: decision.Lease, next: decision.Next, trigger: decision.Trigger,
	}
	for i, result := range results {
		if i < len(decision.Actions) {
			d.settle(decision.Actions[i], result)
		}
	}
	d.status.Transitions = Record(d.status.Transitions, d.transitions)
	return Settled{Status: d.status, Transitions: d.transitions, RequeueAfter: d.requeueAfter}
}

func (d *draft) settle(action Action, result Result) {
	if failed, ok := result.(Failed); ok {
		d.failed(failed)
		return
	}
	switch a := action.(type) {
	case AcquireLease:
		d.settleAcquire(a, result)
	case CreateJob:
		d.settleCreate(result)
	case ReleaseLease:
		if d.status.Execution != nil { // of an execution that was not used nothing is left to tell
			d.settleRelease(result, a.Once)
		}
	}
}

// failed says what is tried again. A finished ReportJob is not changed for it.
func (d *draft) failed(failed Failed) {
	switch d.status.Phase {
	case v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseSkipped:
	default:
		d.status.Message = clip(failed.Message)
	}
	d.requeueAfter = storeRetry
}

func (d *draft) settleAcquire(action AcquireLease, result Result) {
	switch r := result.(type) {
	case LeaseGranted:
		d.granted(r)
	case LeaseHeldByOther:
		d.store("", "")
		d.heldByOther(action, r)
	case LeaseQuarantined:
		d.store("", "")
		d.quarantined(r)
	case AcquireUnknown:
		message := fmt.Sprintf("Redis at %s gave no usable answer to the request for the lease: %s A grant nobody knows of"+
			" runs out within one leaseDuration; trying again.", r.Address, sentence(r.Message))
		d.store(v1alpha1.ReasonUnreachable, message)
		d.wait(v1alpha1.ReasonAcquireUnknown, message, EventAcquireUnknown, Notice{})
		d.sooner(storeRetry)
	case StoreUnreachable:
		message := r.text("the request for the lease") +
			" Nothing starts without a lease; the report proceeds by itself when Redis grants it."
		d.store(r.reason(), message)
		d.wait(r.reason(), message, "", Notice{})
		d.sooner(storeRetry)
	}
}

// quarantined waits until every lease that Redis may have forgotten is over.
func (d *draft) quarantined(r LeaseQuarantined) {
	message := fmt.Sprintf("Nobody is known to hold the lease, and nothing is granted until %s at the latest: %s"+
		" A report that still runs under a forgotten lease is stopped by then.",
		d.now.Add(r.Left).UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339), sentence(r.Why))
	d.wait(v1alpha1.ReasonQuarantined, message, EventQuarantined, normal(v1alpha1.EventWaitingForLease))
	d.sooner(r.poll())
}

// granted writes the execution down, before there is anything to run under it.
func (d *draft) granted(r LeaseGranted) {
	d.status.Execution = &v1alpha1.Execution{
		ID: r.Owner, Attempt: d.status.LastAttempt + 1, Owner: r.Owner, Token: r.Token, LeaseKey: r.LeaseKey, Job: r.Job,
		AcquiredAt: microTime(d.now), Trigger: d.trigger.DeepCopy(),
	}
	if last := d.lastAttempt(); last != nil {
		d.status.Execution.RetryOf = last.ExecutionID
	}
	d.status.RetryAt = nil
	d.status.LastToken, d.status.Holder = r.Token, r.Job
	d.lease = LeaseView{Phase: LeaseHeld}
	d.store("", "")
	message := fmt.Sprintf("The lease %s is granted with fencing token %s. %s", r.LeaseKey, r.Token, d.cause())
	d.phase(v1alpha1.PhaseStarting, v1alpha1.ReasonLeaseAcquired, message)
	d.condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionTrue, v1alpha1.ReasonLeaseAcquired, message)
	d.note(EventAcquired, normal(v1alpha1.EventLeaseAcquired), v1alpha1.ReasonLeaseAcquired, message)
	d.guardOff()
	d.requeueAfter = recheck
}

// guardOff says what it means that nothing in the pod guards the lease.
func (d *draft) guardOff() {
	message := "guard is Off: the operator alone stops the report when its lease is gone. While the operator or the node's" +
		" kubelet cannot act, the report can outlive its lease and overlap with its successor."
	d.condition(v1alpha1.ConditionGuarded, metav1.ConditionFalse, v1alpha1.ReasonGuardOff, message)
	d.note(EventGuardOff, warning(v1alpha1.EventGuardOff), v1alpha1.ReasonGuardOff, message)
}

func (d *draft) heldByOther(action AcquireLease, r LeaseHeldByOther) {
	r.Owner = clipTo(strings.ToValidUTF8(r.Owner, "?"), maxOwner)
	holder := strings.TrimSuffix(r.Owner+"|"+r.Token, "|")
	message := fmt.Sprintf("%s holds the lease%s.", r.holder(), r.end())
	if action.Skip {
		d.status.Holder = holder
		d.skip(v1alpha1.ReasonLeaseHeldByOther, message)
		return
	}
	if last := d.lastAttempt(); last != nil && last.ExecutionID == r.Owner {
		message = fmt.Sprintf("The lease of attempt %d, whose end is not proven, has to run out by itself.", last.Number)
	}
	message += " The report starts when the lease is free; delete the ReportJob to stop waiting."
	if holder != d.status.Holder || d.status.Reason != v1alpha1.ReasonLeaseHeldByOther {
		d.status.Holder = holder
		d.wait(v1alpha1.ReasonLeaseHeldByOther, message, EventWaiting, normal(v1alpha1.EventWaitingForLease))
	}
	d.sooner(queuePoll(r.poll(), action.Ahead))
}

// lastAttempt is the attempt before; nil if there was none.
func (d *draft) lastAttempt() *v1alpha1.Attempt {
	if len(d.status.Attempts) == 0 {
		return nil
	}
	return &d.status.Attempts[len(d.status.Attempts)-1]
}

// cause says what started the execution.
func (d *draft) cause() string {
	text := "What triggered it is not said."
	if d.trigger != nil {
		text = fmt.Sprintf("It was triggered by %s.", d.trigger.Text())
	}
	if execution := d.status.Execution; execution.RetryOf != "" {
		text = fmt.Sprintf("It is attempt %d, after execution %s ended with %s. %s",
			execution.Attempt, execution.RetryOf, d.lastAttempt().Reason, text)
	}
	return text
}

// wait says what a report waits for. It is told anew only when the reason changes or the holder does, so that waiting costs
// the API server nothing.
func (d *draft) wait(reason, message, event string, notice Notice) {
	d.beginWait()
	if event != "" && (d.status.Reason != reason || reason == v1alpha1.ReasonLeaseHeldByOther) {
		d.note(event, notice, reason, message)
	}
	if d.status.Reason != reason || reason == v1alpha1.ReasonLeaseHeldByOther {
		d.phase(v1alpha1.PhaseWaiting, reason, message)
	}
}

// sooner looks again after wait, or when the decision wanted to if that is earlier.
func (d *draft) sooner(wait time.Duration) {
	if d.requeueAfter == 0 || wait < d.requeueAfter {
		d.requeueAfter = wait
	}
}

func (d *draft) settleCreate(result Result) {
	switch r := result.(type) {
	case JobCreated:
		execution := d.status.Execution
		execution.JobUID = r.UID
		d.status.Holder = execution.Job
		message := fmt.Sprintf("Job %s is created; its pod does not run yet.", execution.Job)
		d.phase(v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated, message)
		d.note(EventJobCreated, normal(v1alpha1.EventJobCreated), v1alpha1.ReasonJobCreated, message)
	case JobRefused:
		reason, advice := v1alpha1.ReasonJobRefused, "mend spec.jobTemplate and apply the report under another name"
		if r.MayPass {
			reason, advice = v1alpha1.ReasonJobForbidden, "that may change, and it is tried again as spec.retry says"
		}
		message := fmt.Sprintf("Job %s is refused: %s Nothing ran; %s.", d.status.Execution.Job, sentence(r.Message), advice)
		d.note(EventJobRefused, Notice{}, reason, message)
		d.complete(v1alpha1.Completion{
			Outcome: v1alpha1.OutcomeFailed, Reason: reason, Message: message, ProcessEnded: true,
		})
	}
}

// settleRelease finishes the report, unless Redis gave no answer and the attempt is to be repeated: then it stays Completing.
func (d *draft) settleRelease(result Result, once bool) {
	switch r := result.(type) {
	case LeaseReleased:
		d.store("", "")
		message := fmt.Sprintf("The lease with fencing token %s is given back.", d.status.Execution.Token)
		d.condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionFalse, v1alpha1.ReasonLeaseReleased, message)
		d.note(EventReleased, normal(v1alpha1.EventLeaseReleased), v1alpha1.ReasonLeaseReleased, message)
		d.finish()
	case LeaseGone:
		d.store("", "")
		d.lapse("The lease was free already when it was to be given back.")
		d.finish()
	case LeaseOfOther:
		d.store("", "")
		d.lapse(fmt.Sprintf("The lease was taken over by execution %s with fencing token %s before it was given back.",
			r.Owner, r.Token))
		d.finish()
	case ReleaseUnknown:
		d.unreleased(v1alpha1.ReasonUnreachable, fmt.Sprintf("Redis at %s gave no usable answer to the release of the lease: %s",
			r.Address, sentence(r.Message)), once)
	case StoreUnreachable:
		d.unreleased(r.reason(), r.text("the release of the lease"), once)
	}
}

// unreleased lets a lease lapse whose release is tried once, and keeps any other report waiting for Redis.
func (d *draft) unreleased(reason, message string, once bool) {
	d.store(reason, message)
	if once {
		d.lapse(message + " The release is repeated for a while; otherwise the lease runs out by itself.")
		d.finish()
		return
	}
	if d.status.Reason != reason {
		d.phase(v1alpha1.PhaseCompleting, reason, message+" Trying again.")
	}
	d.requeueAfter = storeRetry
}
