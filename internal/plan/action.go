package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Action is one effect for the controller to carry out. The set is closed. Each action is idempotent: carried out twice, or
// by two operators at once, it has the effect of once.
type Action interface{ isAction() }

// AddFinalizer puts v1alpha1.Finalizer on the ReportJob, before its Job is created. The status write of the same reconcile must
// carry the resource version that this update returned. Results: Done, Failed.
type AddFinalizer struct{}

// AcquireLease draws a new owner, asks Redis once for the lease of the ReportJob and, when it is granted, lets the engine
// track it from the instant before the request. A grant whose execution could not be written into the status is released
// again when the write was refused (nothing can have started under it). When it is unknown whether the status was written, the
// engine forgets the grant: it is adopted if it was written, and runs out if not.
// Results: LeaseGranted, LeaseHeldByOther, LeaseQuarantined, AcquireUnknown, StoreUnreachable.
type AcquireLease struct {
	// Floor is the highest token that any ReportJob of this jobID was granted, in decimal; empty when none is known.
	Floor string
	// Longest is the longest lease that any ReportJob of this jobID may hold; 0 when none is known.
	Longest time.Duration
	// Skip says that the report ends when another execution holds the lease.
	Skip bool
	// Ahead is how many others have waited for longer: who is not the first asks less often.
	Ahead int
}

// AdoptLease lets the engine track the lease of an execution that another process acquired; it counts as held after a
// confirmed renewal only. It does not wait for Redis. Result: Done.
type AdoptLease struct {
	Owner, Token, LeaseKey string
}

// CreateJob creates the Job of status.execution. It is sent only while the engine says, at that very instant, that the lease
// is held. AlreadyExists is followed by a live read: a Job of ours with this token is adopted, any other is JobRefused.
// Results: JobCreated, JobRefused, Failed.
type CreateJob struct {
	Name string
}

// DeleteJob deletes a Job with propagation Foreground and its UID as precondition. Not found and another UID are Done.
// Results: Done, Failed.
type DeleteJob struct {
	Name string
	UID  types.UID
}

// DeletePods deletes pods, each with its UID as precondition. Not found and another UID are Done. Results: Done, Failed.
type DeletePods struct {
	Pods []PodRef
	// Grace is the time from SIGTERM to SIGKILL, in whole seconds, at least 1s.
	Grace time.Duration
}

// PodRef names one pod.
type PodRef struct {
	Name string
	UID  types.UID
}

// HaltRenewal tells the engine to renew the lease no more and to keep its last state. Result: Done.
type HaltRenewal struct {
	Owner, Token, LeaseKey string
}

// ForgetLease tells the engine to drop the lease; an untracked lease is Done. Result: Done.
type ForgetLease struct {
	Owner, Token, LeaseKey string
}

// ReleaseLease gives the lease back in Redis if owner and token still hold it.
// Results: LeaseReleased, LeaseGone, LeaseOfOther, ReleaseUnknown, StoreUnreachable.
type ReleaseLease struct {
	Owner, Token, LeaseKey string
	// Once says that nothing waits for the answer: without one the report ends, and the release is repeated beside it until Redis
	// answers or the lease must have run out. Otherwise the report waits, and the attempt is repeated until Redis answers.
	Once bool
}

// DeleteReportJob deletes the ReportJob, with the observed UID and resource version as preconditions. Not found is Done.
// Results: Done, Failed.
type DeleteReportJob struct{}

// RemoveFinalizer takes v1alpha1.Finalizer off the ReportJob. One that is being deleted may be gone right after, so its status is
// not written any more; that of another carries the resource version that this update returned. Not found is Done. Results:
// Done, Failed.
type RemoveFinalizer struct{}

func (AddFinalizer) isAction()    {}
func (AcquireLease) isAction()    {}
func (AdoptLease) isAction()      {}
func (CreateJob) isAction()       {}
func (DeleteJob) isAction()       {}
func (DeletePods) isAction()      {}
func (HaltRenewal) isAction()     {}
func (ForgetLease) isAction()     {}
func (ReleaseLease) isAction()    {}
func (RemoveFinalizer) isAction() {}
func (DeleteReportJob) isAction() {}
