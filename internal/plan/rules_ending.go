package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// letGo takes the finalizer off a deleted ReportJob that is finished or never started. It needs no answer of Redis.
func letGo(m *matter) *draft {
	neverStarted := m.execution == nil && len(m.strays()) == 0
	if !m.deleted || (!m.finished && !neverStarted) {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	return m.draft().do(m.forget()...).do(m.releaseObject()...)
}

// removeLateJob deletes what appears after the end: a Job that an operator created from an outdated view, or a second pod
// that the Job controller started. While such a pod lives the lease is not given back.
func removeLateJob(m *matter) *draft {
	if !m.finished && m.completion == nil {
		return nil
	}
	job, pods, strays := m.lateJob(), m.latePods(), m.lateStrays()
	if job == nil && len(pods)+len(strays) == 0 {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	d := m.draft().after(recheck)
	if !m.finished {
		d.phase(v1alpha1.PhaseCompleting, m.completion.Reason,
			"The report ended, but its Job may have another pod; that is deleted before the report finishes.")
	}
	if m.unrecordedJob() {
		return d
	}
	d.do(deleteJobs(strays)...)
	if job != nil {
		d.do(DeleteJob{Name: job.Name, UID: job.UID})
	}
	return d.do(deletePods(m, pods)...)
}

// lateStrays are the stray Jobs of a finished report; those of an unfinished one are left for later.
func (m *matter) lateStrays() []Job {
	if !m.finished {
		return nil
	}
	return m.strays()
}

// isRefusal says that a Job was not created.
func isRefusal(reason string) bool {
	return reason == v1alpha1.ReasonJobRefused || reason == v1alpha1.ReasonJobForbidden
}

// unrecordedJob says that the Job is there and its UID is not in the status of the unfinished report yet. It is written down
// before the Job is deleted, since it tells that there was one; see mayRelease.
func (m *matter) unrecordedJob() bool {
	return !m.finished && m.ownJob() != nil && m.execution.JobUID == ""
}

// lateJob is a Job of ours that may still start pods although the end of the report is recorded.
func (m *matter) lateJob() *Job {
	job := m.ownJob()
	if job == nil || job.Deleting || job.Ended != nil {
		return nil
	}
	refused := m.completion != nil && isRefusal(m.completion.Reason)
	if m.stop != nil || refused || job.Suspended || job.UID != m.execution.JobUID || len(m.latePods()) > 0 {
		return job
	}
	return nil
}

// latePods are living pods other than the one whose end is recorded.
func (m *matter) latePods() []Pod {
	var late []Pod
	if m.superseded() {
		return nil
	}
	for _, pod := range m.podsAlive() {
		if !pod.Terminal() && pod.UID != m.execution.PodUID {
			late = append(late, pod)
		}
	}
	return late
}

// stayFinished keeps a finished ReportJob as it is, to the last field. An engine that still renews its lease, because another
// operator finished it, is told to forget it; otherwise the lease would never run out.
func stayFinished(m *matter) *draft {
	if !m.finished {
		return nil
	}
	return m.draft().do(m.forget()...).do(m.releaseObject()...).after(m.expiry())
}

// releaseObject takes the finalizer off, if it is there: nothing of the report is left to wait for, and a deletion must not need
// an operator.
func (m *matter) releaseObject() []Action {
	if !hasFinalizer(m.ReportJob) {
		return nil
	}
	return []Action{RemoveFinalizer{}}
}

// forget is what an engine that tracks the lease of a finished execution is told.
func (m *matter) forget() []Action {
	if m.execution == nil || m.Lease.phase() == LeaseUntracked {
		return nil
	}
	return []Action{ForgetLease{m.execution.Owner, m.execution.Token, m.execution.LeaseKey}}
}

// confirmStop records that no pod of the token lives. A Job that could still start one is waited for.
func confirmStop(m *matter) *draft {
	if m.stop == nil || m.completion != nil || len(m.podsAlive()) > 0 {
		return nil
	}
	if job := m.ownJob(); job != nil && !job.Deleting {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	d := m.draft().after(recheck)
	at := microTime(m.now)
	d.status.Stop.ConfirmedAt = &at
	message := fmt.Sprintf("No pod with fencing token %s is left alive.", m.execution.Token)
	d.condition(v1alpha1.ConditionStopConfirmed, metav1.ConditionTrue, v1alpha1.ReasonPodsGone, message)
	d.note(EventStopConfirmed, normal(v1alpha1.EventStopConfirmed), m.stop.Reason, message)
	d.complete(v1alpha1.Completion{
		Outcome: stoppedOutcome(m.stop.Reason), Reason: m.stop.Reason, Message: m.stop.Message, ProcessEnded: m.processEnded(),
	})
	return d
}

// stoppedOutcome tells a report that the operator stopped from one that was gone before.
func stoppedOutcome(reason string) v1alpha1.Outcome {
	if reason == v1alpha1.ReasonPodVanished {
		return v1alpha1.OutcomeFailed
	}
	return v1alpha1.OutcomeStopped
}

// stop carries a recorded stop out: the Job first, so that no new pod is made, then its pods with their grace period. Until
// the end is confirmed the lease is renewed, so that nobody starts beside a report that still runs; a lease that is lost or
// uncertain is not.
func stop(m *matter) *draft {
	if m.stop == nil || m.completion != nil {
		return nil
	}
	d := m.draft().after(recheck)
	d.lossWhileStopping(m)
	if m.isOverdue() && len(m.podsAlive()) > 0 {
		d.overdue(m)
	} else {
		message := m.stoppingMessage()
		d.phase(v1alpha1.PhaseStopping, m.stop.Reason, m.stop.Message+" "+message)
		d.condition(v1alpha1.ConditionStopConfirmed, metav1.ConditionFalse, v1alpha1.ReasonPodsAlive, message)
	}
	return d.do(m.keepOrHalt()...).do(m.deleteAll()...)
}

// deleteAll deletes the Job first, so that no new pod is made, and then its pods with their grace period.
func (m *matter) deleteAll() []Action {
	var actions []Action
	if job := m.ownJob(); job != nil {
		actions = deleteJobs([]Job{*job})
	}
	return append(actions, deletePods(m, m.podsAlive())...)
}

// keepOrHalt is what a stop wants of the engine.
func (m *matter) keepOrHalt() []Action {
	phase := m.Lease.phase()
	if letsLapse(m.ReportJob) {
		if phase == LeaseUntracked || phase == LeaseHalted {
			return nil
		}
		return []Action{HaltRenewal{m.execution.Owner, m.execution.Token, m.execution.LeaseKey}}
	}
	if phase == LeaseUntracked {
		return []Action{AdoptLease{m.execution.Owner, m.execution.Token, m.execution.LeaseKey}}
	}
	return nil
}

// ownershipEnded says that a stop was ordered because the lease cannot be relied on any more.
func ownershipEnded(reason string) bool {
	return reason == v1alpha1.ReasonLeaseLost || reason == v1alpha1.ReasonOwnershipUncertain
}

// stoppingMessage says what the stop waits for, and what to do when it takes longer than it can.
func (m *matter) stoppingMessage() string {
	if len(m.podsAlive()) == 0 {
		return fmt.Sprintf("Deleting Job %s.", m.execution.Job)
	}
	return fmt.Sprintf("Waiting for the kubelet to report the end of pod %s, which has %s after SIGTERM.",
		m.namesAlive(), stopGracePeriod(&m.ReportJob.Spec))
}

// namesAlive names the pods whose end is not proven, and their nodes.
func (m *matter) namesAlive() string {
	alive := m.podsAlive()
	names := make([]string, len(alive))
	for i := range alive {
		names[i] = alive[i].Name
		if alive[i].Node != "" {
			names[i] += " on node " + alive[i].Node
		}
	}
	return strings.Join(names, ", ")
}

// finishReport ends a report whose outcome is recorded. The lease is given back if every process is proven gone, and runs
// out by itself otherwise; the engine forgets it first, since it must not be renewed any more.
func finishReport(m *matter) *draft {
	if m.completion == nil || m.finished {
		return nil
	}
	d := m.draft()
	d.next = m.verdict()
	d.do(ForgetLease{m.execution.Owner, m.execution.Token, m.execution.LeaseKey})
	if m.completion.Reason == v1alpha1.ReasonLeaseLost {
		return d.finish()
	}
	if !m.mayRelease() {
		d.lapse("The end of the report's processes is not proven, so the lease is not given back and runs out by itself.")
		return d.finish()
	}
	d.phase(v1alpha1.PhaseCompleting, m.completion.Reason, m.completion.Message)
	if !m.Live {
		return m.live()
	}
	// A stop and a deletion must come to an end without Redis.
	once := m.deleted || m.completion.Outcome == v1alpha1.OutcomeStopped
	return d.do(ReleaseLease{m.execution.Owner, m.execution.Token, m.execution.LeaseKey, once}).after(storeRetry)
}

// mayRelease says that every process of the execution is proven gone, or that a person vouches for it. A Job that was refused to
// one operator and made by another one had a pod whose end was not recorded.
func (m *matter) mayRelease() bool {
	if isRefusal(m.completion.Reason) && (m.execution.JobUID != "" || m.ownJob() != nil) {
		return false
	}
	return m.completion.ProcessEnded || (m.superseded() && m.vouched())
}

func deleteJobs(jobs []Job) []Action {
	var actions []Action
	for i := range jobs {
		if !jobs[i].Deleting {
			actions = append(actions, DeleteJob{Name: jobs[i].Name, UID: jobs[i].UID})
		}
	}
	return actions
}

func deletePods(m *matter, pods []Pod) []Action {
	if len(pods) == 0 {
		return nil
	}
	refs := make([]PodRef, len(pods))
	for i := range pods {
		refs[i] = PodRef{Name: pods[i].Name, UID: pods[i].UID}
	}
	return []Action{DeletePods{Pods: refs, Grace: stopGracePeriod(&m.ReportJob.Spec)}}
}

func hasFinalizer(reportJob *v1alpha1.ReportJob) bool {
	return slices.Contains(reportJob.Finalizers, v1alpha1.Finalizer)
}
