package leasetest

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Raw looks at the leases of a store, and changes them, past its rules.
type Raw interface {
	// Get returns what a lease key holds; empty if it is gone.
	Get(scope lease.Scope) string
	// Set puts a value there as another program would; for 0 it never expires.
	Set(scope lease.Scope, value string, ttl time.Duration)
	// TTL returns what is left of a lease; 0 if it is gone or never expires.
	TTL(scope lease.Scope) time.Duration
	// Remove removes a lease, as if it had expired.
	Remove(scope lease.Scope)
	// ChangeServer makes the store believe that another server granted the scope's last lease.
	ChangeServer(scope lease.Scope)
	// EndQuarantine lets the time pass for which nothing is granted in the scope.
	EndQuarantine(scope lease.Scope)
	// PutClockBack lets a quarantine of the scope look as if the store's clock had gone back since it began.
	PutClockBack(scope lease.Scope, by time.Duration)
	// Fence returns the highest token that the store knows of, 0 if it knows none, and SetFence replaces it; 0 loses it.
	Fence(scope lease.Scope) lease.Token
	SetFence(scope lease.Scope, token lease.Token)
	// DoneTTL returns for how long the completion of an occurrence is remembered; 0 if it is not. Forget ends it.
	DoneTTL(scope lease.Scope, occurrence string) time.Duration
	Forget(scope lease.Scope, occurrence string)
	// LoseEverything empties the store, fences included.
	LoseEverything()
}

// Backend is a store to test, and the way past it.
type Backend struct {
	Store lease.Store
	Raw   Raw
}

const (
	scope = lease.Scope("finance/revenue")
	ttl   = 30 * time.Second
)

// Conformance is what every lease.Store does. Each case gets an empty backend.
func Conformance(t *testing.T, newBackend func(t *testing.T) Backend) {
	for _, cases := range []map[string]func(*testing.T, Backend){leaseCases, tokenCases, quarantineCases, completionCases} {
		for name, check := range cases {
			t.Run(name, func(t *testing.T) { check(t, newBackend(t)) })
		}
	}
}

var leaseCases = map[string]func(*testing.T, Backend){
	"a free lease is granted":                                  freeIsGranted,
	"a held lease is refused with its holder":                  heldIsRefused,
	"another kind of holder is named as it is":                 foreignHolder,
	"a lease that never expires is refused and left alone":     heldForEver,
	"the same owner asking again gets the same term":           sameOwner,
	"a renewal sets the remaining time":                        renewExtends,
	"a renewal for no time at all is one for the least":        renewForNoTime,
	"a renewal never creates a lease":                          renewNeverCreates,
	"a renewal leaves another's lease alone":                   renewLeavesOthers,
	"a batch of renewals is answered one by one":               renewBatch,
	"a release frees the lease":                                releaseFrees,
	"a release of an older term changes nothing":               releaseOfOlderTerm,
	"a withdrawal takes back what its owner was granted":       withdrawal,
	"a withdrawal leaves another's lease alone":                withdrawalLeavesOthers,
	"a request that makes no sense is not executed":            nonsense,
	"a request whose context has ended is not called executed": endedContext,
	"an observation shows the holder":                          observesHolder,
	"an observation shows who holds a lease for ever":          observesForEver,
}

// NewOwner draws an owner for a test.
func NewOwner(t testing.TB) lease.Owner {
	t.Helper()
	owner, err := lease.NewOwner(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

// MustAcquire acquires a lease for a new owner.
func MustAcquire(t testing.TB, store lease.Store, scope lease.Scope, ttl time.Duration) lease.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl})
	if err != nil {
		t.Fatalf("acquire %s: %v", scope, err)
	}
	return grant
}

// Renewals makes renewals of terms for a TTL.
func Renewals(ttl time.Duration, terms ...lease.Term) []*lease.Renewal {
	renewals := make([]*lease.Renewal, len(terms))
	for i, term := range terms {
		renewal := lease.NewRenewal(term, ttl)
		renewals[i] = &renewal
	}
	return renewals
}

func freeIsGranted(t *testing.T, b Backend) {
	before := time.Now()
	grant := MustAcquire(t, b.Store, scope, ttl)
	if got, want := b.Raw.Get(scope), grant.Term.Value(); got != want {
		t.Errorf("the lease holds %q, want %q", got, want)
	}
	if left := b.Raw.TTL(scope); left > ttl || left < ttl-5*time.Second {
		t.Errorf("the lease lives for %v, want %v", left, ttl)
	}
	if grant.At.Before(before) || grant.At.After(time.Now()) {
		t.Errorf("trust is counted from %v, and the request was made at %v", grant.At, before)
	}
}

