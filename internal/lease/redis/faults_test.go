package redis_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

func TestARequestWhoseReplyIsLostRanOnceAndIsUnknown(t *testing.T) {
	t.Parallel()
	direct, r, _ := startStore(t)
	proxy := newProxy(t, direct.Address())
	store := newStore(t, redis.Options{Address: proxy.address})
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	renewals := leasetest.Renewals(ttl, grant.Term)
	if err := store.Renew(t.Context(), renewals)[0]; err != nil {
		t.Fatal(err)
	}
	// The other scripts are loaded too: a lost "unknown script" is another story.
	warm := leasetest.MustAcquire(t, store, "warm/up", ttl).Term
	if err := errors.Join(store.Release(t.Context(), warm), store.ReleaseOwner(t.Context(), warm.Scope, warm.Owner)); err != nil {
		t.Fatal(err)
	}
	ended := leasetest.MustAcquire(t, store, "ended/scope", ttl).Term // not the one that is renewed: the order is by chance
	proxy.swallowReplies.Store(true)
	for name, tc := range map[string]struct {
		command string
		send    func() error
	}{
		"renew":         {"pexpire", func() error { return store.Renew(t.Context(), renewals)[0] }},
		"acquire":       {"set", func() error { return acquireErr(t, store, "another/scope") }},
		"release":       {"del", func() error { return store.Release(t.Context(), ended) }},
		"release owner": {"getrange", func() error { return store.ReleaseOwner(t.Context(), "free/scope", grant.Term.Owner) }},
	} {
		r.must(r.client.ConfigResetStat(t.Context()).Err())
		checkUnknown(t, tc.send())
		want := 1
		if tc.command == "set" {
			want = 3 // the lease, its fence, and what is known of the server
		}
		if got := calls(t, r, tc.command); got != want {
			t.Errorf("%s: %s ran %d times, want %d", name, tc.command, got, want)
		}
	}
}

func acquireErr(t *testing.T, store *redis.Store, scope lease.Scope) error {
	t.Helper()
	_, err := store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: leasetest.NewOwner(t), TTL: ttl})
	return err
}

func TestRepliesOutOfStepAreUnknownAndTheConnectionsAreDropped(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]string{
		"a text": "$4\r\nlate\r\n", "a status": "+PONG\r\n", "a number": ":1\r\n",
		"nothing": "$-1\r\n", "a list": "*2\r\n$1\r\n1\r\n$1\r\n2\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct, _, _ := startStore(t)
			proxy := newProxy(t, direct.Address())
			store := newStore(t, redis.Options{Address: proxy.address})
			renewals := leasetest.Renewals(ttl, leasetest.MustAcquire(t, store, scope, ttl).Term)
			if err := store.Renew(t.Context(), renewals)[0]; err != nil {
				t.Fatal(err)
			}
			proxy.extraReply.Store(&extra)
			err := store.Renew(t.Context(), renewals)[0]
			checkUnknown(t, err)
			if !strings.Contains(err.Error(), "belongs to another request") {
				t.Errorf("the error does not say what happened: %v", err)
			}
			for i := range 20 {
				if err := store.Renew(t.Context(), renewals)[0]; err != nil {
					t.Fatalf("renewal %d after that: %v", i, err)
				}
			}
		})
	}
}

func TestAServerThatIsAwayIsNamedAndNothingIsCalledUnknown(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	store := newStore(t, redis.Options{Address: address})
	grant := lease.Term{Scope: scope, Owner: leasetest.NewOwner(t), Token: 1}
	for name, err := range map[string]error{
		"acquire": acquireErr(t, store, scope),
		"renew":   store.Renew(t.Context(), leasetest.Renewals(ttl, grant))[0],
		"release": store.Release(t.Context(), grant),
		"check":   store.Check(t.Context()),
	} {
		if lease.OutcomeOf(err) != lease.NotExecuted || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: got %v, want a NotExecutedError that names %s", name, err, address)
		}
	}
}

func TestAServerThatAnswersNothingIsUnknownWithinTheBudget(t *testing.T) {
	t.Parallel()
	store, _, server := startStore(t)
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	if err := store.Renew(t.Context(), leasetest.Renewals(ttl, grant.Term))[0]; err != nil {
		t.Fatal(err)
	}
	stop(t, server)
	defer resume(t, server)
	// The second request needs a new connection, to which nobody says anything.
	for _, budget := range []time.Duration{500 * time.Millisecond, 500 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), budget)
		defer cancel()
		begun := time.Now()
		checkUnknown(t, store.Renew(ctx, leasetest.Renewals(ttl, grant.Term))[0])
		if took := time.Since(begun); took > budget+time.Second {
			t.Errorf("with %v to go that took %v", budget, took)
		}
	}
}

func TestAServerOutOfMemoryRenewsAndReleasesButGrantsNothing(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	r.must(r.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	if err := store.Renew(t.Context(), leasetest.Renewals(ttl, grant.Term))[0]; err != nil {
		t.Errorf("renew: %v", err)
	}
	if got := lease.OutcomeOf(acquireErr(t, store, "another/scope")); got != lease.NotExecuted {
		t.Errorf("acquire: outcome %s, want not executed", got)
	}
	if err := store.Release(t.Context(), grant.Term); err != nil {
		t.Errorf("release: %v", err)
	}
}

func TestAKeyOfAnotherTypeStopsItsOwnLeaseAndNoOther(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	good, bad := leasetest.MustAcquire(t, store, "a/good", ttl), leasetest.MustAcquire(t, store, "a/bad", ttl)
	r.Remove("a/bad")
	r.must(r.client.LPush(t.Context(), lease.Scope("a/bad").LeaseKey(), "x").Err())
	errs := store.Renew(t.Context(), leasetest.Renewals(ttl, bad.Term, good.Term))
	if lease.OutcomeOf(errs[0]) != lease.NotExecuted || errs[1] != nil {
		t.Errorf("got %v", errs)
	}
}

func TestThePasswordIsReadAnewForEachConnectionAndNeverTold(t *testing.T) {
	t.Parallel()
	const first, second = "first-secret-4711", "second-secret-0815"
	address, _ := leasetest.StartRedis(t, "--requirepass", first)
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(second)
	store := newStore(t, redis.Options{Address: address, PasswordFile: file})
	err := acquireErr(t, store, scope)
	if lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("a wrong password: %v", err)
	}
	if strings.Contains(err.Error(), second) {
		t.Errorf("the error tells the password: %v", err)
	}
	write(first)
	if err := acquireErr(t, store, scope); err != nil {
		t.Errorf("after the password was mended: %v", err)
	}
	without := newStore(t, redis.Options{Address: address, PasswordFile: file + "-that-is-not-there"})
	if err := acquireErr(t, without, scope); lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("no password: %v", err)
	}
}
