package controller

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// Leases renews what was granted; renewal.Engine does. The subject of a lease is the ReportJob's namespace/name, so that a
// signal about it names what to reconcile.
type Leases interface {
	Reserve(subject renewal.Subject, scope lease.Scope, owner lease.Owner)
	Track(subject renewal.Subject, grant lease.Grant, timing lease.Timing) bool
	Adopt(subject renewal.Subject, term lease.Term, timing lease.Timing)
	Vouch(subject renewal.Subject)
	Halt(subject renewal.Subject)
	Forget(subject renewal.Subject)
	State(subject renewal.Subject) renewal.State
	Summary() (counts map[renewal.Phase]int, least time.Duration)
}

func subjectOf(name types.NamespacedName) renewal.Subject { return renewal.Subject(name.String()) }

func nameOf(subject renewal.Subject) types.NamespacedName {
	namespace, name, _ := strings.Cut(string(subject), string(types.Separator))
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// grantRef is how actions and status name a grant.
type grantRef struct{ Owner, Token, LeaseKey string }

func refOf(execution *v1alpha1.Execution) grantRef {
	return grantRef{execution.Owner, execution.Token, execution.LeaseKey}
}

// term reads the grant. It fails only on a status that this operator did not write.
func (g grantRef) term() (lease.Term, error) {
	token, err := lease.ParseToken(g.Token)
	if err != nil {
		return lease.Term{}, err
	}
	scope := scopeOf(g.LeaseKey)
	if scope.LeaseKey() != g.LeaseKey {
		return lease.Term{}, fmt.Errorf("%q is not the key of a lease", g.LeaseKey)
	}
	return lease.Term{Scope: scope, Owner: lease.Owner(g.Owner), Token: token}, nil
}

// scopeOf takes the scope out of a lease key: what stands between the braces of the hash tag.
func scopeOf(leaseKey string) lease.Scope {
	_, rest, _ := strings.Cut(leaseKey, "{")
	scope, _, _ := strings.Cut(rest, "}")
	return lease.Scope(scope)
}

// leaseOf is the scope of a ReportJob's lease. A leaseKey has no slash, so it is never that of a namespace and a jobID.
func leaseOf(reportJob *v1alpha1.ReportJob) lease.Scope {
	if reportJob.Spec.LeaseKey != "" {
		return lease.Scope(reportJob.Spec.LeaseKey)
	}
	return lease.ScopeFor(reportJob.Namespace, reportJob.JobID())
}

// view is what the engine knows of the lease of an execution. What it knows of another lease of the same ReportJob is none of
// this execution's business.
func (r *ReportJobReconciler) view(name types.NamespacedName, ref grantRef) plan.LeaseView {
	state := r.Leases.State(subjectOf(name))
	term, err := ref.term()
	if err != nil || state.Term != term {
		return plan.LeaseView{Phase: plan.LeaseUntracked}
	}
	view := plan.LeaseView{Phase: leasePhases[state.Phase], Detail: state.Detail}
	if state.LastResult == renewal.NotExecuted || state.LastResult == renewal.Unknown {
		view.StoreError = state.Detail
	}
	return view
}

var leasePhases = map[renewal.Phase]plan.LeasePhase{
	renewal.Untracked: plan.LeaseUntracked,
	renewal.Acquiring: plan.LeaseUntracked, // nothing is granted, or nobody knows yet
	renewal.Adopting:  plan.LeaseAdopting,
	renewal.Held:      plan.LeaseHeld,
	renewal.Lost:      plan.LeaseLost,
	renewal.Uncertain: plan.LeaseUncertain,
	renewal.Halted:    plan.LeaseHalted,
}

// vouch says to the engine that the execution's ReportJob is there and looked after. What the engine has for a ReportJob without
// an execution was granted to one of the same name that is gone, and is not renewed any more.
func (r *ReportJobReconciler) vouch(reportJob *v1alpha1.ReportJob) {
	name := client.ObjectKeyFromObject(reportJob)
	if execution := reportJob.Status.Execution; execution == nil {
		r.Leases.Forget(subjectOf(name))
	} else if r.view(name, refOf(execution)).Phase != plan.LeaseUntracked {
		r.Leases.Vouch(subjectOf(name))
	}
}

// timingOf reads the durations of the spec that the lease is renewed by. The API server lets none through that cannot be read.
func timingOf(spec *v1alpha1.ReportJobSpec) (lease.Timing, error) {
	var timing lease.Timing
	for _, field := range []struct {
		name  string
		value v1alpha1.Duration
		into  *time.Duration
	}{
		{"leaseDuration", spec.LeaseDuration, &timing.LeaseDuration},
		{"renewalInterval", spec.RenewalInterval, &timing.RenewalInterval},
		{"stopGracePeriod", spec.StopGracePeriod, &timing.StopGracePeriod},
		{"renewalTimeout", orZero(spec.RenewalTimeout), &timing.RenewalTimeout},
	} {
		parsed, err := time.ParseDuration(string(field.value))
		if err != nil {
			return lease.Timing{}, fmt.Errorf("spec.%s is %q, which is no duration such as 30s or 1m30s: %w",
				field.name, field.value, err)
		}
		*field.into = parsed
	}
	return timing, timing.Validate()
}

func orZero(d *v1alpha1.Duration) v1alpha1.Duration {
	if d == nil {
		return "0s"
	}
	return *d
}
