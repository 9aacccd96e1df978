package plan

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// leaseLost stops a report whose lease Redis says is gone. The loss is final, whatever the report or Redis say later.
func leaseLost(m *matter) *draft {
	if !m.underWay() || m.Lease.phase() != LeaseLost {
		return nil
	}
	d := m.draft()
	return d.requestStop(v1alpha1.ReasonLeaseLost, d.lost(m))
}

// lost says that the lease is lost, and returns how.
func (d *draft) lost(m *matter) string {
	message := fmt.Sprintf("The lease %s with fencing token %s is lost: %s", m.execution.LeaseKey, m.execution.Token,
		detail(m.Lease, "Redis says that it is gone or another's."))
	d.condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionFalse, v1alpha1.ReasonLeaseLost, message)
	d.note(EventLost, warning(v1alpha1.EventLeaseLost), v1alpha1.ReasonLeaseLost, message)
	return message
}

// ownershipUncertain stops a report whose lease was not confirmed in time. A lease that is renewed no more although nothing
// is recorded is the same: no confirmation will come.
func ownershipUncertain(m *matter) *draft {
	phase := m.Lease.phase()
	if !m.underWay() || (phase != LeaseUncertain && phase != LeaseHalted) {
		return nil
	}
	d := m.draft()
	d.store(v1alpha1.ReasonUnreachable, m.Lease.StoreError)
	return d.requestStop(v1alpha1.ReasonOwnershipUncertain, d.uncertain(m))
}

// uncertain says that nobody knows whether the lease is still held, and returns why.
func (d *draft) uncertain(m *matter) string {
	message := fmt.Sprintf("Whether lease %s with fencing token %s is still held is unknown: %s", m.execution.LeaseKey,
		m.execution.Token, detail(m.Lease, "no renewal was confirmed in time."))
	d.condition(v1alpha1.ConditionOwnershipUncertain, metav1.ConditionTrue, v1alpha1.ReasonOwnershipUncertain, message)
	d.condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionUnknown, v1alpha1.ReasonOwnershipUncertain, message)
	d.note(EventUncertain, warning(v1alpha1.EventOwnershipUncertain), v1alpha1.ReasonOwnershipUncertain, message)
	return message
}

// lossWhileStopping tells of a lease that goes while its report is being stopped for something else, once.
func (d *draft) lossWhileStopping(m *matter) {
	told := !meta.IsStatusConditionTrue(d.status.Conditions, v1alpha1.ConditionLeaseHeld)
	if told || ownershipEnded(m.stop.Reason) {
		return
	}
	switch m.Lease.phase() {
	case LeaseLost:
		d.lost(m)
	case LeaseUncertain:
		d.uncertain(m)
	default:
	}
}

// detail is what the engine says, as the end of a sentence.
func detail(lease LeaseView, otherwise string) string {
	if lease.Detail == "" {
		return otherwise
	}
	return sentence(lease.Detail)
}

// deleted stops the report of a ReportJob that is being deleted.
func deleted(m *matter) *draft {
	if !m.underWay() || !m.deleted {
		return nil
	}
	return m.draft().requestStop(v1alpha1.ReasonDeleted,
		"The ReportJob is being deleted; it goes when its report is proven stopped.")
}

// maxRuntimeExceeded stops a report that had its time.
func maxRuntimeExceeded(m *matter) *draft {
	if !m.underWay() || m.now.Before(m.runtimeEnd()) {
		return nil
	}
	message := fmt.Sprintf("The report did not end within maxRuntime, %s after its lease was granted.",
		maxRuntime(&m.ReportJob.Spec))
	if m.execution.StartedAt == nil {
		message += " Its pod never ran"
		if pod := m.pod(); pod != nil && pod.Waiting != "" {
			message += " (" + pod.Waiting + ")"
		}
		message += ": look at the events of Job " + m.execution.Job + " and of its pod."
	}
	return m.draft().requestStop(v1alpha1.ReasonMaxRuntimeExceeded, message)
}

