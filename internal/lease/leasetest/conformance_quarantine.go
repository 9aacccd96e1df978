package leasetest

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// checkQuarantined wants a refusal for about the given time.
func checkQuarantined(t *testing.T, err error, why lease.Suspicion, left time.Duration) {
	t.Helper()
	quarantined, ok := errors.AsType[*lease.QuarantinedError](err)
	if !ok {
		t.Fatalf("got %v, want a QuarantinedError", err)
	}
	if quarantined.Why != why || quarantined.Scope != scope {
		t.Errorf("got %q for %s, want %q for %s", quarantined.Why, quarantined.Scope, why, scope)
	}
	if quarantined.Left > left || quarantined.Left < left-5*time.Second {
		t.Errorf("nothing is granted for %v, want %v", quarantined.Left, left)
	}
	checkOutcome(t, err, lease.Executed)
}

// afterQuarantine acquires a lease with a floor that the store does not know of.
func afterQuarantine(t *testing.T, b Backend, request lease.AcquireRequest) lease.Grant {
	t.Helper()
	_, err := b.Store.Acquire(t.Context(), request)
	checkQuarantined(t, err, lease.DataLost, max(request.TTL, request.Longest))
	b.Raw.EndQuarantine(request.Scope)
	grant, err := b.Store.Acquire(t.Context(), request)
	if err != nil {
		t.Fatalf("after the quarantine: %v", err)
	}
	return grant
}

func changedServerWaits(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, time.Minute)
	b.Raw.Remove(scope)
	b.Raw.ChangeServer(scope)
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl}
	for range 2 {
		_, err := b.Store.Acquire(t.Context(), request)
		checkQuarantined(t, err, lease.ServerChanged, time.Minute) // as long as the last lease
	}
	b.Raw.EndQuarantine(scope)
	next, err := b.Store.Acquire(t.Context(), request)
	if err != nil || next.Term.Token <= grant.Term.Token {
		t.Errorf("after the quarantine: %v, %v", next, err)
	}
}

func changedServerTellsHolder(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	b.Raw.ChangeServer(scope)
	_, err := b.Store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl})
	if held, ok := errors.AsType[*lease.HeldError](err); !ok || held.Owner != grant.Term.Owner {
		t.Errorf("got %v, want the holder", err)
	}
	if err := b.Store.Renew(t.Context(), Renewals(ttl, grant.Term))[0]; err != nil {
		t.Errorf("the holder's renewal: %v", err)
	}
}

func forgottenTokenWaits(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	b.Raw.LoseEverything()
	request := lease.AcquireRequest{
		Scope: scope, Owner: NewOwner(t), TTL: ttl, Floor: grant.Term.Token, Longest: time.Hour,
	}
	for range 2 {
		_, err := b.Store.Acquire(t.Context(), request)
		checkQuarantined(t, err, lease.DataLost, time.Hour)
	}
	request.Floor++
	_, err := b.Store.Acquire(t.Context(), request)
	checkQuarantined(t, err, lease.DataLost, time.Hour) // another token that was forgotten
	if got := b.Raw.Get(scope); got != "" {
		t.Errorf("the lease holds %q", got)
	}
}

func quarantineEnds(t *testing.T, b Backend) {
	const floor = lease.Token(1) << 50
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl, Floor: floor}
	grant := afterQuarantine(t, b, request)
	if grant.Term.Token != floor+1 {
		t.Errorf("token %d, want %d", grant.Term.Token, floor+1)
	}
	if err := b.Store.Release(t.Context(), grant.Term); err != nil {
		t.Fatal(err)
	}
	request.Owner, request.Floor = NewOwner(t), grant.Term.Token
	if _, err := b.Store.Acquire(t.Context(), request); err != nil {
		t.Errorf("a floor that the store knows of: %v", err)
	}
}
