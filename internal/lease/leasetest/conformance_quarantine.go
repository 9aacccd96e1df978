package leasetest

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

var quarantineCases = map[string]func(*testing.T, Backend){
	"a changed server grants nothing for one longest lease":     changedServerWaits,
	"a changed server still tells of a holder":                  changedServerTellsHolder,
	"a server that forgot a token grants nothing at first":      forgottenTokenWaits,
	"a quarantine ends with a higher token":                     quarantineEnds,
	"the last lease counts when the longest is said to be less": lastLeaseCounts,
	"a clock that goes back makes no quarantine longer":         clockBackInQuarantine,
	"a second change begins the quarantine again":               changedAgain,
	"the holder asking again is not quarantined":                holderIsNotQuarantined,
	"a quarantine lets its holder renew, complete and release":  holderGoesOn,
}

func lastLeaseCounts(t *testing.T, b Backend) {
	MustAcquire(t, b.Store, scope, time.Minute)
	b.Raw.Remove(scope)
	b.Raw.ChangeServer(scope)
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: lease.MinLeaseDuration, Longest: 10 * time.Second}
	_, err := b.Store.Acquire(t.Context(), request)
	checkQuarantined(t, err, lease.ServerChanged, time.Minute)
}

func clockBackInQuarantine(t *testing.T, b Backend) {
	MustAcquire(t, b.Store, scope, time.Minute)
	b.Raw.Remove(scope)
	b.Raw.ChangeServer(scope)
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl}
	_, err := b.Store.Acquire(t.Context(), request)
	checkQuarantined(t, err, lease.ServerChanged, time.Minute)
	b.Raw.PutClockBack(scope, time.Hour)
	_, err = b.Store.Acquire(t.Context(), request)
	checkQuarantined(t, err, lease.ServerChanged, time.Minute)
	b.Raw.PutClockBack(scope, -time.Minute) // a minute passes
	if _, err := b.Store.Acquire(t.Context(), request); err != nil {
		t.Errorf("one longest lease after the clock went back: %v", err)
	}
}

func changedAgain(t *testing.T, b Backend) {
	MustAcquire(t, b.Store, scope, time.Minute)
	b.Raw.Remove(scope)
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl}
	for range 3 {
		b.Raw.ChangeServer(scope)
		_, err := b.Store.Acquire(t.Context(), request)
		checkQuarantined(t, err, lease.ServerChanged, time.Minute)
		b.Raw.PutClockBack(scope, -50*time.Second) // so much passes
		_, err = b.Store.Acquire(t.Context(), request)
		checkQuarantined(t, err, lease.ServerChanged, 10*time.Second)
	}
}

func holderIsNotQuarantined(t *testing.T, b Backend) {
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl}
	first, err := b.Store.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	b.Raw.ChangeServer(scope)
	if again, err := b.Store.Acquire(t.Context(), request); err != nil || again.Term != first.Term {
		t.Errorf("got %+v, %v", again, err)
	}
}

func holderGoesOn(t *testing.T, b Backend) {
	term := MustAcquire(t, b.Store, scope, ttl).Term
	b.Raw.ChangeServer(scope)
	_, completed := b.Store.Complete(t.Context(), completion(term))
	for name, err := range map[string]error{
		"renew": b.Store.Renew(t.Context(), Renewals(ttl, term))[0], "complete": completed,
		"release": b.Store.Release(t.Context(), term),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := b.Store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl})
	checkQuarantined(t, err, lease.ServerChanged, ttl)
}

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
