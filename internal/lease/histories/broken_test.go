package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// raw asks the server of a broken store directly.
func raw(address, format string, args ...any) error {
	_, err := ask(address, fmt.Sprintf(format, args...))
	if err != nil {
		return &lease.UnknownError{Address: address, Cause: err}
	}
	return nil
}

// creator renews by setting the key, whatever it holds.
type creator struct{ *redis.Store }

func (s creator) Renew(_ context.Context, renewals []*lease.Renewal) []error {
	errs := make([]error, len(renewals))
	for i, r := range renewals {
		errs[i] = raw(s.Address(), "SET %s %s PX %d", r.Key, r.Value, r.Millis)
	}
	return errs
}

// deleter releases by removing the key, whatever it holds.
type deleter struct{ *redis.Store }

func (s deleter) Release(_ context.Context, term lease.Term) error {
	return raw(s.Address(), "DEL %s", term.Scope.LeaseKey())
}

// hasty grants leases that are shorter than it says.
type hasty struct{ *redis.Store }

func (s hasty) Acquire(ctx context.Context, request lease.AcquireRequest) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, request)
	if err == nil {
		err = raw(s.Address(), "PEXPIRE %s 3000", request.Scope.LeaseKey())
	}
	return grant, err
}

// trusting does not tell the server of the tokens that others know.
type trusting struct{ *redis.Store }

func (s trusting) Acquire(ctx context.Context, request lease.AcquireRequest) (lease.Grant, error) {
	request.Floor = 0
	return s.Store.Acquire(ctx, request)
}

// optimist takes what is unknown for done.
type optimist struct{ *redis.Store }

func (s optimist) Release(ctx context.Context, term lease.Term) error {
	err := s.Store.Release(ctx, term)
	if lease.OutcomeOf(err) == lease.Unknown {
		return nil
	}
	return err
}

// pessimist takes what is unknown for not done.
type pessimist struct{ *redis.Store }

func (s pessimist) Acquire(ctx context.Context, request lease.AcquireRequest) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, request)
	if lease.OutcomeOf(err) == lease.Unknown {
		return grant, &lease.NotExecutedError{Address: s.Address(), Cause: err}
	}
	return grant, err
}

// immortal renews leases to live twice as long.
type immortal struct{ *redis.Store }

func (s immortal) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	longer := make([]*lease.Renewal, len(renewals))
	for i, r := range renewals {
		renewal := lease.NewRenewal(r.Term(), 2*r.TTL())
		longer[i] = &renewal
	}
	return s.Store.Renew(ctx, longer)
}

// broken are stores, each with the rule by which it must be found out, and how many scopes it has: more where it takes chance.
var broken = []struct {
	name, rule string
	scopes     int
	wrap       func(*redis.Store) lease.Store
}{
	{"a renewal that creates", exclusion, 18, func(s *redis.Store) lease.Store { return creator{s} }},
	{"a release of whatever is there", linearizability, 9, func(s *redis.Store) lease.Store { return deleter{s} }},
	{"a lease that is too short", linearizability, 3, func(s *redis.Store) lease.Store { return hasty{s} }},
	{"a lease that is too long", duration, 5, func(s *redis.Store) lease.Store { return immortal{s} }},
	{"no quarantine after a loss of data", linearizability, 3, func(s *redis.Store) lease.Store { return trusting{s} }},
	{"an unknown release that is called done", linearizability, 6, func(s *redis.Store) lease.Store { return optimist{s} }},
	{"an unknown grant that is called undone", linearizability, 9, func(s *redis.Store) lease.Store { return pessimist{s} }},
}

// breakages says which broken store each scope of the workload has.
var breakages = func() map[lease.Scope]int {
	of := map[lease.Scope]int{}
	for i, b := range broken {
		for range b.scopes {
			of[scope(len(of))] = i
		}
	}
	return of
}()

// foundOut counts the violations of the rules by which each broken store must be found out.
func foundOut(events []event) []int {
	counts := make([]int, len(broken))
	for _, v := range check(events) {
		if i := breakages[v.scope]; v.rule == broken[i].rule {
			counts[i]++
		}
	}
	return counts
}

func TestABrokenStoreIsFoundOut(t *testing.T) {
	t.Parallel()
	h := workload{
		seed: number(t, seedVariable, rand.Uint64()), scopes: len(breakages), length: 2 * time.Minute,
		storms: 2, pauses: 25, vanishes: 25, holds: 2 * time.Second, restarts: 16 * time.Second,
		enough: func(events []event) bool { return !slices.Contains(foundOut(events), 0) },
		wrap:   func(s lease.Scope, store *redis.Store) lease.Store { return broken[breakages[s]].wrap(store) },
	}.run(t)
	t.Logf("recorded for %v: %s", h.now().Round(time.Second), h.summary())
	for i, n := range foundOut(h.events) {
		t.Logf("%s: %d violations of %s", broken[i].name, n, broken[i].rule)
		if n == 0 {
			t.Errorf("%s was not found out", broken[i].name)
		}
	}
}
