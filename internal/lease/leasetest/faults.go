package leasetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Fault is how a request goes wrong.
type Fault int

// The faults of a request.
const (
	// None: it goes well.
	None Fault = iota
	// Refuse: the store does not run it and says so.
	Refuse
	// DropRequest: it never arrives, and the sender does not know.
	DropRequest
	// DropReply: it is executed, and the sender does not know.
	DropReply
	// Hang: it never arrives, and the sender waits until its context ends.
	Hang
	// Late: it arrives and is executed when its sender's context has ended.
	Late
	// Slow: it is executed at once, and its reply takes SlowReply.
	Slow
)

// SlowReply is how long the reply to a Slow request takes; if the context ends earlier, the sender does not know.
const SlowReply = 400 * time.Millisecond

var errFault = errors.New("connection reset by the test")

// Faults is a lease.Store that makes another one misbehave.
type Faults struct {
	lease.Store

	mu sync.Mutex
	// decide is asked for the fault of each renewal, release and acquisition.
	decide func(lease.Scope) Fault
}

var _ lease.Store = (*Faults)(nil)

// NewFaults wraps a store; it behaves until Inject.
func NewFaults(store lease.Store) *Faults {
	return &Faults{Store: store, decide: func(lease.Scope) Fault { return None }}
}

// Inject lets decide choose the fault of each request from now on.
func (f *Faults) Inject(decide func(lease.Scope) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = decide
}

// All gives every request the same fault from now on.
func (f *Faults) All(fault Fault) { f.Inject(func(lease.Scope) Fault { return fault }) }

func (f *Faults) fault(scope lease.Scope) Fault {
	f.mu.Lock()
	decide := f.decide
	f.mu.Unlock()
	return decide(scope)
}

// Acquire is lease.Store's.
func (f *Faults) Acquire(ctx context.Context, request lease.AcquireRequest) (lease.Grant, error) {
	var grant lease.Grant
	err := f.through(ctx, f.fault(request.Scope), func(ctx context.Context) (err error) {
		grant, err = f.Store.Acquire(ctx, request)
		return err
	})
	if err != nil {
		return lease.Grant{}, err
	}
	return grant, nil
}

// Renew is lease.Store's. A batch takes as long as the slowest of its renewals.
func (f *Faults) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	errs := make([]error, len(renewals))
	var work sync.WaitGroup
	for i, r := range renewals {
		fault := f.fault(r.Scope())
		work.Go(func() {
			errs[i] = f.through(ctx, fault, func(ctx context.Context) error { return f.Store.Renew(ctx, []*lease.Renewal{r})[0] })
		})
	}
	work.Wait()
	return errs
}

// Release is lease.Store's.
func (f *Faults) Release(ctx context.Context, term lease.Term) error {
	return f.through(ctx, f.fault(term.Scope), func(ctx context.Context) error { return f.Store.Release(ctx, term) })
}

// ReleaseOwner is lease.Store's.
func (f *Faults) ReleaseOwner(ctx context.Context, scope lease.Scope, owner lease.Owner) error {
	return f.through(ctx, f.fault(scope), func(ctx context.Context) error { return f.Store.ReleaseOwner(ctx, scope, owner) })
}

// Observe is lease.Store's.
func (f *Faults) Observe(ctx context.Context, scope lease.Scope) (lease.Observation, error) {
	var seen lease.Observation
	err := f.through(ctx, f.fault(scope), func(ctx context.Context) (err error) {
		seen, err = f.Store.Observe(ctx, scope)
		return err
	})
	if err != nil {
		return lease.Observation{}, err
	}
	return seen, nil
}

// Complete is lease.Store's.
func (f *Faults) Complete(ctx context.Context, request lease.CompleteRequest) (lease.Completion, error) {
	var completion lease.Completion
	err := f.through(ctx, f.fault(request.Term.Scope), func(ctx context.Context) (err error) {
		completion, err = f.Store.Complete(ctx, request)
		return err
	})
	if err != nil {
		return lease.Completion{}, err
	}
	return completion, nil
}

// through sends a request, or does with it what its fault says.
func (f *Faults) through(ctx context.Context, fault Fault, send func(context.Context) error) error {
	unknown := &lease.UnknownError{Address: f.Address(), Cause: errFault}
	switch fault {
	case Refuse:
		return &lease.NotExecutedError{Address: f.Address(), Cause: errFault}
	case DropRequest:
		return unknown
	case DropReply:
		_ = send(ctx) // nobody hears of it
		return unknown
	case Hang:
		<-ctx.Done()
		return &lease.UnknownError{Address: f.Address(), Cause: ctx.Err()}
	case Late:
		<-ctx.Done()
		_ = send(context.WithoutCancel(ctx)) // nobody hears of it
		return &lease.UnknownError{Address: f.Address(), Cause: ctx.Err()}
	case Slow:
		return f.slow(ctx, send(ctx))
	case None:
	}
	return send(ctx)
}

// slow holds a reply back.
func (f *Faults) slow(ctx context.Context, reply error) error {
	timer := time.NewTimer(SlowReply)
	defer timer.Stop()
	select {
	case <-timer.C:
		return reply
	case <-ctx.Done():
		return &lease.UnknownError{Address: f.Address(), Cause: ctx.Err()}
	}
}
