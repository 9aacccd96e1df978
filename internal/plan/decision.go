package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Decision is what one observation leads to. The controller carries the actions out in order, stops at the first Failed,
// gives the results to Settle and writes the status that comes out of it, once.
type Decision struct {
	// Rule is the name of the rule that matched.
	Rule string
	// ReadLive asks for an observation with Live set before anything is decided: nothing else is set, nothing is to be done
	// or written. A live observation never leads to it.
	ReadLive bool
	// Actions are the effects, in order.
	Actions []Action
	// Status is the wanted status if every action that can tell nothing new is Done; Settle completes it.
	Status v1alpha1.ReportJobStatus
	// Transitions are the steps that the decision itself takes; Settle adds those that depend on the results.
	Transitions []Transition
	// RequeueAfter is when to look again if nothing else calls; 0 means never.
	RequeueAfter time.Duration
	// At is the now of the decision.
	At time.Time
	// Lease is the engine's view that the decision is based on.
	Lease LeaseView
	// Next is what comes after the end of the execution, if the lease is dealt with now.
	Next Verdict
	// Trigger is spec.trigger.
	Trigger *v1alpha1.Trigger
}

// Settled is the end of a reconcile: what to write, and what to announce once it is written.
type Settled struct {
	// Status is to be written with the resource version that was observed, if it differs from the status observed.
	Status v1alpha1.ReportJobStatus
	// Transitions are to be announced after the write, and not at all if it failed.
	Transitions []Transition
	// RequeueAfter is when to look again if nothing else calls; 0 means never.
	RequeueAfter time.Duration
}

// microTime is how the status tells an instant: UTC, in microseconds, as it comes back from the API server.
func microTime(t time.Time) metav1.MicroTime {
	return metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
}
