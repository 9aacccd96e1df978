package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Duration is a length of time as Kubernetes users write it: "30s", "1m30s", "250ms". It is a string with a pattern and
// not metav1.Duration, because the API server's "duration" format accepts values ("1d", "PT1H") that Go cannot decode,
// and one undecodable object stops the informer of a whole cluster. The digits are bounded so that whatever matches also
// fits into a time.Duration: 32 characters of it are at most 96 years.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$`
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
// +kubebuilder:validation:Enum=Wait;Skip
type ContentionPolicy string

// The contention policies.
const (
	// ContentionWait waits for the lease, for at most contention.timeout.
	ContentionWait ContentionPolicy = "Wait"
	// ContentionSkip ends the ReportJob with phase Skipped when another execution holds the lease.
	ContentionSkip ContentionPolicy = "Skip"
)

// ReportJobSpec declares one report and the lease it runs under. All of it is immutable but contention, retry, lostNode, suspend
// and ttlSecondsAfterFinished.
//
// A rule over several durations speaks only when each of them is valid by itself, so that one mistake gives one message.
//
// +kubebuilder:validation:XValidation:rule="!([self.leaseDuration, self.renewalInterval].all(d, d.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$')) && duration(self.leaseDuration) >= duration('5s') && duration(self.leaseDuration) <= duration('24h')) || duration(self.renewalInterval).getMilliseconds() * 3 <= duration(self.leaseDuration).getMilliseconds()",message="renewalInterval must be at most a third of leaseDuration",messageExpression="'renewalInterval ' + self.renewalInterval + ' is too long: it must be at most a third of leaseDuration ' + self.leaseDuration",fieldPath=".renewalInterval"
// +kubebuilder:validation:XValidation:rule="!([self.leaseDuration, self.renewalInterval, self.stopGracePeriod].all(d, d.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$')) && duration(self.leaseDuration) >= duration('5s') && duration(self.leaseDuration) <= duration('24h') && duration(self.renewalInterval).getMilliseconds() * 3 <= duration(self.leaseDuration).getMilliseconds() && duration(self.stopGracePeriod) <= duration('1h')) || duration(self.leaseDuration).getMilliseconds() * 8 / 10 >= duration(self.renewalInterval).getMilliseconds() * 2 + duration(self.stopGracePeriod).getMilliseconds() + 2000",message="leaseDuration is too short: 80% of it must be at least 2 x renewalInterval + stopGracePeriod + 2s",messageExpression="'leaseDuration ' + self.leaseDuration + ' is too short: 80% of it must be at least 2 x renewalInterval ' + self.renewalInterval + ' + stopGracePeriod ' + self.stopGracePeriod + ' + 2s'",fieldPath=".leaseDuration"
// +kubebuilder:validation:XValidation:rule="!([self.leaseDuration, self.renewalInterval, self.maxRuntime].all(d, d.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$')) && duration(self.leaseDuration) >= duration('5s') && duration(self.leaseDuration) <= duration('24h') && duration(self.maxRuntime) >= duration('1s')) || duration(self.renewalInterval).getMilliseconds() == 0 || duration(self.maxRuntime) >= duration(self.leaseDuration)",message="maxRuntime must be at least leaseDuration",messageExpression="'maxRuntime ' + self.maxRuntime + ' is too short: it must be at least leaseDuration ' + self.leaseDuration",fieldPath=".maxRuntime"
// +kubebuilder:validation:XValidation:rule="!([self.leaseDuration, self.renewalInterval, self.stopGracePeriod, self.maxRuntime].all(d, d.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$')) && duration(self.leaseDuration) >= duration('5s') && duration(self.leaseDuration) <= duration('24h') && duration(self.stopGracePeriod) <= duration('1h') && duration(self.renewalInterval).getMilliseconds() == 0 && duration(self.leaseDuration).getMilliseconds() * 8 / 10 >= duration(self.renewalInterval).getMilliseconds() * 2 + duration(self.stopGracePeriod).getMilliseconds() + 2000 && duration(self.maxRuntime) >= duration('1s') && duration(self.maxRuntime) <= duration('168h')) || duration(self.maxRuntime).getMilliseconds() <= duration(self.leaseDuration).getMilliseconds() * 8 / 10 - duration(self.stopGracePeriod).getMilliseconds() - 1000",message="with renewalInterval 0s the lease is never renewed, so maxRuntime + stopGracePeriod + 1s must fit into 80% of leaseDuration",messageExpression="'renewalInterval 0s never renews the lease, so maxRuntime ' + self.maxRuntime + ' + stopGracePeriod ' + self.stopGracePeriod + ' + 1s must fit into 80% of leaseDuration ' + self.leaseDuration",fieldPath=".maxRuntime"
// +kubebuilder:validation:XValidation:rule="!has(self.renewalTimeout) || !([self.leaseDuration, self.renewalInterval, self.stopGracePeriod, self.renewalTimeout].all(d, d.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$')) && duration(self.leaseDuration) >= duration('5s') && duration(self.leaseDuration) <= duration('24h') && duration(self.stopGracePeriod) <= duration('1h') && duration(self.renewalInterval).getMilliseconds() > 0 && duration(self.renewalInterval).getMilliseconds() * 3 <= duration(self.leaseDuration).getMilliseconds() && duration(self.leaseDuration).getMilliseconds() * 8 / 10 >= duration(self.renewalInterval).getMilliseconds() * 2 + duration(self.stopGracePeriod).getMilliseconds() + 2000 && duration(self.renewalTimeout) >= duration('100ms') && duration(self.renewalTimeout) <= duration('24h')) || duration(self.renewalTimeout).getMilliseconds() <= duration(self.leaseDuration).getMilliseconds() * 8 / 10 - duration(self.renewalInterval).getMilliseconds() - duration(self.stopGracePeriod).getMilliseconds() - 1000",message="renewalInterval + renewalTimeout + stopGracePeriod + 1s must fit into 80% of leaseDuration",messageExpression="'renewalInterval ' + self.renewalInterval + ' + renewalTimeout ' + self.renewalTimeout + ' + stopGracePeriod ' + self.stopGracePeriod + ' + 1s must fit into 80% of leaseDuration ' + self.leaseDuration",fieldPath=".renewalTimeout"
// +kubebuilder:validation:XValidation:rule="!has(self.renewalTimeout) || !self.renewalInterval.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$') || duration(self.renewalInterval) > duration('0s')",message="renewalInterval 0s never renews the lease, so there is nothing to time out: leave renewalTimeout out",fieldPath=".renewalTimeout"
// +kubebuilder:validation:XValidation:rule="has(self.jobID) == has(oldSelf.jobID) && (!has(self.jobID) || self.jobID == oldSelf.jobID)",message="jobID is immutable: create another ReportJob",fieldPath=".jobID"
// +kubebuilder:validation:XValidation:rule="has(self.occurrence) == has(oldSelf.occurrence) && (!has(self.occurrence) || self.occurrence == oldSelf.occurrence)",message="occurrence is immutable: create another ReportJob",fieldPath=".occurrence"
// +kubebuilder:validation:XValidation:rule="self.leaseDuration == oldSelf.leaseDuration",message="leaseDuration is immutable: create another ReportJob",fieldPath=".leaseDuration"
// +kubebuilder:validation:XValidation:rule="self.renewalInterval == oldSelf.renewalInterval",message="renewalInterval is immutable: create another ReportJob",fieldPath=".renewalInterval"
// +kubebuilder:validation:XValidation:rule="self.maxRuntime == oldSelf.maxRuntime",message="maxRuntime is immutable: create another ReportJob",fieldPath=".maxRuntime"
// +kubebuilder:validation:XValidation:rule="self.stopGracePeriod == oldSelf.stopGracePeriod",message="stopGracePeriod is immutable: create another ReportJob",fieldPath=".stopGracePeriod"
// +kubebuilder:validation:XValidation:rule="has(self.leaseKey) == has(oldSelf.leaseKey) && (!has(self.leaseKey) || self.leaseKey == oldSelf.leaseKey)",message="leaseKey is immutable: create another ReportJob",fieldPath=".leaseKey"
// +kubebuilder:validation:XValidation:rule="has(self.trigger) == has(oldSelf.trigger) && (!has(self.trigger) || self.trigger == oldSelf.trigger)",message="trigger is immutable: create another ReportJob",fieldPath=".trigger"
// +kubebuilder:validation:XValidation:rule="self.guard == oldSelf.guard",message="guard is immutable: create another ReportJob",fieldPath=".guard"
// +kubebuilder:validation:XValidation:rule="self.jobTemplate == oldSelf.jobTemplate",message="jobTemplate is immutable: create another ReportJob",fieldPath=".jobTemplate"
// +kubebuilder:validation:XValidation:rule="has(self.renewalTimeout) == has(oldSelf.renewalTimeout) && (!has(self.renewalTimeout) || self.renewalTimeout == oldSelf.renewalTimeout)",message="renewalTimeout is immutable: create another ReportJob",fieldPath=".renewalTimeout"
type ReportJobSpec struct {
	// jobID is the logical identity of the report and the scope of its lease: of all ReportJobs with the same namespace
	// and jobID, at most one runs at a time, in every cluster that shares the Redis. Default: the name of the ReportJob.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	JobID string `json:"jobID,omitempty"`

	// occurrence says which report of this jobID this is, for example the month it covers. The report finds it in
	// LEASEHOLD_OCCURRENCE. Empty: a report of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([A-Za-z0-9._:+-]*[A-Za-z0-9])?)?$`
	Occurrence string `json:"occurrence,omitempty"`

	// leaseKey is the scope of the lease in the place of namespace and jobID, for a report that shares its lease with other
	// namespaces or other software. The operator grants it only where its flag --shared-lease-keys allows it; without that the
	// report waits and says so. Empty: the lease is that of the namespace and the jobID.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?$`
	LeaseKey string `json:"leaseKey,omitempty"`

	// leaseDuration is how long the lease lives without a renewal, and so how long a crashed report blocks the next one. 5s to 24h;
	// 80% of it must be at least 2 x renewalInterval + stopGracePeriod + 2s. Default: 30s.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$') || (duration(self) >= duration('5s') && duration(self) <= duration('24h'))",message="must be 5s to 24h"
	LeaseDuration Duration `json:"leaseDuration,omitempty"`

	// renewalInterval is how often the lease is renewed while the report is healthy. "0s" never renews: then maxRuntime
	// and stopGracePeriod must fit into the lease. Otherwise 250ms to a third of leaseDuration. Default: 5s.
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$') || duration(self) == duration('0s') || duration(self) >= duration('250ms')",message="must be 0s, which never renews, or at least 250ms"
	RenewalInterval Duration `json:"renewalInterval,omitempty"`

	// maxRuntime bounds the report, from the grant of the lease on, even if every renewal succeeds. At least leaseDuration, at most
	// 168h. Default: 20m.
	// +optional
	// +kubebuilder:default="20m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$') || (duration(self) >= duration('1s') && duration(self) <= duration('168h'))",message="must be 1s to 168h"
	MaxRuntime Duration `json:"maxRuntime,omitempty"`

	// stopGracePeriod is the time from SIGTERM to SIGKILL when the report is stopped, in whole seconds: 1s to 1h. Default: 10s.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$') || (duration(self) >= duration('1s') && duration(self) <= duration('1h') && duration(self).getMilliseconds() % 1000 == 0)",message="must be 1s to 1h in whole seconds"
	StopGracePeriod Duration `json:"stopGracePeriod,omitempty"`

	// renewalTimeout is how long after a renewal was due its confirmation may be missing before ownership counts as
	// uncertain and the report is stopped: 100ms to 24h. Unset: until the stop must begin for the report to end within its lease.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$') || (duration(self) >= duration('100ms') && duration(self) <= duration('24h'))",message="must be 100ms to 24h"
	RenewalTimeout *Duration `json:"renewalTimeout,omitempty"`

	// contention says what happens while another execution holds the lease.
	// +optional
	// +kubebuilder:default={}
	Contention Contention `json:"contention,omitzero"`

	// retry says what happens after an attempt that did not succeed.
	// +optional
	// +kubebuilder:default={}
	Retry Retry `json:"retry,omitzero"`

	// lostNode says what happens when the node of the report's pod does not answer, so that nobody can prove that the report has
	// ended. Wait keeps the lease until the end is proven; FenceAndTakeOver lets it run out and goes on with a higher token, which
	// is safe only where the destination refuses the old one. It may be changed while that is so. Default: Wait.
	// +optional
	// +kubebuilder:default=Wait
	LostNode LostNodePolicy `json:"lostNode,omitempty"`

	// trigger says what caused this report. It is handed on unchanged: to the Job and its pod, to the events, the status and
	// the log.
	// +optional
	Trigger *Trigger `json:"trigger,omitempty"`

	// suspend keeps the report from starting. A report that runs is stopped, with its grace period; it runs again from the
	// beginning when suspend is false again, and that stop does not count as a failed attempt. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// ttlSecondsAfterFinished is how many seconds after its end the ReportJob is deleted, with its Jobs and pods. At least 0,
	// which is at once. Unset: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// guard says who stops a report whose lease is gone. Off, the default: the operator alone. Write it in quotes: YAML
	// reads a bare Off as false.
	// +optional
	// +kubebuilder:default=Off
	Guard GuardMode `json:"guard,omitempty"`

	// jobTemplate is the Job that runs the report, with exactly one pod. The operator sets parallelism, completions,
	// backoffLimit, podReplacementPolicy, activeDeadlineSeconds, restartPolicy and terminationGracePeriodSeconds.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.parallelism) || self.spec.parallelism == 1",message="a report is exactly one pod: leave parallelism out or set it to 1",fieldPath=".spec.parallelism"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.completions) || self.spec.completions == 1",message="a report is exactly one pod: leave completions out or set it to 1",fieldPath=".spec.completions"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.backoffLimit) || self.spec.backoffLimit == 0",message="a second pod would carry the first one's fencing token: leave backoffLimit out or set it to 0",fieldPath=".spec.backoffLimit"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.completionMode) || self.spec.completionMode == 'NonIndexed'",message="a report is exactly one pod: leave completionMode out",fieldPath=".spec.completionMode"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.podReplacementPolicy) || self.spec.podReplacementPolicy == 'Failed'",message="the operator needs podReplacementPolicy Failed: leave it out",fieldPath=".spec.podReplacementPolicy"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.suspend) || !self.spec.suspend",message="the operator would take a suspended Job for a disturbed one: leave suspend out",fieldPath=".spec.suspend"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.backoffLimitPerIndex)",message="a report is exactly one pod: leave backoffLimitPerIndex out",fieldPath=".spec.backoffLimitPerIndex"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.maxFailedIndexes)",message="a report is exactly one pod: leave maxFailedIndexes out",fieldPath=".spec.maxFailedIndexes"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.successPolicy)",message="a report is exactly one pod: leave successPolicy out",fieldPath=".spec.successPolicy"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.podFailurePolicy)",message="a rule of podFailurePolicy can start a second pod: leave it out",fieldPath=".spec.podFailurePolicy"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.managedBy)",message="the Job controller of Kubernetes must manage the Job: leave managedBy out",fieldPath=".spec.managedBy"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.selector)",message="Kubernetes sets the selector of a Job: leave it out",fieldPath=".spec.selector"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.manualSelector)",message="Kubernetes sets the selector of a Job: leave manualSelector out",fieldPath=".spec.manualSelector"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.ttlSecondsAfterFinished)",message="the Job must stay until its end is recorded: leave ttlSecondsAfterFinished out",fieldPath=".spec.ttlSecondsAfterFinished"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.activeDeadlineSeconds)",message="use spec.maxRuntime instead",fieldPath=".spec.activeDeadlineSeconds"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.template.spec.restartPolicy) || self.spec.template.spec.restartPolicy == 'Never'",message="a restarted container would run on with an old fencing token: leave restartPolicy out or set it to Never",fieldPath=".spec.template.spec.restartPolicy"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.template.spec.terminationGracePeriodSeconds)",message="use spec.stopGracePeriod instead",fieldPath=".spec.template.spec.terminationGracePeriodSeconds"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.template.spec.activeDeadlineSeconds)",message="use spec.maxRuntime instead",fieldPath=".spec.template.spec.activeDeadlineSeconds"
	// +kubebuilder:validation:XValidation:rule="size(self.spec.template.spec.containers) > 0",message="a report needs a container",fieldPath=".spec.template.spec.containers"
	// +kubebuilder:validation:XValidation:rule="self.spec.template.spec.containers.all(c, !has(c.restartPolicy) && !has(c.restartPolicyRules))",message="a restarted container would run on with an old fencing token: leave restartPolicy and restartPolicyRules out of the containers",fieldPath=".spec.template.spec.containers"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.template.spec.ephemeralContainers)",message="Kubernetes takes no ephemeral containers in a template: leave ephemeralContainers out",fieldPath=".spec.template.spec.ephemeralContainers"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.template.spec.initContainers) || self.spec.template.spec.initContainers.all(c, (!has(c.restartPolicy) || c.restartPolicy == 'Always') && !has(c.restartPolicyRules))",message="an init container runs once, or beside the report with restartPolicy Always: leave other restart policies and restartPolicyRules out",fieldPath=".spec.template.spec.initContainers"
	// +kubebuilder:validation:XValidation:rule="self.spec.template.spec.containers.all(c, !has(c.env) || c.env.all(e, !e.name.startsWith('LEASEHOLD_')))",message="names of variables that begin with LEASEHOLD_ are set by the operator",fieldPath=".spec.template.spec.containers"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.template.spec.initContainers) || self.spec.template.spec.initContainers.all(c, !has(c.env) || c.env.all(e, !e.name.startsWith('LEASEHOLD_')))",message="names of variables that begin with LEASEHOLD_ are set by the operator",fieldPath=".spec.template.spec.initContainers"
	// +kubebuilder:validation:XValidation:rule="!has(self.metadata) || !has(self.metadata.labels) || self.metadata.labels.all(k, !k.startsWith('leasehold.dev/') && !k.startsWith('batch.kubernetes.io/') && k != 'controller-uid' && k != 'job-name')",message="the operator sets the labels that begin with leasehold.dev/, and Kubernetes those that begin with batch.kubernetes.io/, controller-uid and job-name: leave them out",fieldPath=".metadata.labels"
	// +kubebuilder:validation:XValidation:rule="!has(self.metadata) || !has(self.metadata.annotations) || self.metadata.annotations.all(k, !k.startsWith('leasehold.dev/'))",message="annotations that begin with leasehold.dev/ are set by the operator",fieldPath=".metadata.annotations"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.template.metadata) || !has(self.spec.template.metadata.labels) || self.spec.template.metadata.labels.all(k, !k.startsWith('leasehold.dev/') && !k.startsWith('batch.kubernetes.io/') && k != 'controller-uid' && k != 'job-name')",message="the operator sets the labels that begin with leasehold.dev/, and Kubernetes those that begin with batch.kubernetes.io/, controller-uid and job-name: leave them out",fieldPath=".spec.template.metadata.labels"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.template.metadata) || !has(self.spec.template.metadata.annotations) || self.spec.template.metadata.annotations.all(k, !k.startsWith('leasehold.dev/'))",message="annotations that begin with leasehold.dev/ are set by the operator",fieldPath=".spec.template.metadata.annotations"
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`
}

// Contention is what a ReportJob does while another execution holds its lease.
type Contention struct {
	// policy is Wait, which waits for the lease, or Skip, which ends the ReportJob with phase Skipped and the name of the holder.
	// A report that has run already, and is to run again, always waits. Default: Wait.
	// +optional
	// +kubebuilder:default=Wait
	Policy ContentionPolicy `json:"policy,omitempty"`

	// timeout bounds the wait; after it the ReportJob ends with reason WaitTimeout: Skipped if it never ran, else Failed. 0s to
	// 168h. Default: 1h.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$') || (duration(self) >= duration('0s') && duration(self) <= duration('168h'))",message="must be 0s to 168h"
	Timeout Duration `json:"timeout,omitempty"`
}

// ReportJob is a report that must not run twice at once: a Job under a Redis lease with a fencing token.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rj,categories=leasehold
// +kubebuilder:validation:XValidation:rule="has(self.spec.jobID) || size(self.metadata.name) <= 128",message="a name of more than 128 characters is too long for a jobID: set jobID",fieldPath=".spec.jobID"
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:selectablefield:JSONPath=`.status.jobID`
// +kubebuilder:selectablefield:JSONPath=`.status.execution.leaseKey`
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

	// spec declares the report and its lease. All of it is immutable but contention, retry, lostNode, suspend and
	// ttlSecondsAfterFinished.
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
