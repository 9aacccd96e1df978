package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Observation is everything one decision may know. It is plain data that the controller gathers; what is absent is nil or
// zero. Decide never changes what it points to.
type Observation struct {
	// ReportJob is the object as it was read: metadata, spec and status. Never nil.
	ReportJob *v1alpha1.ReportJob
	// Job is the Job named by status.execution.job; nil when there is none, or no execution.
	Job *Job
	// Strays are the Jobs whose controller is this ReportJob (by UID) and which carry another fencing token than
	// status.execution, or any while there is no execution.
	Strays []Job
	// Pods are the pods that carry this ReportJob's UID and the fencing token of status.execution, in any order. A pod that was
	// ProvenDead when the controller last saw it stays among them after it is gone, as it was seen: its end stays proven.
	Pods []Pod
	// Lease is what the renewal engine of this process knows about the lease of status.execution.
	Lease LeaseView
	// Floor is the highest token in the status of any ReportJob with this jobID in the namespace, this one's included, in
	// decimal; empty when there is none, or when this one needs no lease. Redis may have lost it with its data.
	Floor string
	// Longest is the longest leaseDuration of any ReportJob with this jobID in the namespace; 0 when there is none, or when this
	// one needs no lease.
	Longest time.Duration
	// Siblings are the other executions of this jobID in the namespace whose end is not proven, by the names of their ReportJobs;
	// empty when this ReportJob neither needs a lease nor has one without a Job. Of a live observation those whose ReportJob is not
	// finished were read live, after ReportJob; a Job or pod of any other may come from the cache.
	Siblings []Sibling
	// Ahead is how many ReportJobs that are known to wait for this lease have waited for longer: a hint for the order.
	Ahead int
	// LeaseKeyDenied says that the operator does not grant spec.leaseKey.
	LeaseKeyDenied bool
	// Live says that ReportJob, Job, Strays and Pods were all read from the API server for this decision, in this order
	// (Pods last), and none from a cache. What cannot be taken back is decided on a live observation only.
	Live bool
}

// Job is what a decision needs of a batch/v1 Job.
type Job struct {
	Name string
	UID  types.UID
	// Ours says that its controller is this ReportJob, by UID, and that it carries the fencing token of status.execution.
	Ours bool
	// Deleting says that it has a deletion timestamp.
	Deleting bool
	// Suspended is spec.suspend.
	Suspended bool
	// Ended is its terminal condition; nil while it has none.
	Ended *JobEnd
}

// JobEnd is the terminal condition of a Job.
type JobEnd struct {
	// Complete says that the condition is Complete; otherwise it is Failed.
	Complete bool
	// Reason and Message are those of the condition.
	Reason, Message string
}

// PodPhase is the phase of a pod as the API server has it.
type PodPhase string

// The phases of a pod, with the values of core/v1.
const (
	PodPending   PodPhase = "Pending"
	PodRunning   PodPhase = "Running"
	PodSucceeded PodPhase = "Succeeded"
	PodFailed    PodPhase = "Failed"
	PodUnknown   PodPhase = "Unknown"
)

// Pod is what a decision needs of a pod.
type Pod struct {
	Name  string
	UID   types.UID
	Node  string
	Phase PodPhase
	// Reason and Message are status.reason and status.message of the pod: Evicted, DeadlineExceeded, ...
	Reason, Message string
	// Deleting says that it has a deletion timestamp.
	Deleting bool
	// Ready says that its Ready condition is True.
	Ready bool
	// Started says that a container of it runs or has ended, by the kubelet's word. It tells a start from a wait.
	Started bool
	// Waiting is the reason for which the pod does not run: Unschedulable, ErrImagePull, InvalidImageName, ...; empty while it
	// makes its way, and when it runs.
	Waiting string
	// Terminated says that the phase is Succeeded or Failed and the kubelet reported every container of the pod, init
	// containers that started included, as terminated: the proof that its processes are gone. A pod with no reported
	// container is not Terminated unless it never had a node.
	Terminated bool
	// Disruption is the reason of the condition DisruptionTarget when that is True: EvictionByEvictionAPI, DeletionByPodGC,
	// PreemptionByScheduler, TerminationByKubelet, ...
	Disruption string
	// ExitCode is that of the report's container: of the first container that ended other than with 0, else 0. Nil while
	// not every container has ended.
	ExitCode *int32
	// ContainerReason is the termination reason of that container: OOMKilled, Error, Completed, ...
	ContainerReason string
}

// DisruptedByPodGC is the Disruption of a pod that was written off by the control plane, without the kubelet's word.
const DisruptedByPodGC = "DeletionByPodGC"

// DisruptedByTaint is the Disruption of a pod that is deleted because its node does not answer: the report's pods tolerate no
// other taint that comes later than they do.
const DisruptedByTaint = "DeletionByTaintManager"

// Terminal says that the pod's phase is Succeeded or Failed.
func (p *Pod) Terminal() bool { return p.Phase == PodSucceeded || p.Phase == PodFailed }

// ProvenDead says that the kubelet itself reported the end of every process of the pod.
func (p *Pod) ProvenDead() bool { return p.Terminated && p.Disruption != DisruptedByPodGC }

// isDisrupted says that somebody or something told the pod to end.
func (p *Pod) isDisrupted() bool { return p.Deleting || p.Disruption != "" }

// LeasePhase is the state of a lease in the renewal engine of this process.
type LeasePhase string

// The states of a lease in the engine.
const (
	// LeaseUntracked: the engine does not know the lease. The zero value of LeaseView means the same.
	LeaseUntracked LeasePhase = "Untracked"
	// LeaseAdopting: the engine asked Redis to confirm the lease and has no answer yet.
	LeaseAdopting LeasePhase = "Adopting"
	// LeaseHeld: the last renewal that was due is confirmed, or may still be in time.
	LeaseHeld LeasePhase = "Held"
	// LeaseLost: Redis said that the lease is gone or another's. Final.
	LeaseLost LeasePhase = "Lost"
	// LeaseUncertain: no renewal was confirmed in time. Final.
	LeaseUncertain LeasePhase = "Uncertain"
	// LeaseHalted: the engine was told to renew no more. Final.
	LeaseHalted LeasePhase = "Halted"
)

// LeaseView is what the renewal engine of this process knows about one lease.
type LeaseView struct {
	// Phase is the state; empty means LeaseUntracked.
	Phase LeasePhase
	// Detail says in a sentence how the lease came into this state: who holds it instead, which request had no answer.
	Detail string
	// StoreError says, with the address and without a secret, why the last request to Redis had no usable answer; empty
	// when it had one.
	StoreError string
}

// phase is the state with the zero value spelt out.
func (l LeaseView) phase() LeasePhase {
	if l.Phase == "" {
		return LeaseUntracked
	}
	return l.Phase
}

func findPod(pods []Pod, uid types.UID) *Pod {
	for i := range pods {
		if pods[i].UID == uid {
			return &pods[i]
		}
	}
	return nil
}
