package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Duration is a length of time as Kubernetes users write it: "30s", "1m30s", "250ms". It is a string with a pattern and
// not metav1.Duration, because the API server's "duration" format accepts values ("1d", "PT1H") that Go cannot decode,
// and one undecodable object stops the informer of a whole cluster.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
type Duration string

// GuardMode says who stops a report whose lease is gone.
//
// +kubebuilder:validation:Enum=Off
type GuardMode string

// GuardOff leaves the stop to the operator alone: a report can outlive its lease while the operator or the node's
// kubelet cannot act, and two executions can then overlap.
const GuardOff GuardMode = "Off"

// ContentionPolicy says what a ReportJob does while another execution holds its lease.
//
// +kubebuilder:validation:Enum=Wait
type ContentionPolicy string

// ContentionWait waits for the lease, for at most contention.timeout.
const ContentionWait ContentionPolicy = "Wait"

// ReportJobSpec declares one report and the lease it runs under.
type ReportJobSpec struct {
	// jobID is the logical identity of the report and the scope of its lease: of all ReportJobs with the same namespace
	// and jobID, at most one runs at a time, in every cluster that shares the Redis. Default: the name of the ReportJob.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	JobID string `json:"jobID,omitempty"`

	// occurrence says which report of this jobID this is, for example the month it covers. The report finds it in
	// LEASEHOLD_OCCURRENCE. Empty: a report of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Occurrence string `json:"occurrence,omitempty"`

	// leaseDuration is how long the lease lives without a renewal, and so how long a crashed report blocks the next one.
	// +optional
	// +kubebuilder:default="30s"
	LeaseDuration Duration `json:"leaseDuration,omitempty"`

	// renewalInterval is how often the lease is renewed while the report is healthy. "0s" never renews: then maxRuntime
	// and stopGracePeriod must fit into the lease.
	// +optional
	// +kubebuilder:default="5s"
	RenewalInterval Duration `json:"renewalInterval,omitempty"`

	// maxRuntime bounds the report even if every renewal succeeds.
	// +optional
	// +kubebuilder:default="20m"
	MaxRuntime Duration `json:"maxRuntime,omitempty"`

	// stopGracePeriod is the time from SIGTERM to SIGKILL when the report is stopped, in whole seconds.
	// +optional
	// +kubebuilder:default="10s"
	StopGracePeriod Duration `json:"stopGracePeriod,omitempty"`

	// renewalTimeout is how long after a renewal was due its confirmation may be missing before ownership counts as
	// uncertain and the report is stopped. Unset: until the stop must begin for the report to end within its lease.
	// +optional
	RenewalTimeout *Duration `json:"renewalTimeout,omitempty"`

	// contention says what happens while another execution holds the lease.
	// +optional
	// +kubebuilder:default={}
	Contention Contention `json:"contention,omitzero"`

	// guard says who stops a report whose lease is gone. Off: the operator alone.
	// +optional
	// +kubebuilder:default=Off
	Guard GuardMode `json:"guard,omitempty"`

	// jobTemplate is the Job that runs the report, with exactly one pod. The operator sets parallelism, completions,
	// backoffLimit, podReplacementPolicy, activeDeadlineSeconds, restartPolicy and terminationGracePeriodSeconds.
	// +required
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`
}

// Contention is what a ReportJob does while another execution holds its lease.
type Contention struct {
	// policy is Wait: wait for the lease.
	// +optional
	// +kubebuilder:default=Wait
	Policy ContentionPolicy `json:"policy,omitempty"`

	// timeout bounds the wait; after it the ReportJob ends with phase Skipped and reason WaitTimeout.
	// +optional
	// +kubebuilder:default="1h"
	Timeout Duration `json:"timeout,omitempty"`
}

// ReportJob is a report that must not run twice at once: a Job under a Redis lease with a fencing token.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rj,categories=leasehold
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Job-ID",type=string,JSONPath=`.status.jobID`
// +kubebuilder:printcolumn:name="Holder",type=string,JSONPath=`.status.holder`
// +kubebuilder:printcolumn:name="Token",type=string,JSONPath=`.status.execution.token`
// +kubebuilder:printcolumn:name="Started",type=date,JSONPath=`.status.execution.startedAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.status.execution.attempt`,priority=1
// +kubebuilder:printcolumn:name="Execution",type=string,JSONPath=`.status.execution.id`,priority=1
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
type ReportJob struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec declares the report and its lease. It is immutable while the report is under way or over.
	// +required
	Spec ReportJobSpec `json:"spec"`

	// status is what the operator saw and did.
	// +optional
	Status ReportJobStatus `json:"status,omitzero"`
}

// ReportJobList is a list of ReportJobs.
//
// +kubebuilder:object:root=true
type ReportJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the ReportJobs.
	Items []ReportJob `json:"items"`
}

// JobID returns the logical identity of the report: spec.jobID, or the name when that is empty.
func (r *ReportJob) JobID() string {
	if r.Spec.JobID != "" {
		return r.Spec.JobID
	}
	return r.Name
}
