package redis_test

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// undisturbed is a lease beside the one that is spoiled, which must not notice.
func undisturbed(t *testing.T, b leasetest.Backend) func() {
	t.Helper()
	term := leasetest.MustAcquire(t, b.Store, "beside/it", ttl).Term
	return func() {
		t.Helper()
		if err := b.Store.Renew(t.Context(), leasetest.Renewals(ttl, term))[0]; err != nil {
			t.Errorf("another lease: %v", err)
		}
	}
}

func TestAKeyOfAnotherTypeIsNamedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	check := undisturbed(t, leasetest.Backend{Store: store, Raw: r})
	term := lease.Term{Scope: scope, Owner: leasetest.NewOwner(t), Token: 7}
	acquire := func() error { return acquireErr(t, store, scope) }
	observe := func() error { _, err := store.Observe(t.Context(), scope); return err }
	complete := func() error {
		_, err := store.Complete(t.Context(), lease.CompleteRequest{Term: term, Occurrence: "x", Retention: time.Hour})
		return err
	}
	renew := func() error { return store.Renew(t.Context(), leasetest.Renewals(ttl, term))[0] }
	release := func() error { return store.Release(t.Context(), term) }
	withdraw := func() error { return store.ReleaseOwner(t.Context(), scope, term.Owner) }
	for key, requests := range map[string][]func() error{
		scope.LeaseKey():   {acquire, observe, complete, renew, release, withdraw},
		scope.FenceKey():   {acquire, complete},
		scope.ServerKey():  {acquire},
		scope.DoneKey("x"): {complete},
	} {
		r.must(r.client.LPush(t.Context(), key, "x").Err())
		before, err := r.client.DBSize(t.Context()).Result()
		r.must(err)
		for i, send := range requests {
			if err := send(); lease.OutcomeOf(err) != lease.NotExecuted || !strings.Contains(err.Error(), "WRONGTYPE") {
				t.Errorf("%s, request %d: %v", key, i, err)
			}
		}
		if after, err := r.client.DBSize(t.Context()).Result(); err != nil || after != before {
			t.Errorf("%s: %d keys after %d, %v", key, after, before, err)
		}
		r.must(r.client.Del(t.Context(), key).Err())
		check()
	}
}

// checkHolder wants the holder to be named by those who ask.
func checkHolder(t *testing.T, store *redis.Store, owner lease.Owner, token lease.Token) {
	t.Helper()
	held, isHeld := errors.AsType[*lease.HeldError](acquireErr(t, store, scope))
	if !isHeld || held.Owner != owner || held.Token != token || held.ExpiresIn <= 0 {
		t.Errorf("%.60q: acquire: %+v", owner, held)
	}
	seen, err := store.Observe(t.Context(), scope)
	if err != nil || seen.Owner != owner || seen.Token != token {
		t.Errorf("%.60q: observe: %+v, %v", owner, seen, err)
	}
}

