//go:build topologies

package topologies

import (
	"errors"
	"testing"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// TestWhatMayHaveRunIsNeverSentAgain loses the replies to all scripts, and counts what the servers ran.
func TestWhatMayHaveRunIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) (redis.Options, []*gate, []*server){
		"a single Redis": func(t *testing.T) (redis.Options, []*gate, []*server) {
			g, s := newGate(t), startServer(t)
			g.leadTo(s.address)
			return redis.Options{Address: g.address}, []*gate{g}, []*server{s}
		},
		"a primary behind Sentinels": func(t *testing.T) (redis.Options, []*gate, []*server) {
			x := startTrio(t)
			return x.options(), []*gate{x.gate}, x.nodes[:1]
		},
		"a Cluster": func(t *testing.T) (redis.Options, []*gate, []*server) {
			c := startCluster(t, false)
			return c.options, c.gates, c.nodes
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, gates, servers := start(t)
			checkSentOnce(t, newStore(t, options), gates, servers)
		})
	}
}

func checkSentOnce(t *testing.T, store *redis.Store, gates []*gate, servers []*server) {
	t.Helper()
	renewals := hold(t, store, manyScopes(60)...)
	ended := hold(t, store, "finance/ended")[0].Term()
	// The self-test before the first grant of each node has loaded every script: a lost "unknown script" is another story.
	if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, command string
		want          int
		send          func() []error
	}{
		{"one renewal", "pexpire", 1, func() []error { return store.Renew(t.Context(), renewals[:1]) }},
		{"a batch of renewals", "pexpire", len(renewals), func() []error { return store.Renew(t.Context(), renewals) }},
		{"acquire", "set", 3, func() []error { return []error{acquireAs(t, store, "finance/another", 0)} }},
		{"release", "del", 1, func() []error { return []error{store.Release(t.Context(), ended)} }},
		{"withdraw", "getrange", 1, func() []error {
			return []error{store.ReleaseOwner(t.Context(), "finance/free", leasetest.NewOwner(t))}
		}},
	} {
		for _, s := range servers {
			s.do("config", "resetstat")
		}
		setSwallow(gates, true)
		for _, err := range tc.send() {
			if lease.OutcomeOf(err) != lease.Unknown {
				t.Errorf("%s: a lost reply is %v", tc.name, err)
			}
		}
		setSwallow(gates, false)
		ran := 0
		for _, s := range servers {
			ran += s.calls(tc.command)
		}
		if ran != tc.want {
			t.Errorf("%s: %s ran %d times, want %d", tc.name, tc.command, ran, tc.want)
		}
	}
}

func setSwallow(gates []*gate, swallow bool) {
	for _, g := range gates {
		g.swallow.Store(swallow)
	}
}