func heldIsRefused(t *testing.T, b Backend) {
	holder := MustAcquire(t, b.Store, scope, ttl)
	_, err := b.Store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl})
	held, ok := errors.AsType[*lease.HeldError](err)
	if !ok {
		t.Fatalf("got %v, want a HeldError", err)
	}
	if held.Owner != holder.Term.Owner || held.Token != holder.Term.Token || held.Scope != scope {
		t.Errorf("got holder %+v, want %+v", held, holder.Term)
	}
	if held.ExpiresIn <= 0 || held.ExpiresIn > ttl {
		t.Errorf("the lease is said to expire in %v", held.ExpiresIn)
	}
	checkOutcome(t, err, lease.Executed)
}

func foreignHolder(t *testing.T, b Backend) {
	for value, want := range map[string]lease.Term{
		"a-cron-box":                 {Owner: "a-cron-box"},
		"a-cron-box|7":               {Owner: "a-cron-box", Token: 7},
		"a|b|c":                      {Owner: "a|b|c"},
		"a|9007199254740993":         {Owner: "a|9007199254740993"},
		"|5":                         {Owner: "|5"},
		string(NewOwner(t)) + "|007": {},
	} {
		b.Raw.Set(scope, value, ttl)
		_, err := b.Store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl})
		held, ok := errors.AsType[*lease.HeldError](err)
		if !ok {
			t.Fatalf("%q: got %v, want a HeldError", value, err)
		}
		if want.Owner == "" {
			want.Owner = lease.Owner(value)
		}
		if held.Owner != want.Owner || held.Token != want.Token {
			t.Errorf("%q: got %q and %d, want %q and %d", value, held.Owner, held.Token, want.Owner, want.Token)
		}
	}
}

func sameOwner(t *testing.T, b Backend) {
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl}
	first, err := b.Store.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Store.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Term, second.Term); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func nonsense(t *testing.T, b Backend) {
	owner := NewOwner(t)
	for name, request := range map[string]lease.AcquireRequest{
		"a lease too short":     {Scope: scope, Owner: owner, TTL: lease.MinLeaseDuration - time.Millisecond},
		"a lease too long":      {Scope: scope, Owner: owner, TTL: lease.MaxLeaseDuration + time.Millisecond},
		"no scope":              {Owner: owner, TTL: ttl},
		"a scope with a brace":  {Scope: "a}b", Owner: owner, TTL: ttl},
		"no owner":              {Scope: scope, TTL: ttl},
		"an owner with a bar":   {Scope: scope, Owner: owner[:31] + "|", TTL: ttl},
		"an upper-case owner":   {Scope: scope, Owner: "ABCDEFABCDEFABCDEFABCDEFABCDEFAB", TTL: ttl},
		"an owner of 31 digits": {Scope: scope, Owner: owner[:31], TTL: ttl},
		"a floor too high":      {Scope: scope, Owner: owner, TTL: ttl, Floor: lease.MaxToken + 1},
		"the highest floor":     {Scope: scope, Owner: owner, TTL: ttl, Floor: math.MaxUint64},
	} {
		_, err := b.Store.Acquire(t.Context(), request)
		if err == nil {
			t.Errorf("%s: granted", name)
		}
		checkOutcome(t, err, lease.NotExecuted)
	}
	if got := b.Raw.Get(scope); got != "" {
		t.Errorf("the lease holds %q", got)
	}
}

func endedContext(t *testing.T, b Backend) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, acquire := b.Store.Acquire(ctx, lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl})
	term := lease.Term{Scope: scope, Owner: NewOwner(t), Token: 1}
	errs := append(b.Store.Renew(ctx, Renewals(ttl, term)), acquire, b.Store.Release(ctx, term))
	for i, err := range errs {
		if lease.OutcomeOf(err) == lease.Executed {
			t.Errorf("request %d is called executed: %v", i, err)
		}
	}
}

func checkOutcome(t *testing.T, err error, want lease.Outcome) {
	t.Helper()
	if got := lease.OutcomeOf(err); got != want {
		t.Errorf("outcome %s, want %s, of: %v", got, want, err)
	}
}
