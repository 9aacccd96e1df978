package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// adoptLease makes this process renew the lease of an execution that another one acquired. Redis must confirm it.
func adoptLease(m *matter) *draft {
	if !m.underWay() || m.Lease.phase() != LeaseUntracked {
		return nil
	}
	d := m.draft()
	message := "The operator was restarted and has asked Redis to confirm the lease."
	if !meta.IsStatusConditionPresentAndEqual(d.status.Conditions, v1alpha1.ConditionLeaseHeld, metav1.ConditionUnknown) {
		d.note(EventAdopting, Notice{}, v1alpha1.ReasonAdopting, message)
	}
	d.condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionUnknown, v1alpha1.ReasonAdopting, message)
	return d.do(AdoptLease{m.execution.Owner, m.execution.Token, m.execution.LeaseKey}).after(recheck)
}

// removeStrayJob deletes Jobs of ours that carry another token. Nothing starts before they are gone; what has started is watched
// meanwhile.
func removeStrayJob(m *matter) *draft {
	strays := m.strays()
	if len(strays) == 0 {
		return nil
	}
	wanted := deleteJobs(strays)
	started := m.underWay() && !m.awaitsJob()
	if started && len(wanted) == 0 {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	if started { // what runs already is watched all the same
		d := watch(m).do(wanted...)
		d.sooner(recheck)
		return d
	}
	d := m.draft().after(recheck)
	phase := v1alpha1.PhaseWaiting
	if m.execution != nil {
		phase = v1alpha1.PhaseStarting
	}
	d.phase(phase, v1alpha1.ReasonJobDisturbed,
		fmt.Sprintf("Job %s belongs to this ReportJob and to no execution of it. It is deleted before anything starts.",
			strays[0].Name))
	return d.do(wanted...)
}

// createJob creates the Job of an execution that an earlier reconcile wrote down, while its lease is known to be held. The
// live observation says that no one ended the execution meanwhile and that no pod of the token is there.
func createJob(m *matter) *draft {
	if !m.underWay() || m.Job != nil || m.execution.JobUID != "" || m.Lease.phase() != LeaseHeld {
		return nil
	}
	if !m.Live {
		return m.live()
	}
	d := m.draft()
	d.held(m.Lease)
	d.phase(v1alpha1.PhaseStarting, v1alpha1.ReasonLeaseAcquired, fmt.Sprintf("Creating Job %s.", m.execution.Job))
	if !hasFinalizer(m.ReportJob) {
		d.do(AddFinalizer{})
	}
	return d.do(CreateJob{Name: m.execution.Job}).after(recheck)
}

// watch follows an execution that starts or runs.
func watch(m *matter) *draft {
	if !m.underWay() {
		return nil
	}
	d := m.draft()
	d.store(v1alpha1.ReasonUnreachable, m.Lease.StoreError)
	d.held(m.Lease)
	d.after(m.remainingRuntime())
	if m.Lease.StoreError != "" {
		d.sooner(storeRetry) // nothing else calls when Redis answers again
	}
	pod := m.pod()
	switch {
	case pod == nil && m.Job == nil:
		d.phase(v1alpha1.PhaseStarting, v1alpha1.ReasonAdopting, "The Job is created when Redis has confirmed the lease.")
	case pod == nil:
		d.phase(v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated, fmt.Sprintf(
			"Waiting for the pod of Job %s; if none comes, kubectl describe job %[1]s says why.", m.Job.Name))
	case pod.Terminal():
		d.phase(v1alpha1.PhaseCompleting, v1alpha1.ReasonAdopting, fmt.Sprintf(
			"Pod %s exited 0; that counts when Redis has confirmed that the lease was held.", pod.Name))
	case !pod.Started:
		d.phase(v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated, notYet(pod))
	default:
		d.running(m, pod)
	}
	return d
}

// notYet says that a pod does not run, and why.
func notYet(pod *Pod) string {
	if pod.Waiting == "" {
		return fmt.Sprintf("Pod %s does not run yet; kubectl describe pod %[1]s says why.", pod.Name)
	}
	return fmt.Sprintf("Pod %s does not run yet: %s; kubectl describe pod %[1]s says more.", pod.Name, pod.Waiting)
}

// running says that the pod runs, once as a transition.
func (d *draft) running(m *matter, pod *Pod) {
	message := fmt.Sprintf("Pod %s runs under fencing token %s.", pod.Name, m.execution.Token)
	if m.execution.StartedAt == nil {
		d.note(EventRunning, normal(v1alpha1.EventReportRunning), v1alpha1.ReasonPodRunning, message)
	}
	if pod.Deleting {
		message += " It is being deleted, and not by the operator."
	}
	d.phase(v1alpha1.PhaseRunning, v1alpha1.ReasonPodRunning, message)
}

// held keeps the condition LeaseHeld, and tells of a confirmed adoption.
func (d *draft) held(lease LeaseView) {
	if lease.phase() != LeaseHeld ||
		meta.IsStatusConditionTrue(d.status.Conditions, v1alpha1.ConditionLeaseHeld) {
		return
	}
	message := fmt.Sprintf("Redis confirmed the lease with fencing token %s to the restarted operator.",
		d.status.Execution.Token)
	d.condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionTrue, v1alpha1.ReasonLeaseAdopted, message)
	d.note(EventAdopted, normal(v1alpha1.EventLeaseAdopted), v1alpha1.ReasonLeaseAdopted, message)
}

// store keeps the condition StoreReachable by the error of the last request, empty for none, and tells of its changes.
func (d *draft) store(reason, storeError string) {
	condition := v1alpha1.ConditionStoreReachable
	if storeError == "" {
		message := "Redis answers."
		if meta.IsStatusConditionFalse(d.status.Conditions, condition) {
			d.note(EventStoreReachable, Notice{}, v1alpha1.ReasonReachable, message)
		}
		d.condition(condition, metav1.ConditionTrue, v1alpha1.ReasonReachable, message)
		return
	}
	if !meta.IsStatusConditionFalse(d.status.Conditions, condition) {
		d.note(EventStoreUnreachable, warning(v1alpha1.EventStoreUnreachable), reason, storeError)
		d.condition(condition, metav1.ConditionFalse, reason, storeError)
	}
}
