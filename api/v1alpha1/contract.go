package v1alpha1

// Finalizer keeps a deleted ReportJob until its report is proven stopped. It is there from before the Job is created until the
// ReportJob is finished, and not while it waits.
const Finalizer = "leasehold.dev/execution"

// Labels of the Jobs and pods of an execution.
const (
	// LabelReportJob is the name of the ReportJob, cut to 63 characters; AnnotationReportJob has it whole.
	LabelReportJob = "leasehold.dev/reportjob"
	// LabelReportJobUID is the UID of the ReportJob.
	LabelReportJobUID = "leasehold.dev/reportjob-uid"
	// LabelExecutionID is the execution ID.
	LabelExecutionID = "leasehold.dev/execution-id"
	// LabelFencingToken is the fencing token in decimal.
	LabelFencingToken = "leasehold.dev/fencing-token"
	// LabelAttempt is the number of the attempt, from 1.
	LabelAttempt = "leasehold.dev/attempt"
)

// Annotations of the Jobs and pods of an execution.
const (
	// AnnotationReportJob is the name of the ReportJob.
	AnnotationReportJob = "leasehold.dev/reportjob"
	// AnnotationJobID is the logical identity.
	AnnotationJobID = "leasehold.dev/job-id"
	// AnnotationOccurrence is the occurrence, if there is one.
	AnnotationOccurrence = "leasehold.dev/occurrence"
	// AnnotationExecutionID is the execution ID.
	AnnotationExecutionID = "leasehold.dev/execution-id"
	// AnnotationFencingToken is the fencing token in decimal.
	AnnotationFencingToken = "leasehold.dev/fencing-token"
	// AnnotationLeaseKey is the Redis key of the lease.
	AnnotationLeaseKey = "leasehold.dev/lease-key"
	// AnnotationTrigger is spec.trigger as JSON, if there is one.
	AnnotationTrigger = "leasehold.dev/trigger"
	// AnnotationRetryOf is the execution ID of the attempt before, if there was one.
	AnnotationRetryOf = "leasehold.dev/retry-of"
)

// AnnotationForceRelease on a ReportJob says that a person vouches for the end of the execution whose fencing token is its value:
// the report is stopped, and its lease given back without a proof. Another token is ignored, and that is said.
const AnnotationForceRelease = "leasehold.dev/force-release"

// Environment variables of every container of the report.
const (
	// EnvJobID is the logical identity.
	EnvJobID = "LEASEHOLD_JOB_ID"
	// EnvExecutionID is the execution ID.
	EnvExecutionID = "LEASEHOLD_EXECUTION_ID"
	// EnvOccurrence is the occurrence; present and empty when the ReportJob has none.
	EnvOccurrence = "LEASEHOLD_OCCURRENCE"
	// EnvFencingToken is the fencing token in decimal: send it along with every write.
	EnvFencingToken = "LEASEHOLD_FENCING_TOKEN"
	// EnvLeaseKey is the Redis key of the lease.
	EnvLeaseKey = "LEASEHOLD_LEASE_KEY"
	// EnvAttempt is the number of the attempt, from 1.
	EnvAttempt = "LEASEHOLD_ATTEMPT"
	// EnvTrigger is spec.trigger as JSON; present and empty when the ReportJob has none.
	EnvTrigger = "LEASEHOLD_TRIGGER"
	// EnvRetryOf is the execution ID of the attempt before; present and empty for the first.
	EnvRetryOf = "LEASEHOLD_RETRY_OF"
)
