package leasetest

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// checkLost wants a LostError that names the holder; an empty owner wants a lease that is gone.
func checkLost(t *testing.T, err error, owner lease.Owner) {
	t.Helper()
	lost, ok := errors.AsType[*lease.LostError](err)
	if !ok {
		t.Errorf("got %v, want a LostError", err)
		return
	}
	if lost.Owner != owner || lost.Gone() != (owner == "") {
		t.Errorf("the lease is said to be of %q, want %q", lost.Owner, owner)
	}
	checkOutcome(t, err, lease.Executed)
}

func renewExtends(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	if err := b.Store.Renew(t.Context(), Renewals(time.Hour, grant.Term))[0]; err != nil {
		t.Fatal(err)
	}
	if left := b.Raw.TTL(scope); left > time.Hour || left < time.Hour-5*time.Second {
		t.Errorf("the lease lives for %v, want an hour", left)
	}
}

func renewForNoTime(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	if err := b.Store.Renew(t.Context(), Renewals(-time.Second, grant.Term))[0]; err != nil {
		t.Fatal(err)
	}
	if left := b.Raw.TTL(scope); left <= 0 || left > lease.MinLeaseDuration {
		t.Errorf("the lease lives for %v, want %v", left, lease.MinLeaseDuration)
	}
}

func renewNeverCreates(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	b.Raw.Remove(scope)
	checkLost(t, b.Store.Renew(t.Context(), Renewals(ttl, grant.Term))[0], "")
	if got := b.Raw.Get(scope); got != "" {
		t.Errorf("the renewal left %q", got)
	}
}

func renewLeavesOthers(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	for _, other := range []lease.Term{
		{Scope: scope, Owner: NewOwner(t), Token: grant.Term.Token},
		{Scope: scope, Owner: grant.Term.Owner, Token: grant.Term.Token - 1},
		{Scope: scope, Owner: grant.Term.Owner, Token: grant.Term.Token + 1},
	} {
		checkLost(t, b.Store.Renew(t.Context(), Renewals(time.Hour, other))[0], grant.Term.Owner)
	}
	if left := b.Raw.TTL(scope); left > ttl {
		t.Errorf("the lease lives for %v", left)
	}
}

func renewBatch(t *testing.T, b Backend) {
	const n = 250
	renewals := make([]*lease.Renewal, n)
	for i := range renewals {
		name := scope + lease.Scope("-"+lease.Token(i+1).String())
		renewals[i] = Renewals(ttl, MustAcquire(t, b.Store, name, ttl).Term)[0]
		if i%3 == 0 {
			b.Raw.Remove(name)
		}
	}
	for i, err := range b.Store.Renew(t.Context(), renewals) {
		if i%3 == 0 {
			checkLost(t, err, "")
		} else if err != nil {
			t.Errorf("renewal %d: %v", i, err)
		}
	}
}

func releaseFrees(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	if err := b.Store.Release(t.Context(), grant.Term); err != nil {
		t.Fatal(err)
	}
	if got := b.Raw.Get(scope); got != "" {
		t.Errorf("the lease still holds %q", got)
	}
	checkLost(t, b.Store.Release(t.Context(), grant.Term), "")
}

func releaseOfOlderTerm(t *testing.T, b Backend) {
	older := MustAcquire(t, b.Store, scope, ttl)
	b.Raw.Remove(scope)
	newer := MustAcquire(t, b.Store, scope, ttl)
	checkLost(t, b.Store.Release(t.Context(), older.Term), newer.Term.Owner)
	if got := b.Raw.Get(scope); got != newer.Term.Value() {
		t.Errorf("the lease holds %q, want %q", got, newer.Term.Value())
	}
}

func withdrawal(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	for range 2 {
		if err := b.Store.ReleaseOwner(t.Context(), scope, grant.Term.Owner); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Raw.Get(scope); got != "" {
		t.Errorf("the lease still holds %q", got)
	}
}

func withdrawalLeavesOthers(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	if err := b.Store.ReleaseOwner(t.Context(), scope, NewOwner(t)); err != nil {
		t.Fatal(err)
	}
	if got := b.Raw.Get(scope); got != grant.Term.Value() {
		t.Errorf("the lease holds %q, want %q", got, grant.Term.Value())
	}
}

func heldForEver(t *testing.T, b Backend) {
	b.Raw.Set(scope, "by-hand", 0)
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl}
	_, err := b.Store.Acquire(t.Context(), request)
	held, ok := errors.AsType[*lease.HeldError](err)
	if !ok || held.ExpiresIn != 0 || held.Owner != "by-hand" {
		t.Errorf("got %v", err)
	}
	term := lease.Term{Scope: scope, Owner: request.Owner, Token: 1}
	checkLost(t, b.Store.Renew(t.Context(), Renewals(ttl, term))[0], "by-hand")
	checkLost(t, b.Store.Release(t.Context(), term), "by-hand")
	if err := b.Store.ReleaseOwner(t.Context(), scope, request.Owner); err != nil {
		t.Errorf("withdraw: %v", err)
	}
	if got := b.Raw.Get(scope); got != "by-hand" || b.Raw.TTL(scope) != 0 {
		t.Errorf("the lease holds %q for %v", got, b.Raw.TTL(scope))
	}
}
