// Package plan decides what happens to a ReportJob. It is pure: an Observation and an instant give a Decision, a Decision
// and the results of its actions give a Settled. There is no clock, client, context, log or chance in it.
//
// # One reconcile
//
//	observe ──► Decide ──► ReadLive? ──yes──► observe live, Decide again
//	                          │no
//	                          ▼
//	            act in order, stop at the first Failed ──► Settle ──► write the status once ──► announce the transitions
//
// The status is written with the resource version that was observed. If that write is refused as a conflict, nothing is
// announced, and the next reconcile decides anew. Every status write must wake the reconciler; its own watch on ReportJobs
// does that. RequeueAfter only covers what no watch tells: deadlines, and the answer of Redis.
//
// # The rule list
//
// The state machine is the slice named rules, tried from the top; the first rule that matches decides. A rule needs no other
// rule to be tried before it to be safe from nil, but its place says what it yields to:
//
//   - what is recorded in the status comes before what is merely seen: an execution whose stop is recorded is stopped,
//     whatever its pod or Redis say later;
//   - a loss of the lease comes before the outcome of the pod, and the outcome before the deadline;
//   - a rule that follows from the absence of something, or after which nothing can be taken back, asks for a live observation
//     first.
//
// # States and who moves them
//
// The phases are for people; what the rules look at is set or unset once: execution, stop, stop.confirmedAt, completion and
// the condition Finished, in this order, never back. An execution that never had a Job goes away again, with its stop; one that
// ended without success goes among the attempts, with its stop and its completion, when another attempt follows.
//
//	            AcquireLease          CreateJob            kubelet               RecordOutcome      FinishReport
//	Pending ──► Waiting ──────► Starting ───────► Starting ───────► Running ──────────────► Completing ────► Succeeded
//	 │  ▲          │            (execution        (Job exists)         │                   (completion    │    or Failed
//	 │  │          │             written)             │                │                    written)      │       │
//	 │  │          │ GiveUpWaiting    └───────┬───────┴────────────────┘                       ▲          │       │ ExpireFinished
//	 │  │          ▼ or Skip                  │ LeaseLost, OwnershipUncertain, Deleted,        │          │       ▼
//	 │  │       Skipped                       │ ForceReleased, Suspend, NodeLost,              │ ConfirmStop    gone
//	 │  │                                     ▼ MaxRuntimeExceeded, JobDisturbed, GiveWay      │ or Supersede
//	 │  │                                 Stopping (stop written) ──── Stop, again and again ──┘          │
//	 │  │                                     └──── GiveBackUnused (there never was a Job) ────► Waiting  │
//	 │  └────────────── BackOff, StaySuspended ◄───────────── another attempt follows (Verdict) ──────────┘
//	 └── LetGo (deleted)
//
// # Scenarios
//
// A. A report that succeeds. Each line is one reconcile; W is its status write.
//
//	AcquireLease   AcquireLease → granted                       W execution{owner, token}   Starting
//	CreateJob      (live) AddFinalizer, CreateJob → created     W jobUID                    Starting
//	Watch          pod runs                                     W startedAt, pod            Running
//	RecordOutcome  pod Succeeded, containers terminated, 0      W completion                Completing
//	FinishReport   ForgetLease, ReleaseLease → released         W Finished                  Succeeded
//	StayFinished   RemoveFinalizer                                                          Succeeded
//
// B. A report whose lease is stolen.
//
//	LeaseLost      engine: Lost                                 W stop{LeaseLost}           Stopping
//	Stop           HaltRenewal, DeleteJob, DeletePods(grace)                                Stopping
//	ConfirmStop    (live) pod terminated or gone                W confirmedAt, completion   Completing
//	FinishReport   ForgetLease; nothing to give back            W Finished                  Failed
//
// C. A crash between any two steps. What is written is found again: an execution without a Job is adopted (AdoptLease, a
// confirmed renewal) and then gets its Job, under the same token; a Job that was created and not written down is found by its
// name and token; a stop is carried out again; an outcome is completed. A grant that was not written down is not known to
// anyone and runs out, and nothing ever ran under it.
//
// D. A deleted ReportJob. Its finalizer holds it: Deleted, Stop, ConfirmStop, FinishReport as in B, but the lease is renewed
// until the stop is confirmed and then given back; LetGo takes the finalizer off. Without Redis the lease runs out instead.
//
// E. A pod that is gone and nobody saw how. It is no success: Failed, PodVanished, and its lease runs out by itself.
//
// F. Redis loses its data, or another one takes the lease, while a report runs and a sibling (another ReportJob of its jobID)
// waits. The API server still shows the execution, so WaitForSibling asks for no lease until that one is finished and no Job or
// pod of it may live; the first report is stopped by LeaseLost as in B.
//
// G. Two executions of one jobID, neither with a Job: both were written down before each saw the other, by operators whose caches
// lag. CreateJob is decided on live reads that come after that write, so at least one of them sees the other. The older one gives
// way (GiveWay, GiveBackUnused); the newer one waits for that. Whoever has a Job is given way to. So none waits for one that
// waits for it.
//
// H. A lease that goes before the Job was created: LeaseLost or OwnershipUncertain records the stop, and since there never was a
// Job, GiveBackUnused takes the execution back. Nothing ran, and the report waits for another lease.
//
// I. An attempt that fails, is evicted, loses its lease or its node: its completion is recorded and its lease dealt with as in A
// or B, and Verdict reads off what is recorded whether another one follows. Then the same write that would finish the report
// puts the execution among the attempts. BackOff waits; AcquireLease asks anew, for a higher token. If the end of the old
// process is not proven, its lease runs out by itself first, and Redis is the judge of that.
//
// J. A report that is suspended: Suspend, Stop, ConfirmStop and FinishReport as in B, and then StaySuspended, which asks for
// nothing until spec.suspend is false. Nothing is counted.
//
// K. A node that does not answer. The control plane deletes the pod (NodeLost), and nobody confirms its end. With lostNode Wait
// the stop goes on being carried out, StopConfirmed is Unknown and says what a person can do. With FenceAndTakeOver, or when a
// person vouches for the end by its token, Supersede records that the proof is given up; nobody waits for what is left of that
// token.
//
// # What is recorded before it is done
//
//   - The execution, and then the finalizer, before the Job exists: the reconcile that acquires creates nothing.
//   - The reason of a stop, before anything is deleted: the reconcile that records it deletes nothing.
//   - The outcome, before the lease is given back.
//
// # Who renews, who releases
//
//	situation                                        renewed             afterwards
//	Starting, Running, pod terminating by itself     yes                 -
//	stop: Deleted, MaxRuntime, JobDisturbed,
//	Vanished, Suspended, NodeLost with Wait          until confirmed     released, if every process is proven gone
//	stop: NodeLost with FenceAndTakeOver             no                  runs out
//	stop: ForceReleased                              until superseded    released
//	stop: LeaseLost                                  no                  nothing to release
//	stop: OwnershipUncertain                         no                  released, if every process is proven gone
//	stopped before it had a Job                      no                  released
//	outcome recorded, containers reported terminated until released      released
//	outcome recorded, end of the processes not seen  no                  runs out
//
// A process is proven gone when the kubelet reported every container of its pod terminated, or when no Job ever existed. A
// pod that was written off by the control plane (DeletionByPodGC), or is just not there any more, proves nothing; nor does a
// disturbed Job, which may have had a second pod.
//
// # What is promised
//
// No pod is created without an execution written down under a granted lease. A lease is never given back before its processes
// are proven gone. Two executions of a jobID in one namespace never have living pods that the API server shows both, whatever
// Redis forgets or others do to the lease. At most one pod of a jobID lives at a time, in all clusters, as long as
//
//   - no lease is taken or removed in Redis by someone else and none runs out under a living report. With guard Off either is
//     an overlap of at most the time the stop takes;
//   - no pod vanishes from the API while its process lives on (forced deletion, a Node object removed too early);
//     the lease then runs out by itself, unless its Job made two pods of which nobody ever saw that one;
//   - no token is superseded while its process lives, by lostNode FenceAndTakeOver or a person who was wrong;
//   - no request to create a Job takes effect after the lease under which it was sent has ended, or after the end of its
//     execution was recorded. Only a second operator that was held up between its live read and its request can do that.
//
// In these cases the older report is found and stopped; its writes are for the destination to refuse, by the token.
package plan
