package plan

import "time"

// rule is one transition of the state machine: it looks at the case and either decides or passes.
type rule struct {
	name   string
	decide func(*matter) *draft
}

// rules is the state machine: the first rule that matches decides. What ends a report comes before what starts or watches
// one, and what is recorded comes before what is merely seen, so that a recorded loss outlives a later success.
var rules = []rule{
	// The end of the object and of the report.
	{"LetGo", letGo},                   // deleted, and nothing of ours runs or ever ran: take the finalizer off
	{"RemoveLateJob", removeLateJob},   // the end is recorded, yet something appeared afterwards: delete that
	{"ExpireFinished", expireFinished}, // finished for ttlSecondsAfterFinished: delete the ReportJob
	{"StayFinished", stayFinished},     // finished: nothing changes any more
	{"GiveBackUnused", giveBackUnused}, // a stop is recorded and there never was a Job: wait for another lease
	{"ConfirmStop", confirmStop},       // a stop is recorded and no pod of the token lives: say so
	{"Supersede", supersede},           // the proof is overdue or a person vouches: go on without it
	{"Stop", stop},                     // a stop is recorded: carry it out, again and again
	{"FinishReport", finishReport},     // the outcome is recorded: deal with the lease, then try again or finish
	// Reasons to stop, the gravest first. Each is recorded now and carried out later.
	{"LeaseLost", leaseLost},
	{"OwnershipUncertain", ownershipUncertain},
	{"Deleted", deleted},
	// The end by itself.
	{"RecordOutcome", recordOutcome},
	// Milder reasons to stop.
	{"ForceReleased", forceReleased},
	{"Suspend", suspend},
	{"NodeLost", nodeLost},
	{"MaxRuntimeExceeded", maxRuntimeExceeded},
	{"JobDisturbed", jobDisturbed},
	{"GiveWay", giveWay}, // two executions of one jobID: the one without a Job, or the older one, makes room
	// The way forward.
	{"AdoptLease", adoptLease},         // an execution that this process does not renew yet
	{"RemoveStrayJob", removeStrayJob}, // a Job of ours under another token: nothing starts beside it
	{"StaySuspended", staySuspended},   // spec.suspend: ask for nothing
	{"BackOff", backOff},               // an attempt failed a moment ago: wait
	{"GiveUpWaiting", giveUpWaiting},   // the lease was not free in time
	{"RefuseLeaseKey", refuseLeaseKey}, // the operator does not grant spec.leaseKey
	{"WaitForSibling", waitForSibling}, // another execution of the jobID is not proven ended: nothing starts beside it
	{"CreateJob", createJob},           // an execution is written down and has no Job
	{"Watch", watch},                   // an execution starts or runs
	{"AcquireLease", acquireLease},     // everything else: ask for the lease
}

// RuleNames returns the names of the rules in the order in which they are tried.
func RuleNames() []string {
	names := make([]string, len(rules))
	for i := range rules {
		names[i] = rules[i].name
	}
	return names
}

// Decide returns the decision of the first rule that matches. The last rule matches whatever no other one does.
func Decide(observation Observation, now time.Time) Decision {
	m := newMatter(&observation, now)
	for i := 0; ; i++ {
		if d := rules[i].decide(m); d != nil {
			return d.decision(rules[i].name)
		}
	}
}
