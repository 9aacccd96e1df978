package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// vouched says that a person vouches for the end of the execution, by its token.
func (m *matter) vouched() bool {
	return m.execution != nil && m.ReportJob.Annotations[v1alpha1.AnnotationForceRelease] == m.execution.Token
}

// forceReleased stops an execution for whose end a person vouches.
func forceReleased(m *matter) *draft {
	if !m.underWay() || !m.vouched() {
		return nil
	}
	return m.draft().requestStop(v1alpha1.ReasonForceReleased, fmt.Sprintf(
		"The annotation %s names fencing token %s: a person vouches that its process has ended.",
		v1alpha1.AnnotationForceRelease, m.execution.Token))
}

// forceReleaseIgnored tells, once, of an annotation that names a token which this ReportJob does not hold. One that was obeyed is
// left alone.
func (d *draft) forceReleaseIgnored(m *matter) {
	value := m.ReportJob.Annotations[v1alpha1.AnnotationForceRelease]
	obeyed := func(a v1alpha1.Attempt) bool { return a.Token == value }
	if value == "" || m.vouched() || slices.ContainsFunc(d.status.Attempts, obeyed) {
		return
	}
	held := "the report has no execution"
	if m.execution != nil {
		held = "the execution's is " + m.execution.Token
	}
	message := fmt.Sprintf("The annotation %s names fencing token %q, and %s: it changes nothing.",
		v1alpha1.AnnotationForceRelease, clipTo(value, maxOwner), held)
	told := func(t v1alpha1.Transition) bool { return t.Event == EventForceReleaseIgnored && t.Message == message }
	if !slices.ContainsFunc(d.status.Transitions, told) {
		d.note(EventForceReleaseIgnored, warning(v1alpha1.EventForceReleaseIgnored), v1alpha1.ReasonForceReleased, message)
	}
}

// nodeLost stops a report whose pod is deleted because its node does not answer. The kubelet there may never hear of it.
func nodeLost(m *matter) *draft {
	pod := m.pod()
	if !m.underWay() || pod == nil || pod.ProvenDead() || !pod.Deleting || pod.Disruption != DisruptedByTaint {
		return nil
	}
	return m.draft().requestStop(v1alpha1.ReasonNodeLost, fmt.Sprintf(
		"Node %s of pod %s does not answer, or was tainted NoExecute, and the pod is being deleted.", pod.Node, pod.Name))
}

// isOverdue says that the kubelet has not reported an end that should have come by now.
func (m *matter) isOverdue() bool {
	return m.now.After(m.stop.RequestedAt.Add(2*stopGracePeriod(&m.ReportJob.Spec) + recheck))
}

// supersede gives up waiting for the proof that a stopped execution has ended: because lostNode says so and the proof is overdue,
// or because a person vouches for it. The lease runs out by itself in the one case and is given back in the other; either way the
// next grant has a higher token, and what the old process still writes is for the destination to refuse.
func supersede(m *matter) *draft {
	if m.stop == nil || m.completion != nil || len(m.podsAlive()) == 0 {
		return nil
	}
	if !m.takesOver() && !m.vouched() {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	d := m.draft().after(recheck).do(m.deleteAll()...)
	why := "lostNode is FenceAndTakeOver"
	if m.vouched() {
		why = "a person vouches for it"
	}
	at := microTime(m.now)
	d.status.Stop.SupersededAt = &at
	message := fmt.Sprintf("The end of pod %s is not proven; %s, so fencing token %s is superseded. A process under it may still"+
		" live where nobody sees it: its destination must refuse that token.", m.namesAlive(), why, m.execution.Token)
	d.condition(v1alpha1.ConditionStopConfirmed, metav1.ConditionUnknown, v1alpha1.ReasonTokenSuperseded, message)
	d.note(EventSuperseded, warning(v1alpha1.EventTokenSuperseded), m.stop.Reason, message)
	return d.complete(v1alpha1.Completion{
		Outcome: v1alpha1.OutcomeStopped, Reason: m.stop.Reason, Message: m.stop.Message,
	})
}

// takesOver says that the proof is overdue and spec.lostNode does not want to wait for it.
func (m *matter) takesOver() bool {
	return m.ReportJob.Spec.LostNode == v1alpha1.LostNodeFenceAndTakeOver && m.isOverdue()
}

// superseded says that nobody waits any more for the end of the pods that live.
func (m *matter) superseded() bool { return m.stop != nil && m.stop.SupersededAt != nil }

// isSuperseded says that a ReportJob has recorded a token as superseded.
func isSuperseded(reportJob *v1alpha1.ReportJob, token string) bool {
	status := &reportJob.Status
	if status.Execution != nil && status.Execution.Token == token && status.Completion != nil &&
		status.Stop != nil && status.Stop.SupersededAt != nil {
		return true
	}
	return slices.ContainsFunc(status.Attempts, func(a v1alpha1.Attempt) bool { return a.Token == token && a.Superseded })
}

// overdue tells, once, that a stop is not confirmed although it should be, and what a person can do.
func (d *draft) overdue(m *matter) {
	message := fmt.Sprintf("Whether pod %s has ended is unknown, and that is overdue. See whether the node is up. If it is off for"+
		" good, delete its Node object, or vouch for it: kubectl annotate reportjob %s %s=%s.", m.namesAlive(), m.ReportJob.Name,
		v1alpha1.AnnotationForceRelease, m.execution.Token)
	if !hasReason(d.status.Conditions, v1alpha1.ConditionStopConfirmed, v1alpha1.ReasonStopUnconfirmed) {
		d.note(EventStopUnconfirmed, warning(v1alpha1.EventStopUnconfirmed), m.stop.Reason, message)
	}
	d.phase(v1alpha1.PhaseStopping, m.stop.Reason, m.stop.Message+" "+message)
	d.condition(v1alpha1.ConditionStopConfirmed, metav1.ConditionUnknown, v1alpha1.ReasonStopUnconfirmed, message)
}
