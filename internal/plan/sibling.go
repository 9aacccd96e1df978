package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Sibling is an execution of the same jobID, and so under the same lease, that is not this ReportJob's status.execution and
// whose end is not proven: its ReportJob is not finished, or a Job of it may start a pod, or a pod of it has not ended. Redis
// may have forgotten it; the API server has not.
type Sibling struct {
	// ReportJob is the name of its ReportJob, and UID the UID of that.
	ReportJob string
	UID       types.UID
	// Gone says that there is no ReportJob with this UID any more.
	Gone bool
	// Owner and Token are those of the execution.
	Owner, Token string
	// HasJob says that a Job of it was made.
	HasJob bool
	// Stopping says that its stop is recorded, or that its ReportJob or its pod is being deleted.
	Stopping bool
	// Pod and Node name a pod of it that lives, and where; empty while none is known.
	Pod, Node string
}

// isAfter orders two executions without Jobs: the one with the higher token goes first. Equal tokens, which only a Redis
// without its data hands out, are told apart by the UIDs.
func (s *Sibling) isAfter(token string, uid types.UID) bool {
	if s.Token != token {
		return higher(s.Token, token)
	}
	return s.UID > uid
}

// higher compares two tokens in decimal.
func higher(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

// holder is the sibling as it stands in status.holder.
func (s *Sibling) holder() string { return clipTo(s.Owner+"|"+s.Token, maxOwner) }

// text says which execution is waited for, why, and what to do if it does not come to an end.
func (s *Sibling) text(others int) string {
	text := fmt.Sprintf("ReportJob %s of the same jobID is under way with fencing token %s", s.ReportJob, s.Token)
	switch {
	case s.Gone:
		text = fmt.Sprintf("A Job or pod%s of ReportJob %s of the same jobID, which is gone, lives on with fencing token %s",
			s.where(), s.ReportJob, s.Token)
	case s.Stopping:
		text += ", and is being stopped"
	}
	if others > 0 {
		text += fmt.Sprintf(" (and %d more)", others)
	}
	text += ". Nothing starts before its end is proven."
	if s.Gone || s.Stopping {
		text += " If it does not end, see whether the node" + s.onNode() + " is up; if that is off for good, delete its Node" +
			" object, and the pod is removed."
	}
	return text
}

func (s *Sibling) where() string {
	if s.Pod == "" {
		return ""
	}
	return " (" + s.Pod + ")"
}

func (s *Sibling) onNode() string {
	if s.Node == "" {
		return " of its pod"
	}
	return " " + s.Node
}

// rival is a sibling to which an execution without a Job gives way: one that has a Job, or the newer one of two that have none.
// Two executions never give way to each other, and never wait for each other: the older one gives way, the newer one waits.
func (m *matter) rival() *Sibling {
	for i := range m.Siblings {
		if s := &m.Siblings[i]; s.HasJob || s.isAfter(m.execution.Token, m.ReportJob.UID) {
			return s
		}
	}
	return nil
}

// isUnused says that no Job of the execution was ever seen, and none is recorded.
func (m *matter) isUnused() bool {
	return m.execution != nil && m.completion == nil && !m.finished &&
		m.execution.JobUID == "" && m.Job == nil && len(m.Pods) == 0
}

// awaitsJob says that the execution is to have a Job and has none yet.
func (m *matter) awaitsJob() bool { return m.underWay() && m.isUnused() }

// waitForSibling asks for no lease, and creates no Job, while another execution of the jobID is not proven ended. Redis may have
// lost its lease; what the API server shows is not forgotten.
func waitForSibling(m *matter) *draft {
	if len(m.Siblings) == 0 || (m.execution != nil && !m.awaitsJob()) {
		return nil
	}
	d := m.draft()
	sibling := &m.Siblings[0]
	text := sibling.text(len(m.Siblings) - 1)
	if m.execution != nil {
		d.held(m.Lease)
		d.phase(v1alpha1.PhaseStarting, v1alpha1.ReasonSiblingAlive, text)
		return d.after(recheck)
	}
	if m.skips() {
		d.status.Holder = sibling.holder()
		return d.skip(v1alpha1.ReasonSiblingAlive, text)
	}
	d.waitFor(sibling, text)
	return d.after(min(until(m.waitEnd(), m.now), queuePoll(recheck, m.Ahead)))
}

// waitFor tells anew only when the sibling is another or its stop begins.
func (d *draft) waitFor(sibling *Sibling, text string) {
	told := d.status.Reason == v1alpha1.ReasonSiblingAlive && d.status.Holder == sibling.holder()
	if told && d.status.Message == clip(text) {
		return
	}
	d.status.Holder = sibling.holder()
	d.beginWait()
	if !told {
		d.note(EventWaiting, normal(v1alpha1.EventWaitingForLease), v1alpha1.ReasonSiblingAlive, text)
	}
	d.phase(v1alpha1.PhaseWaiting, v1alpha1.ReasonSiblingAlive, text)
}

// beginWait notes since when the report waits, once.
func (d *draft) beginWait() {
	if d.status.WaitingSince == nil {
		at := microTime(d.now)
		d.status.WaitingSince = &at
	}
}

// giveWay stops an execution that has no Job yet because a sibling goes first.
func giveWay(m *matter) *draft {
	if !m.awaitsJob() {
		return nil
	}
	rival := m.rival()
	if rival == nil {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	return m.draft().requestStop(v1alpha1.ReasonSiblingAlive, rival.text(len(m.Siblings)-1))
}

// giveBackUnused ends a stopped execution under which no Job was ever made. Nothing ran, so the report does not fail: it waits
// for another lease. The stop was recorded first, so that no other operator creates the Job meanwhile.
func giveBackUnused(m *matter) *draft {
	if m.stop == nil || !m.isUnused() || m.deleted || !comesBack(m.stop.Reason) {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	d := m.draft().do(ForgetLease{m.execution.Owner, m.execution.Token, m.execution.LeaseKey})
	if m.stop.Reason != v1alpha1.ReasonLeaseLost {
		d.do(ReleaseLease{m.execution.Owner, m.execution.Token, m.execution.LeaseKey, true})
	}
	d.do(m.releaseObject()...)
	message := clip(fmt.Sprintf("Nothing ran under fencing token %s, and the report asks for the lease again. %s",
		m.execution.Token, m.stop.Message))
	d.note(EventUnused, warning(v1alpha1.EventLeaseUnused), v1alpha1.ReasonLeaseUnused, message)
	d.clearExecution()
	d.condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionFalse, v1alpha1.ReasonLeaseUnused, message)
	d.beginWait()
	d.phase(v1alpha1.PhaseWaiting, v1alpha1.ReasonLeaseUnused, message)
	return d.after(shortestPoll)
}

// comesBack says that a stop is no end of the report if nothing ran.
func comesBack(reason string) bool {
	switch reason {
	case v1alpha1.ReasonSiblingAlive, v1alpha1.ReasonSuspended, v1alpha1.ReasonForceReleased:
		return true
	}
	return ownershipEnded(reason)
}
