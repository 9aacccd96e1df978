package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
	"github.com/leasehold-dev/leasehold/internal/plan"
	"github.com/leasehold-dev/leasehold/internal/resources"
)

// storeTimeout bounds one request to Redis. Who waits for a lease waits longer; a worker that waits for Redis does nothing
// else.
const storeTimeout = 3 * time.Second

// errTooLate is what becomes of a grant that the engine does not take.
var errTooLate = errors.New("the lease was granted too late to be relied on, or is not wanted any more")

// acquire asks once for the lease.
func (a *actor) acquire(ctx context.Context, action plan.AcquireLease) (plan.Result, error) {
	request, timing, err := a.acquireRequest(action)
	if err != nil {
		return nil, fmt.Errorf("ReportJob %s: ask for its lease: %w", a.name, err)
	}
	// Who has no execution has no lease. What the engine may still renew under this name was granted to a ReportJob that is gone.
	a.Leases.Reserve(subjectOf(a.name), request.Scope, request.Owner)
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	grant, err := a.Store.Acquire(ctx, request)
	if err == nil && !a.Leases.Track(subjectOf(a.name), grant, timing) {
		err = &lease.UnknownError{Address: a.Store.Address(), Cause: errTooLate}
	}
	if err != nil {
		a.Leases.Forget(subjectOf(a.name))
		return a.notGranted(ctx, request, err), nil
	}
	a.acted.granted = &grant.Term
	owner, token := string(grant.Term.Owner), grant.Term.Token.String()
	return plan.LeaseGranted{
		Owner: owner, Token: token, LeaseKey: grant.Term.Scope.LeaseKey(),
		Job: resources.JobName(a.reportJob.Name, token, owner),
	}, nil
}

func (a *actor) acquireRequest(action plan.AcquireLease) (lease.AcquireRequest, lease.Timing, error) {
	timing, err := timingOf(&a.reportJob.Spec)
	if err != nil {
		return lease.AcquireRequest{}, timing, err
	}
	request := lease.AcquireRequest{
		Scope: leaseOf(a.reportJob),
		TTL:   timing.LeaseDuration, Longest: min(action.Longest, lease.MaxLeaseDuration),
	}
	if action.Floor != "" {
		if request.Floor, err = lease.ParseToken(action.Floor); err != nil {
			return request, timing, err
		}
	}
	request.Owner, err = lease.NewOwner(a.Random)
	return request, timing, err
}

// notGranted tells the three ways apart in which a lease is not granted. A request whose outcome is unknown is withdrawn once;
// if that fails too, what it may have been granted runs out by itself.
func (a *actor) notGranted(ctx context.Context, request lease.AcquireRequest, err error) plan.Result {
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		return plan.LeaseHeldByOther{Owner: string(held.Owner), Token: tokenText(held.Token), ExpiresIn: held.ExpiresIn,
			LeaseKey: held.Scope.LeaseKey()}
	}
	if quarantined, ok := errors.AsType[*lease.QuarantinedError](err); ok {
		return plan.LeaseQuarantined{Left: quarantined.Left, Why: quarantined.Reason()}
	}
	if lease.OutcomeOf(err) == lease.NotExecuted {
		return a.unreachable(err, request.Scope)
	}
	message := causeOf(err) + "; the request was withdrawn"
	if withdrawal := a.withdrawRequest(ctx, request); withdrawal != nil {
		message = causeOf(err) + "; a grant would run out by itself"
	}
	return plan.AcquireUnknown{Address: a.Store.Address(), Message: message}
}

// causeOf says what went wrong with a request, without the address and the outcome that the message around it tells anyway.
func causeOf(err error) string {
	if not, ok := errors.AsType[*lease.NotExecutedError](err); ok {
		return not.Cause.Error()
	}
	if unknown, ok := errors.AsType[*lease.UnknownError](err); ok {
		return unknown.Cause.Error()
	}
	return err.Error()
}

func (a *actor) withdrawRequest(ctx context.Context, request lease.AcquireRequest) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return a.Store.ReleaseOwner(ctx, request.Scope, request.Owner)
}

// tokenText is a holder's token for people; empty if the key holds something that is no token.
func tokenText(token lease.Token) string {
	if token == 0 {
		return ""
	}
	return token.String()
}

func (a *actor) adopt(ref grantRef) error {
	term, err := ref.term()
	if err != nil {
		return fmt.Errorf("ReportJob %s: status.execution cannot be adopted: %w", a.name, err)
	}
	timing, err := timingOf(&a.reportJob.Spec)
	if err != nil {
		return fmt.Errorf("ReportJob %s: adopt its lease: %w", a.name, err)
	}
	a.Leases.Adopt(subjectOf(a.name), term, timing)
	return nil
}

// ifTracked does something to the lease in the engine if it is the one that is meant.
func (a *actor) ifTracked(ref grantRef, do func(renewal.Subject)) {
	subject := subjectOf(a.name)
	if term, err := ref.term(); err == nil && a.Leases.State(subject).Term == term {
		do(subject)
	}
}

func (a *actor) release(ctx context.Context, action plan.ReleaseLease) (plan.Result, error) {
	term, err := grantRef{action.Owner, action.Token, action.LeaseKey}.term()
	if err != nil {
		return nil, fmt.Errorf("ReportJob %s: release its lease: %w", a.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err = a.Store.Release(ctx, term)
	if action.Once && lease.OutcomeOf(err) != lease.Executed {
		a.releaseLater(a.reportJob, term)
	}
	var lost *lease.LostError
	switch {
	case err == nil:
		return plan.LeaseReleased{}, nil
	case errors.As(err, &lost) && lost.Gone():
		return plan.LeaseGone{}, nil
	case lost != nil:
		return plan.LeaseOfOther{Owner: string(lost.Owner), Token: tokenText(lost.Token)}, nil
	case lease.OutcomeOf(err) == lease.NotExecuted:
		return a.unreachable(err, term.Scope), nil
	default:
		return plan.ReleaseUnknown{Address: a.Store.Address(), Message: causeOf(err)}, nil
	}
}

// withdraw undoes a grant that could not be written into the status. If the write was refused, nothing can have started under
// it, and the lease is given back. Otherwise the status may hold it: it is left to lapse, or to be adopted by the reconcile
// that reads it.
func (r *ReportJobReconciler) withdraw(ctx context.Context, name types.NamespacedName, grant withdrawal) {
	r.Leases.Forget(subjectOf(name))
	if !grant.refused {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := r.Store.Release(ctx, grant.term); err != nil {
		r.Log.Error(err, "a grant that could not be written down was not given back either and runs out by itself",
			"namespace", name.Namespace, "name", name.Name, "token", grant.term.Token.String())
	}
}

// withdrawal is a grant that was not written down, and whether that is certain.
type withdrawal struct {
	term    lease.Term
	refused bool
}
