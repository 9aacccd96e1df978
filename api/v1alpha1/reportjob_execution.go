package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Execution is one attempt to run the report: one grant, one fencing token, one Job, one pod.
type Execution struct {
	// id names this execution; a new one for every attempt.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// attempt counts the executions of this ReportJob from 1. One that ended before it had a Job does not count.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt,omitempty"`

	// trigger is what caused the report: spec.trigger.
	// +optional
	Trigger *Trigger `json:"trigger,omitempty"`

	// retryOf is the execution ID of the attempt before, after which this one was made; empty for the first.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RetryOf string `json:"retryOf,omitempty"`

	// owner is the 128-bit random value in hex that holds the lease in Redis; never used twice. It is the same as id.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Owner string `json:"owner,omitempty"`

	// token is the fencing token of the grant, in decimal, below 2^53. Destinations refuse a write that carries a lower
	// token than one they have seen.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Token string `json:"token,omitempty"`

	// leaseKey is the Redis key of the lease.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	LeaseKey string `json:"leaseKey,omitempty"`

	// acquiredAt is when the lease was granted, by the operator's clock.
	// +required
	AcquiredAt metav1.MicroTime `json:"acquiredAt"`

	// job is the name of the Job, in the namespace of the ReportJob.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job,omitempty"`

	// jobUID is the UID of the Job once it was created.
	// +optional
	JobUID types.UID `json:"jobUID,omitempty"`

	// pod is the name of the Job's pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod,omitempty"`

	// podUID is the UID of the Job's pod.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`

	// node is the node the pod was bound to.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// startedAt is when the operator first saw that a container of the pod runs or ran; maxRuntime counts from acquiredAt.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

// Stop is the order to stop an execution. Once given it is never taken back: a later success of the pod changes nothing. It goes
// with its execution if that never had a Job.
type Stop struct {
	// reason says why: LeaseLost, OwnershipUncertain, MaxRuntimeExceeded, JobDisturbed, NodeLost, PodVanished, SiblingAlive,
	// Suspended, ForceReleased or Deleted.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message says in a sentence why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// requestedAt is when the stop was decided.
	// +required
	RequestedAt metav1.MicroTime `json:"requestedAt"`

	// confirmedAt is when the operator saw that no pod of the token lives.
	// +optional
	ConfirmedAt *metav1.MicroTime `json:"confirmedAt,omitempty"`

	// supersededAt is when the operator gave up waiting for the proof: the token is superseded, and a process under it may live.
	// +optional
	SupersededAt *metav1.MicroTime `json:"supersededAt,omitempty"`
}

// Outcome is how an execution ended.
//
// +kubebuilder:validation:Enum=Succeeded;Failed;Stopped
type Outcome string

// The outcomes.
const (
	// OutcomeSucceeded: the report exited 0 before anything was wrong with its lease.
	OutcomeSucceeded Outcome = "Succeeded"
	// OutcomeFailed: the report ended by itself without success.
	OutcomeFailed Outcome = "Failed"
	// OutcomeStopped: the operator stopped the report.
	OutcomeStopped Outcome = "Stopped"
)

// Completion is how the report ended.
type Completion struct {
	// outcome is Succeeded, if the report exited 0 under its lease; Failed, if it ended by itself otherwise; or Stopped.
	// +required
	Outcome Outcome `json:"outcome,omitempty"`

	// reason says in one word why.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message says in a sentence why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// token is the fencing token of the execution that ended.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Token string `json:"token,omitempty"`

	// at is when the operator saw the end.
	// +required
	At metav1.MicroTime `json:"at"`

	// exitCode is the exit code of the report's container, if the kubelet reported one.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`

	// processEnded says that the kubelet reported every container of the pod as terminated, so that the lease may be given
	// back; otherwise it runs out by itself.
	// +optional
	ProcessEnded bool `json:"processEnded,omitempty"`
}

// Attempt is an execution that ended and was followed by another one, or is to be.
type Attempt struct {
	// number is the number of the attempt, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int32 `json:"number,omitempty"`

	// executionID names the execution; its Job, pod and log lines carry it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ExecutionID string `json:"executionID,omitempty"`

	// token is its fencing token, in decimal.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Token string `json:"token,omitempty"`

	// job is the name of its Job.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job,omitempty"`

	// pod is the name of its pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod,omitempty"`

	// node is the node of its pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// acquiredAt is when its lease was granted, by the operator's clock.
	// +required
	AcquiredAt metav1.MicroTime `json:"acquiredAt"`

	// startedAt is when its pod was first seen to run.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// endedAt is when the operator saw the end.
	// +required
	EndedAt metav1.MicroTime `json:"endedAt"`

	// outcome is Failed, if it ended by itself, or Stopped, if the operator ended it.
	// +required
	Outcome Outcome `json:"outcome,omitempty"`

	// reason says in one word why.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message says in a sentence why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// exitCode is the exit code of the report's container, if the kubelet reported one.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`

	// counted says that the attempt counts towards retry.maxAttempts.
	// +optional
	Counted bool `json:"counted,omitempty"`

	// superseded says that its end was not proven and a higher token goes on without it: a process under it may still live.
	// +optional
	Superseded bool `json:"superseded,omitempty"`
}