func TestAForeignValueIsNamedAndLeftAlone(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	check := undisturbed(t, leasetest.Backend{Store: store, Raw: r})
	own := lease.Term{Scope: scope, Owner: leasetest.NewOwner(t), Token: 7}
	for name, tc := range map[string]struct {
		value string
		owner lease.Owner
		token lease.Token
	}{
		"an empty text":             {"", "", 0},
		"zeros in it":               {"a\x00b|5\x00", "a\x00b|5\x00", 0},
		"any bytes":                 {"\xff\xfe|\r\n+OK\r\n", "\xff\xfe|\r\n+OK\r\n", 0},
		"only bars":                 {"|||", "|||", 0},
		"our value and a zero more": {own.Value() + "\x00", lease.Owner(own.Value() + "\x00"), 0},
		"our value and a bar more":  {own.Value() + "|", lease.Owner(own.Value() + "|"), 0},
		"our owner in upper case":   {strings.ToUpper(string(own.Owner)) + "|7", lease.Owner(strings.ToUpper(string(own.Owner))), 7},
		"a megabyte":                {strings.Repeat("x", 1<<20), lease.Owner(strings.Repeat("x", 128)), 0},
	} {
		r.Set(scope, tc.value, ttl)
		checkHolder(t, store, tc.owner, tc.token)
		for _, err := range []error{
			store.Renew(t.Context(), leasetest.Renewals(ttl, own))[0], store.Release(t.Context(), own),
		} {
			if lost, isLost := errors.AsType[*lease.LostError](err); !isLost || lost.Owner != tc.owner {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := r.client.Get(t.Context(), scope.LeaseKey()).Result(); err != nil || got != tc.value {
			t.Errorf("%s: the lease holds %.60q, %v", name, got, err)
		}
		check()
	}
}

// TestAHugeForeignValueIsReadInParts puts 100 MB into each key of a scope.
func TestAHugeForeignValueIsReadInParts(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	store, r, _ := startStore(t)
	check := undisturbed(t, leasetest.Backend{Store: store, Raw: r})
	term := lease.Term{Scope: scope, Owner: leasetest.NewOwner(t), Token: 7}
	request := lease.CompleteRequest{Term: term, Occurrence: "x", Retention: time.Hour}
	acquire := func() error { return acquireErr(t, store, scope) }
	complete := func() error { _, err := store.Complete(t.Context(), request); return err }
	for key, tc := range map[string]struct {
		send func() error
		says string
	}{
		scope.LeaseKey():   {acquire, "is held by"},
		scope.FenceKey():   {acquire, ""}, // it counts as none
		scope.ServerKey():  {acquire, "is not granted for another"},
		scope.DoneKey("x"): {complete, "holds no record of a completion"},
	} {
		r.must(r.client.SetRange(t.Context(), key, size, "x").Err())
		err := tc.send()
		if (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says) || len(err.Error()) > 1000) {
			t.Errorf("%s: %.1000v, want %q", key, err, tc.says)
		}
		r.must(r.client.Del(t.Context(), key, scope.LeaseKey(), scope.ServerKey(), scope.FenceKey()).Err())
		check()
	}
	for _, file := range scriptFiles() {
		for _, found := range regexp.MustCompile(`redis\.call\('(\w+)'`).FindAllStringSubmatch(read(t, file), -1) {
			if !slices.Contains([]string{"TIME", "INFO", "GETRANGE", "EXISTS", "PTTL", "SET", "PEXPIRE", "DEL", "SPUBLISH"}, found[1]) {
				t.Errorf("%s uses %s, which may read without bounds", file, found[1])
			}
		}
	}
}

func TestADurationThatRedisCannotTakeIsNeverSent(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	term := leasetest.MustAcquire(t, store, scope, ttl).Term
	r.must(r.client.ConfigResetStat(t.Context()).Err())
	good := lease.AcquireRequest{Scope: "another/scope", Owner: leasetest.NewOwner(t), TTL: ttl}
	var errs []error
	for _, wrong := range []time.Duration{-1, math.MinInt64, math.MaxInt64} {
		request, longest := good, good
		request.TTL, longest.Longest = wrong, wrong
		_, err1 := store.Acquire(t.Context(), request)
		_, err2 := store.Acquire(t.Context(), longest)
		_, err3 := store.Complete(t.Context(), lease.CompleteRequest{Term: term, Occurrence: "x", Retention: wrong})
		errs = append(errs, err1, err2, err3)
	}
	for i, err := range errs {
		if lease.OutcomeOf(err) != lease.NotExecuted {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if n := calls(t, r, "evalsha") + calls(t, r, "eval") + calls(t, r, "time"); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if err := store.Renew(t.Context(), leasetest.Renewals(math.MinInt64, term))[0]; err != nil {
		t.Errorf("a renewal for less than nothing: %v", err)
	}
	if left := r.TTL(scope); left <= 0 || left > lease.MinLeaseDuration {
		t.Errorf("the lease lives for %v", left)
	}
}
