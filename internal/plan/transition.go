package plan

import (
	"time"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Transition is one step in the life of a ReportJob. Status, events, metrics and the structured log all come from it, and
// only after the status with it was written.
type Transition struct {
	// At is the now of the decision.
	At time.Time
	// Event names the step in the log line and in the status, in snake_case: one of the Event constants.
	Event string
	// Reason says in one word why, Message in a sentence what happened.
	Reason, Message string
	// JobID is the logical identity.
	JobID string
	// ExecutionID and Token are those of the execution; empty before there is one.
	ExecutionID, Token string
	// Attempt is the number of the execution, from 1, and RetryOf the execution ID of the attempt before; zero before there is one.
	Attempt int32
	RetryOf string
	// Trigger is spec.trigger: what caused the report.
	Trigger *v1alpha1.Trigger
	// Pod is the name of the execution's pod; empty before it is known.
	Pod string
	// Elapsed is the time since the lease was acquired, by the operator's clock; zero before.
	Elapsed time.Duration
	// RenewalOutcome is the engine's last word on the lease: Held, Lost, Uncertain, ...; empty before there is a lease.
	RenewalOutcome string
	// Notice is the Kubernetes event to emit; its zero value means none.
	Notice Notice
}

// Notice is the part of a Kubernetes event that a transition does not say already.
type Notice struct {
	// Type is Normal or Warning.
	Type string
	// Reason is one of the Event constants of the API.
	Reason string
}

// The types of Kubernetes events, as core/v1 has them.
const (
	NoticeNormal  = "Normal"
	NoticeWarning = "Warning"
)

// The steps in the life of a ReportJob.
const (
	// EventWaiting: another execution holds the lease.
	EventWaiting = "lease_waiting"
	// EventStoreUnreachable: Redis gives no usable answer.
	EventStoreUnreachable = "store_unreachable"
	// EventStoreReachable: Redis answers again.
	EventStoreReachable = "store_reachable"
	// EventAcquireUnknown: whether the lease was granted is unknown.
	EventAcquireUnknown = "lease_acquire_unknown"
	// EventAcquired: the lease is granted.
	EventAcquired = "lease_acquired"
	// EventGuardOff: nothing in the pod stops the report by itself.
	EventGuardOff = "guard_off"
	// EventUnused: the lease was granted and nothing ran under it.
	EventUnused = "lease_unused"
	// EventQuarantined: Redis may have forgotten who holds the lease.
	EventQuarantined = "lease_quarantined"
	// EventAdopting: a restarted operator asks Redis to confirm the lease.
	EventAdopting = "lease_adopting"
	// EventAdopted: Redis confirmed the lease to a restarted operator.
	EventAdopted = "lease_adopted"
	// EventJobCreated: the Job exists.
	EventJobCreated = "job_created"
	// EventJobRefused: the API server refuses the Job.
	EventJobRefused = "job_refused"
	// EventRunning: the pod runs.
	EventRunning = "report_running"
	// EventLost: Redis says that the lease is gone or another's.
	EventLost = "lease_lost"
	// EventUncertain: no renewal was confirmed in time.
	EventUncertain = "ownership_uncertain"
	// EventStopRequested: the operator decided to stop the report.
	EventStopRequested = "job_stop_requested"
	// EventStopConfirmed: no pod of the token lives.
	EventStopConfirmed = "job_stop_confirmed"
	// EventSucceeded: the report exited 0 under its lease.
	EventSucceeded = "report_succeeded"
	// EventFailed: the report ended without success.
	EventFailed = "report_failed"
	// EventReleased: the lease was given back.
	EventReleased = "lease_released"
	// EventLapses: the lease runs out by itself.
	EventLapses = "lease_lapses"
	// EventFinished: the ReportJob is over.
	EventFinished = "report_finished"
	// EventWaitTimeout: the lease was not free in time.
	EventWaitTimeout = "wait_timeout"
	// EventSkipped: another execution holds the lease, and the report does not wait for it.
	EventSkipped = "report_skipped"
	// EventRetrying: an attempt ended, and another one follows.
	EventRetrying = "report_retrying"
	// EventSuspended: spec.suspend keeps the report from starting.
	EventSuspended = "report_suspended"
	// EventResumed: spec.suspend is false again.
	EventResumed = "report_resumed"
	// EventStopUnconfirmed: the proof of a stop is overdue.
	EventStopUnconfirmed = "job_stop_unconfirmed"
	// EventSuperseded: the report goes on with a higher token without the proof.
	EventSuperseded = "token_superseded"
	// EventForceReleaseIgnored: the annotation force-release names another token.
	EventForceReleaseIgnored = "force_release_ignored"
	// EventLeaseKeyNotAllowed: the operator does not grant spec.leaseKey.
	EventLeaseKeyNotAllowed = "lease_key_not_allowed"
)

// maxTransitions is how many transitions a status keeps; the API's limit of status.transitions.
const maxTransitions = 20

// Record appends transitions to those of a status and keeps the last 20. It changes neither argument.
func Record(kept []v1alpha1.Transition, transitions []Transition) []v1alpha1.Transition {
	if len(transitions) == 0 {
		return kept
	}
	all := make([]v1alpha1.Transition, 0, len(kept)+len(transitions))
	all = append(all, kept...)
	for i := range transitions {
		all = append(all, transitions[i].record())
	}
	return all[max(0, len(all)-maxTransitions):]
}

func (t *Transition) record() v1alpha1.Transition {
	return v1alpha1.Transition{
		At: microTime(t.At), Event: t.Event, Reason: t.Reason, Message: t.Message, ExecutionID: t.ExecutionID, Token: t.Token,
	}
}
