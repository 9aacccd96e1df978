package v1alpha1

// Condition types of a ReportJob. Each is present from the first decision that concerns it.
const (
	// ConditionStoreReachable: the last request to Redis got a usable answer.
	ConditionStoreReachable = "StoreReachable"
	// ConditionLeaseHeld: the execution holds its lease, and the last renewal that was due is confirmed or may still be.
	ConditionLeaseHeld = "LeaseHeld"
	// ConditionGuarded: something in the pod stops the report by itself when its lease is gone.
	ConditionGuarded = "Guarded"
	// ConditionOwnershipUncertain: whether the execution still held its lease was unknown for too long. Final.
	ConditionOwnershipUncertain = "OwnershipUncertain"
	// ConditionStopRequested: the operator decided to stop the execution. Final.
	ConditionStopRequested = "StopRequested"
	// ConditionStopConfirmed: no pod with the execution's token lives. Unknown: that is overdue, and nobody can prove it.
	ConditionStopConfirmed = "StopConfirmed"
	// ConditionSuspended: spec.suspend keeps the report from starting. Present once it did.
	ConditionSuspended = "Suspended"
	// ConditionFinished: the ReportJob is over; wait for it with kubectl wait --for=condition=Finished.
	ConditionFinished = "Finished"
)

// Reasons of conditions, stops, completions and of status.reason.
const (
	// ReasonAccepted: the ReportJob is accepted and nothing else is decided yet.
	ReasonAccepted = "Accepted"
	// ReasonReachable: Redis answers.
	ReasonReachable = "Reachable"
	// ReasonUnreachable: Redis does not answer, or answers something that is no use.
	ReasonUnreachable = "StoreUnreachable"
	// ReasonStoreRefuses: Redis answers and refuses what it is asked for; the message says what it said and what to do.
	ReasonStoreRefuses = "StoreRefuses"
	// ReasonQuarantined: Redis may have forgotten who holds the lease, and grants nothing until that one must have ended.
	ReasonQuarantined = "LeaseQuarantined"
	// ReasonSiblingAlive: another execution of the jobID is not proven ended, by what the API server shows: a report waits for it,
	// or an execution without a Job is stopped in its favour.
	ReasonSiblingAlive = "SiblingAlive"
	// ReasonLeaseHeldByOther: another execution holds the lease.
	ReasonLeaseHeldByOther = "LeaseHeldByOther"
	// ReasonAcquireUnknown: whether an attempt to acquire took effect is unknown; it is withdrawn or left to lapse.
	ReasonAcquireUnknown = "AcquireUnknown"
	// ReasonLeaseAcquired: the lease is granted.
	ReasonLeaseAcquired = "LeaseAcquired"
	// ReasonLeaseUnused: the lease was granted and went, or gave way, before a Job was created; it is asked for again.
	ReasonLeaseUnused = "LeaseUnused"
	// ReasonLeaseAdopted: a restarted operator confirmed the lease by a renewal.
	ReasonLeaseAdopted = "LeaseAdopted"
	// ReasonAdopting: a restarted operator has asked Redis to confirm the lease and has no answer yet.
	ReasonAdopting = "Adopting"
	// ReasonLeaseReleased: the lease was given back after the report ended.
	ReasonLeaseReleased = "LeaseReleased"
	// ReasonLeaseLapses: the lease is not given back but runs out by itself, since the end of the process is not proven.
	ReasonLeaseLapses = "LeaseLapses"
	// ReasonLeaseLost: Redis says that the lease is gone or another's.
	ReasonLeaseLost = "LeaseLost"
	// ReasonOwnershipUncertain: no renewal was confirmed in time.
	ReasonOwnershipUncertain = "OwnershipUncertain"
	// ReasonMaxRuntimeExceeded: the execution ran for maxRuntime.
	ReasonMaxRuntimeExceeded = "MaxRuntimeExceeded"
	// ReasonJobDisturbed: the Job was deleted, suspended or is not the one that was created; its pod was deleted, or a second
	// one appeared.
	ReasonJobDisturbed = "JobDisturbed"
	// ReasonJobRefused: the API server refused the Job, so the report cannot start.
	ReasonJobRefused = "JobRefused"
	// ReasonJobForbidden: a quota, a policy or a webhook forbade the Job; the next attempt may be allowed.
	ReasonJobForbidden = "JobForbidden"
	// ReasonDeleted: the ReportJob was deleted while its report ran.
	ReasonDeleted = "Deleted"
	// ReasonJobCreated: the Job exists and its pod does not run yet.
	ReasonJobCreated = "JobCreated"
	// ReasonPodRunning: the pod runs.
	ReasonPodRunning = "PodRunning"
	// ReasonPodSucceeded: the report exited 0.
	ReasonPodSucceeded = "PodSucceeded"
	// ReasonPodFailed: the report ended by itself without success.
	ReasonPodFailed = "PodFailed"
	// ReasonOOMKilled: the report used more memory than its limit.
	ReasonOOMKilled = "OOMKilled"
	// ReasonPodDisrupted: the pod was evicted, preempted, drained or deleted, and ended without success.
	ReasonPodDisrupted = "PodDisrupted"
	// ReasonNodeLost: the node of the pod does not answer, so nobody knows whether the report still runs.
	ReasonNodeLost = "NodeLost"
	// ReasonPodVanished: the pod is gone and nobody saw how it ended.
	ReasonPodVanished = "PodVanished"
	// ReasonPodsGone: no pod of the token is left, or every container of it is reported terminated.
	ReasonPodsGone = "PodsGone"
	// ReasonPodsAlive: a pod of the token is left and not reported terminated.
	ReasonPodsAlive = "PodsAlive"
	// ReasonStopUnconfirmed: the pod should have ended by now and nobody can prove that it has.
	ReasonStopUnconfirmed = "StopUnconfirmed"
	// ReasonTokenSuperseded: the report goes on with a higher token although the end of the old process is not proven.
	ReasonTokenSuperseded = "TokenSuperseded"
	// ReasonForceReleased: a person said by the annotation leasehold.dev/force-release that the execution is over.
	ReasonForceReleased = "ForceReleased"
	// ReasonSuspended: spec.suspend keeps the report from starting, or stopped it.
	ReasonSuspended = "Suspended"
	// ReasonResumed: spec.suspend is false again.
	ReasonResumed = "Resumed"
	// ReasonBackOff: an attempt failed, and the next one begins after a while.
	ReasonBackOff = "BackOff"
	// ReasonLeaseKeyNotAllowed: the operator's flag --shared-lease-keys does not allow spec.leaseKey.
	ReasonLeaseKeyNotAllowed = "LeaseKeyNotAllowed"
	// ReasonWaitTimeout: the lease was not free within contention.timeout.
	ReasonWaitTimeout = "WaitTimeout"
	// ReasonGuardOff: guard is Off, so the operator alone stops the report and overlap is possible.
	ReasonGuardOff = "GuardOff"
	// ReasonNotFinished: the report is still to come or under way.
	ReasonNotFinished = "NotFinished"
)

