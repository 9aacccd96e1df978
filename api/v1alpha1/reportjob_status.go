package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase sums a ReportJob up in one word for people. The conditions are the truth.
//
// +kubebuilder:validation:Enum=Pending;Waiting;Starting;Running;Stopping;Completing;Succeeded;Failed;Skipped
type Phase string

// The phases, in the order in which a report passes them.
const (
	// PhasePending: the operator has not decided anything yet.
	PhasePending Phase = "Pending"
	// PhaseWaiting: another execution holds the lease, or may, or Redis does not grant it. Nothing of this ReportJob runs.
	PhaseWaiting Phase = "Waiting"
	// PhaseStarting: the lease is granted and written down; the pod does not run yet.
	PhaseStarting Phase = "Starting"
	// PhaseRunning: the pod runs under the lease.
	PhaseRunning Phase = "Running"
	// PhaseStopping: the report is being stopped; no pod of its token is proven dead yet.
	PhaseStopping Phase = "Stopping"
	// PhaseCompleting: the report ended; its lease is not given back yet.
	PhaseCompleting Phase = "Completing"
	// PhaseSucceeded: the report exited 0 under its lease.
	PhaseSucceeded Phase = "Succeeded"
	// PhaseFailed: the report failed, or was stopped.
	PhaseFailed Phase = "Failed"
	// PhaseSkipped: the report never ran, since the lease was not free in time.
	PhaseSkipped Phase = "Skipped"
)

// ReportJobStatus is what the operator saw and did. It is written on transitions only, never per renewal.
type ReportJobStatus struct {
	// observedGeneration is the metadata.generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase sums the ReportJob up in one word; the conditions are the truth.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// reason says in one word why the phase is what it is.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message says in a sentence why the phase is what it is.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// jobID is the logical identity in force: spec.jobID, or the name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	JobID string `json:"jobID,omitempty"`

	// holder says who holds the lease: the name of this ReportJob's pod or Job while it is the owner, else the owner ID and
	// token of the execution that is waited for. It keeps its last value after the end.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Holder string `json:"holder,omitempty"`

	// waitingSince is when the ReportJob began to wait for its lease.
	// +optional
	WaitingSince *metav1.MicroTime `json:"waitingSince,omitempty"`

	// lastToken is the highest fencing token this ReportJob was ever granted, in decimal. The next grant of its jobID gets a
	// higher one, even if Redis has lost its data and its clock.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	LastToken string `json:"lastToken,omitempty"`

	// conditions are the truth about the ReportJob.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// execution is the grant the report runs, or ran, under. It is written before the Job exists.
	// +optional
	Execution *Execution `json:"execution,omitempty"`

	// stop is the order to stop the execution, and its proof.
	// +optional
	Stop *Stop `json:"stop,omitempty"`

	// completion is how the report ended.
	// +optional
	Completion *Completion `json:"completion,omitempty"`

	// transitions are the last 20 steps, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Transitions []Transition `json:"transitions,omitempty"`
}

// Execution is one attempt to run the report: one grant, one fencing token, one Job, one pod.
type Execution struct {
	// id names this execution; a new one for every attempt.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// attempt counts the executions of this ReportJob from 1. One that ended before it had a Job does not count.
	// +required
	Attempt int32 `json:"attempt"`

	// owner is the 128-bit random value in hex that holds the lease in Redis; never used twice. It is the same as id.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Owner string `json:"owner"`

	// token is the fencing token of the grant, in decimal, below 2^53. Destinations refuse a write that carries a lower
	// token than one they have seen.
	// +required
	// +kubebuilder:validation:MaxLength=16
	Token string `json:"token"`

	// leaseKey is the Redis key of the lease.
	// +required
	// +kubebuilder:validation:MaxLength=512
	LeaseKey string `json:"leaseKey"`

	// acquiredAt is when the lease was granted, by the operator's clock.
	// +required
	AcquiredAt metav1.MicroTime `json:"acquiredAt"`

	// job is the name of the Job.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job"`

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
	// reason says why: LeaseLost, OwnershipUncertain, MaxRuntimeExceeded, JobDisturbed, PodVanished, SiblingAlive or Deleted.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason"`

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
	// outcome is Succeeded, Failed or Stopped.
	// +required
	Outcome Outcome `json:"outcome"`

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

// Transition is one step in the life of a ReportJob, as it also appears in the operator's log and in the events.
type Transition struct {
	// at is when the operator took the step.
	// +required
	At metav1.MicroTime `json:"at"`

	// event names the step, as in the log line: lease_acquired, job_stop_requested, ...
	// +required
	// +kubebuilder:validation:MaxLength=64
	Event string `json:"event"`

	// reason says in one word why.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message says in a sentence what happened.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// executionID is the execution the step belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ExecutionID string `json:"executionID,omitempty"`

	// token is the fencing token of that execution.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Token string `json:"token,omitempty"`
}
