package leasetest

import (
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

var tokenCases = map[string]func(*testing.T, Backend){
	"tokens increase over releases":                       tokensOverReleases,
	"tokens increase over the loss of all data":           tokensOverDataLoss,
	"tokens increase however many ask at once":            tokensOfMany,
	"tokens increase while two clusters take turns":       tokensOfTwoClusters,
	"tokens increase when the fence is lost":              tokensOverFenceLoss,
	"a token is above the floor":                          tokensAboveFloor,
	"the floor wins when the clock went back an hour":     floorWinsOverClock,
	"the fence wins when the clock went back an hour":     fenceWinsOverClock,
	"the owner asking again mints nothing":                askingAgainMintsNothing,
	"a fence that is far ahead goes on from there":        fenceFarAhead,
	"a token is one number in Go, JSON, decimal and Lua":  tokensAsNumbers,
	"a floor that is known grants no token a second time": floorForbidsEqualTokens,
	"no token is left above the highest one":              tokenOverflow,
}

// after acquires for a new owner, once a quarantine is over if there is one, and wants a higher token than the last.
func after(t *testing.T, b Backend, last lease.Token, floor lease.Token) lease.Term {
	t.Helper()
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl, Floor: floor}
	grant, err := b.Store.Acquire(t.Context(), request)
	if _, isQuarantined := errors.AsType[*lease.QuarantinedError](err); isQuarantined {
		b.Raw.EndQuarantine(scope)
		grant, err = b.Store.Acquire(t.Context(), request)
	}
	if err != nil {
		t.Fatal(err)
	}
	if grant.Term.Token <= last {
		t.Fatalf("token %d after %d", grant.Term.Token, last)
	}
	return grant.Term
}

func tokensOfMany(t *testing.T, b Backend) {
	const workers, grants = 8, 20
	var mu sync.Mutex
	var tokens []lease.Token // in the order of the grants: each is noted before the next can be made
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range grants {
				grant, err := b.Store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl})
				if err != nil {
					continue // held by another just now
				}
				mu.Lock()
				tokens = append(tokens, grant.Term.Token)
				mu.Unlock()
				if err := b.Store.Release(t.Context(), grant.Term); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range tokens[1:] {
		if tokens[i+1] <= tokens[i] {
			t.Errorf("token %d after %d", tokens[i+1], tokens[i])
		}
	}
}

// tokensOfTwoClusters lets two clusters take turns that each know their own tokens only, through losses of data.
func tokensOfTwoClusters(t *testing.T, b Backend) {
	var last lease.Token
	var known [2]lease.Token
	for turn := range 20 {
		if turn%7 == 6 {
			b.Raw.LoseEverything()
			time.Sleep(20 * time.Millisecond) // the clock passes the tokens, of which there were several in a ms
		}
		term := after(t, b, last, known[turn%2])
		last, known[turn%2] = term.Token, term.Token
		if err := b.Store.Release(t.Context(), term); err != nil {
			t.Fatal(err)
		}
	}
}

func tokensOverFenceLoss(t *testing.T, b Backend) {
	first := after(t, b, 0, 0)
	b.Raw.Remove(scope)
	for name, lose := range map[string]func(){
		"it expired":        func() { b.Raw.SetFence(scope, 0) },
		"it is an old one":  func() { b.Raw.SetFence(scope, first.Token-1) },
		"everything is new": b.Raw.LoseEverything,
	} {
		last := after(t, b, 0, first.Token).Token
		b.Raw.Remove(scope)
		lose()
		request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl, Floor: last}
		_, err := b.Store.Acquire(t.Context(), request)
		t.Logf("the fence is lost: %s", name)
		checkQuarantined(t, err, lease.DataLost, ttl)
		after(t, b, last, last)
		b.Raw.Remove(scope)
	}
}

// anHourAhead is a token that the clock will not reach for an hour: to it, the clock went back.
func anHourAhead(t *testing.T, b Backend) lease.Token {
	t.Helper()
	now := after(t, b, 0, 0)
	b.Raw.Remove(scope)
	return now.Token + lease.Token(time.Hour.Milliseconds())
}

func floorWinsOverClock(t *testing.T, b Backend) {
	floor := anHourAhead(t, b)
	b.Raw.LoseEverything()
	if got := after(t, b, floor, floor).Token; got != floor+1 {
		t.Errorf("token %d, want %d", got, floor+1)
	}
}

func fenceWinsOverClock(t *testing.T, b Backend) {
	fence := anHourAhead(t, b)
	b.Raw.SetFence(scope, fence)
	for next := fence + 1; next < fence+5; next++ {
		if got := after(t, b, fence, 0).Token; got != next {
			t.Errorf("token %d, want %d", got, next)
		}
		b.Raw.Remove(scope)
	}
}

func askingAgainMintsNothing(t *testing.T, b Backend) {
	request := lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl}
	first, err := b.Store.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		request.Floor = lease.MaxToken / 2 // neither does a floor mint a new one
		again, err := b.Store.Acquire(t.Context(), request)
		if err != nil || again.Term != first.Term || b.Raw.Fence(scope) != first.Term.Token {
			t.Errorf("got %+v, %v, and the fence is %d", again, err, b.Raw.Fence(scope))
		}
	}
}

// fenceFarAhead is a token of a clock that was wrong by centuries: the tokens go on from it, and nothing is reset.
func fenceFarAhead(t *testing.T, b Backend) {
	const far = lease.Token(1) << 52
	b.Raw.SetFence(scope, far)
	last := far
	for range 3 {
		term := after(t, b, last, 0)
		if last = term.Token; last > far+3 {
			t.Errorf("token %d is more than one above the last", last)
		}
		b.Raw.Remove(scope)
	}
}

func tokensAsNumbers(t *testing.T, b Backend) {
	for _, around := range []lease.Token{99_999_999_999_998, 99_999_999_999_999, 100_000_000_000_000, 1<<52 - 2, 1<<52 - 1, 1 << 52,
		lease.MaxToken - 2, lease.MaxToken - 1} {
		b.Raw.LoseEverything()
		b.Raw.SetFence(scope, around)
		term := after(t, b, around, 0)
		if term.Token != around+1 || b.Raw.Get(scope) != term.Value() || b.Raw.Fence(scope) != term.Token {
			t.Errorf("after %d: token %d, the lease holds %q, the fence %d", around, term.Token, b.Raw.Get(scope), b.Raw.Fence(scope))
		}
		checkNumber(t, term.Token)
	}
}

// checkNumber wants a token to survive what others make of its text.
func checkNumber(t *testing.T, token lease.Token) {
	t.Helper()
	var number float64 // what JavaScript and Lua make of it
	if err := json.Unmarshal([]byte(token.String()), &number); err != nil || lease.Token(number) != token {
		t.Errorf("%d is %v to JSON, %v", token, number, err)
	}
	if signed, err := strconv.ParseInt(token.String(), 10, 64); err != nil || signed != int64(token) {
		t.Errorf("%d is %d as a signed number, %v", token, signed, err)
	}
	if read, err := lease.ParseToken(token.String()); err != nil || read != token {
		t.Errorf("%d is read as %d, %v", token, read, err)
	}
}

// floorForbidsEqualTokens lets a store that forgot everything be asked within the ms of the last token.
func floorForbidsEqualTokens(t *testing.T, b Backend) {
	for range 20 {
		first := after(t, b, 0, 0)
		b.Raw.LoseEverything()
		after(t, b, first.Token, first.Token)
		b.Raw.LoseEverything()
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