// Reasons of events, at most one event for a transition.
const (
	// EventWaitingForLease: another execution holds the lease, or may.
	EventWaitingForLease = "WaitingForLease"
	// EventStoreUnreachable: Redis does not answer (Warning).
	EventStoreUnreachable = "StoreUnreachable"
	// EventLeaseAcquired: the lease is granted.
	EventLeaseAcquired = "LeaseAcquired"
	// EventLeaseUnused: the lease was granted and nothing ran under it (Warning).
	EventLeaseUnused = "LeaseUnused"
	// EventLeaseAdopted: a restarted operator took the lease over by a confirmed renewal.
	EventLeaseAdopted = "LeaseAdopted"
	// EventGuardOff: nothing in the pod stops the report by itself (Warning).
	EventGuardOff = "GuardOff"
	// EventJobCreated: the Job was created.
	EventJobCreated = "JobCreated"
	// EventReportRunning: the pod runs.
	EventReportRunning = "ReportRunning"
	// EventLeaseLost: Redis says that the lease is gone or another's (Warning).
	EventLeaseLost = "LeaseLost"
	// EventOwnershipUncertain: no renewal was confirmed in time (Warning).
	EventOwnershipUncertain = "OwnershipUncertain"
	// EventStopRequested: the operator stops the report (Warning).
	EventStopRequested = "StopRequested"
	// EventStopConfirmed: no pod of the token lives.
	EventStopConfirmed = "StopConfirmed"
	// EventLeaseReleased: the lease was given back.
	EventLeaseReleased = "LeaseReleased"
	// EventLeaseLapses: the lease runs out by itself (Warning).
	EventLeaseLapses = "LeaseLapses"
	// EventReportSucceeded: the report exited 0.
	EventReportSucceeded = "ReportSucceeded"
	// EventReportFailed: the report ended without success (Warning).
	EventReportFailed = "ReportFailed"
	// EventReportRetrying: an attempt ended without success, and another one follows.
	EventReportRetrying = "ReportRetrying"
	// EventReportSkipped: another execution holds the lease, and contention.policy is Skip.
	EventReportSkipped = "ReportSkipped"
	// EventReportSuspended: spec.suspend keeps the report from starting.
	EventReportSuspended = "ReportSuspended"
	// EventReportResumed: spec.suspend is false again.
	EventReportResumed = "ReportResumed"
	// EventStopUnconfirmed: the pod should have ended by now and nobody can prove that it has (Warning).
	EventStopUnconfirmed = "StopUnconfirmed"
	// EventTokenSuperseded: the report goes on with a higher token without the proof (Warning).
	EventTokenSuperseded = "TokenSuperseded"
	// EventForceReleaseIgnored: the annotation names another token than that of the execution (Warning).
	EventForceReleaseIgnored = "ForceReleaseIgnored"
	// EventLeaseKeyNotAllowed: the operator does not grant spec.leaseKey (Warning).
	EventLeaseKeyNotAllowed = "LeaseKeyNotAllowed"
	// EventWaitTimeout: the lease was not free in time (Warning).
	EventWaitTimeout = "WaitTimeout"
)
