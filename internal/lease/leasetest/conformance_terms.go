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

func tokensOverReleases(t *testing.T, b Backend) {
	var last lease.Token
	for range 50 {
		grant := MustAcquire(t, b.Store, scope, ttl)
		if grant.Term.Token <= last {
			t.Fatalf("token %d after %d", grant.Term.Token, last)
		}
		last = grant.Term.Token
		if err := b.Store.Release(t.Context(), grant.Term); err != nil {
			t.Fatal(err)
		}
	}
}

func tokensOverDataLoss(t *testing.T, b Backend) {
	last := MustAcquire(t, b.Store, scope, ttl).Term.Token
	for range 5 {
		b.Raw.LoseEverything()
		// Tokens are milliseconds, so the clock has to move on; by itself it takes longer than that to lose a server's data.
		time.Sleep(2 * time.Millisecond)
		next := MustAcquire(t, b.Store, scope, ttl).Term.Token
		if next <= last {
			t.Fatalf("token %d after %d", next, last)
		}
		last = next
	}
}

func tokensAboveFloor(t *testing.T, b Backend) {
	floor := lease.MaxToken / 2
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl, Floor: floor}
	grant := afterQuarantine(t, b, request)
	if grant.Term.Token != floor+1 {
		t.Errorf("token %d, want %d", grant.Term.Token, floor+1)
	}
	// The fence remembers it for those who do not know the floor.
	b.Raw.Remove(scope)
	if next := MustAcquire(t, b.Store, scope, ttl).Term.Token; next != floor+2 {
		t.Errorf("next token %d, want %d", next, floor+2)
	}
}

func tokenOverflow(t *testing.T, b Backend) {
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl, Floor: lease.MaxToken - 1}
	grant := afterQuarantine(t, b, request)
	if grant.Term.Token != lease.MaxToken {
		t.Fatalf("the highest token: got %d", grant.Term.Token)
	}
	b.Raw.Remove(scope)
	_, err := b.Store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl})
	if err == nil {
		t.Fatal("a token above the highest one was granted")
	}
	checkOutcome(t, err, lease.NotExecuted)
	if got := b.Raw.Get(scope); got != "" {
		t.Errorf("the lease holds %q", got)
	}
}
