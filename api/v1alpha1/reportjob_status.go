package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// observedGeneration is the metadata.generation this status speaks of; a lower one says that a change is not seen yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase sums the ReportJob up in one word, from Pending, Waiting, Starting and Running to Succeeded, Failed or Skipped; the
	// conditions are the truth.
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

	// conditions are the truth about the ReportJob: StoreReachable, LeaseHeld, Guarded, OwnershipUncertain, StopRequested,
	// StopConfirmed, Suspended and Finished, each from the first decision that concerns it.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// failedAttempts is how many attempts failed and count towards retry.maxAttempts.
	// +optional
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// lastAttempt is the number of the last attempt that has ended and was followed by another one, or is to be.
	// +optional
	LastAttempt int32 `json:"lastAttempt,omitempty"`

	// retryAt is when the next attempt may begin, by the operator's clock; unset while none is to come.
	// +optional
	RetryAt *metav1.MicroTime `json:"retryAt,omitempty"`

	// execution is the grant the report runs, or ran, under. It is written before the Job exists.
	// +optional
	Execution *Execution `json:"execution,omitempty"`

	// stop is the order to stop the execution, and its proof.
	// +optional
	Stop *Stop `json:"stop,omitempty"`

	// completion is how the report ended.
	// +optional
	Completion *Completion `json:"completion,omitempty"`

	// attempts are the last 10 attempts before the present execution, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Attempts []Attempt `json:"attempts,omitempty"`

	// transitions are the last 20 steps, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Transitions []Transition `json:"transitions,omitempty"`
}

// Transition is one step in the life of a ReportJob, as it also appears in the operator's log and in the events.
type Transition struct {
	// at is when the operator took the step.
	// +required
	At metav1.MicroTime `json:"at"`

	// event names the step, as in the log line: lease_acquired, job_stop_requested, ...
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Event string `json:"event,omitempty"`

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