// jobDisturbed stops a report whose Job is no longer what was created: it cannot be relied on for one pod and no second.
func jobDisturbed(m *matter) *draft {
	if !m.underWay() {
		return nil
	}
	disturbance := m.disturbance()
	if disturbance == "" {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	return m.draft().requestStop(v1alpha1.ReasonJobDisturbed, disturbance)
}

// disturbance says what is wrong with Job and pods; empty if nothing is.
func (m *matter) disturbance() string {
	if text := m.secondPod(); text != "" {
		return text
	}
	if m.Job == nil {
		return m.missingJob()
	}
	name := m.execution.Job
	switch {
	case !m.Job.Ours:
		return fmt.Sprintf("The name of Job %s is taken by a Job that is not of this execution; it is left alone.", name)
	case m.execution.JobUID != "" && m.Job.UID != m.execution.JobUID:
		return fmt.Sprintf("Job %s was replaced by another one of that name.", name)
	case m.Job.Deleting:
		return fmt.Sprintf("Job %s is being deleted, and not by the operator.", name)
	case m.Job.Suspended:
		return fmt.Sprintf("Job %s was suspended, and not by the operator.", name)
	}
	return ""
}

// missingJob says that the Job was there and is gone; empty if it is still to be created.
func (m *matter) missingJob() string {
	switch name := m.execution.Job; {
	case m.execution.JobUID != "":
		return fmt.Sprintf("Job %s is gone, and not by the operator.", name)
	case len(m.Pods) > 0:
		return fmt.Sprintf("Pod %s lives and its Job %s is gone, and not by the operator.", m.Pods[0].Name, name)
	}
	return ""
}

// secondPod says which pod is one too many; empty if none is.
func (m *matter) secondPod() string {
	first := m.execution.PodUID
	for i := range m.Pods {
		if first == "" {
			first = m.Pods[i].UID
		}
		if m.Pods[i].UID != first {
			return fmt.Sprintf("Pod %s is a second pod of Job %s; one fencing token must have one pod.",
				m.Pods[i].Name, m.execution.Job)
		}
	}
	return ""
}

// recordOutcome records the end of a report that ended by itself. It comes before the milder reasons to stop, so that the
// order in which the end and the deadline are seen does not matter. A success counts only while the lease is known to be
// held; until Redis has confirmed that to a restarted operator it waits.
func recordOutcome(m *matter) *draft {
	if !m.underWay() || m.secondPod() != "" {
		return nil
	}
	pod := m.pod()
	if pod == nil {
		return m.recordVanished()
	}
	if !pod.Terminal() {
		return nil
	}
	completion := outcomeOf(pod)
	if completion.Outcome == v1alpha1.OutcomeSucceeded && m.Lease.phase() != LeaseHeld {
		return nil
	}
	d := m.draft()
	d.held(m.Lease)
	return d.complete(completion)
}

// recordVanished deals with a pod that is not there any more and whose end nobody saw. While its Job could start another
// one, the Job is stopped first.
func (m *matter) recordVanished() *draft {
	job := m.ownJob()
	ended := job != nil && job.Ended != nil
	if m.execution.PodUID == "" && !ended {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	message := m.vanishedMessage()
	if job != nil && !ended && !job.Deleting {
		return m.draft().requestStop(v1alpha1.ReasonPodVanished, message)
	}
	return m.draft().complete(v1alpha1.Completion{
		Outcome: v1alpha1.OutcomeFailed, Reason: m.vanishedReason(), Message: message,
	})
}

// deadlineExceeded is the reason of a Job or pod that its activeDeadlineSeconds ended.
const deadlineExceeded = "DeadlineExceeded"

// What the kubelet calls the end of a container that used too much memory, and of a pod that it evicted.
const (
	oomKilled = "OOMKilled"
	evicted   = "Evicted"
)

func (m *matter) vanishedReason() string {
	if job := m.ownJob(); job != nil && job.Ended != nil && job.Ended.Reason == deadlineExceeded {
		return v1alpha1.ReasonMaxRuntimeExceeded
	}
	return v1alpha1.ReasonPodVanished
}

func (m *matter) vanishedMessage() string {
	message := "The report's pod"
	if m.execution.Pod != "" {
		message += " " + m.execution.Pod
	}
	message += " is gone and nobody saw how it ended, so it does not count as a success."
	if job := m.ownJob(); job != nil && job.Ended != nil {
		message += fmt.Sprintf(" Its Job says %s", sentence(jobVerdict(job.Ended)))
	}
	return message + " Check at the destination what it did before it runs again."
}

func jobVerdict(end *JobEnd) string {
	verdict := "Failed"
	if end.Complete {
		verdict = "Complete"
	}
	if end.Reason != "" {
		verdict += " (" + end.Reason + ")"
	}
	if end.Message != "" {
		verdict += ": " + end.Message
	}
	return verdict
}

// outcomeOf reads the outcome off a pod of phase Succeeded or Failed.
func outcomeOf(pod *Pod) v1alpha1.Completion {
	completion := v1alpha1.Completion{
		Outcome: v1alpha1.OutcomeFailed, Reason: v1alpha1.ReasonPodFailed,
		ExitCode: pod.ExitCode, ProcessEnded: pod.ProvenDead(), Message: failure(pod),
	}
	exitedZero := pod.ExitCode != nil && *pod.ExitCode == 0 && pod.ProvenDead()
	switch {
	case exitedZero && pod.isDisrupted():
		completion.Reason, completion.Message = v1alpha1.ReasonJobDisturbed, obeyed(pod)
	case exitedZero && pod.Phase == PodSucceeded:
		completion.Outcome, completion.Reason = v1alpha1.OutcomeSucceeded, v1alpha1.ReasonPodSucceeded
		completion.Message = fmt.Sprintf("Pod %s exited 0 under its lease.", pod.Name)
	default:
		completion.Reason = failureReason(pod)
	}
	return completion
}

// failureReason is the kubelet's reason where it has one, never a guess from an exit code.
func failureReason(pod *Pod) string {
	switch {
	case pod.Reason == deadlineExceeded:
		return v1alpha1.ReasonMaxRuntimeExceeded
	case pod.ContainerReason == oomKilled:
		return v1alpha1.ReasonOOMKilled
	case pod.isDisrupted() || pod.Reason == evicted:
		return v1alpha1.ReasonPodDisrupted
	}
	return v1alpha1.ReasonPodFailed
}

// obeyed says that exit code 0 is no success of a pod that somebody deleted or evicted: it may only mean that the report did
// as SIGTERM told it.
func obeyed(pod *Pod) string {
	return fmt.Sprintf("Pod %s was told to end, and not by the operator, and exited 0: whether the report was complete by then is"+
		" unknown, so it does not count as a success. Check at the destination what it did before it runs again.", pod.Name)
}

// failure says in a sentence how a pod failed.
func failure(pod *Pod) string {
	ended := []string{fmt.Sprintf("Pod %s ended", pod.Name)}
	if pod.ExitCode != nil {
		ended[0] += fmt.Sprintf(" with exit code %d", *pod.ExitCode)
	}
	for _, reason := range []string{pod.ContainerReason, pod.Reason, pod.Disruption} {
		if reason != "" {
			ended = append(ended, reason)
		}
	}
	message := strings.Join(ended, ", ") + "."
	if pod.Message != "" {
		message += " " + sentence(pod.Message)
	}
	if !pod.ProvenDead() {
		message += " The kubelet did not report the end of its containers."
	}
	return fmt.Sprintf("%s Its output: kubectl logs %s.", message, pod.Name)
}

// remainingRuntime is the time until maxRuntime is over.
func (m *matter) remainingRuntime() time.Duration { return until(m.runtimeEnd(), m.now) }
