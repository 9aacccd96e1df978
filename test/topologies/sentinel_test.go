//go:build topologies

package topologies

import (
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// ttl is long enough for every disruption but one that lasts.
const ttl = 30 * time.Second

func TestAPrimaryBehindSentinelsConforms(t *testing.T) {
	t.Parallel()
	x := startTrio(t)
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName: masterName, SentinelAddrs: x.options().Sentinel.Addresses, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = client.Close() })
	r, store := raw{t, client}, newStore(t, x.options())
	leasetest.Conformance(t, func(*testing.T) leasetest.Backend {
		r.LoseEverything()
		return leasetest.Backend{Store: store, Raw: r}
	})
}

func TestLeasesOutliveAFailover(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// fail makes the Sentinels promote a replica.
		fail func(x *trio)
		// after happens when they did.
		after func(x *trio)
	}{
		"the primary is killed": {
			fail:  func(x *trio) { x.nodes[0].kill() },
			after: func(*trio) {},
		},
		"a failover is ordered": {
			fail:  func(x *trio) { x.sentinels[0].do("sentinel", "failover", masterName) },
			after: func(*trio) {},
		},
		"the primary is stopped, and goes on when it has a successor": {
			fail:  func(x *trio) { x.nodes[0].stop() },
			after: func(x *trio) { x.nodes[0].resume() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := startTrio(t)
			store := newStore(t, x.options())
			renewals := hold(t, store, manyScopes(100)...)
			x.settle()
			all := startRenewing(t, store, renewals)
			begun := time.Now()
			tc.fail(x)
			successor := x.successor()
			t.Logf("a replica was promoted, and all Sentinels say so, after %v", time.Since(begun).Round(time.Millisecond))
			tc.after(x)
			all.end(t)
			checkSuccession(t, store, successor, renewals[0].Term())
		})
	}
}

// checkSuccession checks that the new primary keeps what is held, waits before it grants what is given back, and goes on with
// higher tokens.
func checkSuccession(t *testing.T, store *redis.Store, successor *server, term lease.Term) {
	t.Helper()
	r := raw{t, successor.client}
	if got := r.Get(term.Scope); got != term.Value() {
		t.Errorf("the new primary has the lease as %q, want %q", got, term.Value())
	}
	_, err := acquire(t, store, term.Scope, term.Token)
	if held, is := errors.AsType[*lease.HeldError](err); !is || held.Token != term.Token {
		t.Errorf("a lease that is held: %v", err)
	}
	checkGrantAfterSuccession(t, store, r, term)
}

// checkGrantAfterSuccession gives a lease back to the new primary and asks for it again.
func checkGrantAfterSuccession(t *testing.T, store *redis.Store, r raw, term lease.Term) {
	t.Helper()
	if err := store.Release(t.Context(), term); err != nil {
		t.Fatal(err)
	}
	_, err := acquire(t, store, term.Scope, term.Token)
	wait, is := errors.AsType[*lease.QuarantinedError](err)
	if !is || wait.Why != lease.ServerChanged || wait.Left > ttl || wait.Left < ttl-5*time.Second {
		t.Fatalf("the first grant of a new primary: %v, want a quarantine of %v", err, ttl)
	}
	r.EndQuarantine(term.Scope)
	grant, err := acquire(t, store, term.Scope, term.Token)
	if err != nil || grant.Term.Token <= term.Token {
		t.Errorf("after the quarantine: %+v, %v; want a token above %d", grant.Term, err, term.Token)
	}
}
