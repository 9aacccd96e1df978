//go:build topologies

package topologies

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

func TestAClusterConforms(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	r, store := raw{t, c.client}, newStore(t, c.options)
	leasetest.Conformance(t, func(*testing.T) leasetest.Backend {
		r.LoseEverything()
		return leasetest.Backend{Store: store, Raw: r}
	})
}

func TestLeasesAreRenewedWhileTheirSlotMoves(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	store := newStore(t, c.options)
	scope, slot := c.scopeAt(0, "finance/moving")
	renewals := hold(t, store, append(manyScopes(50), scope)...)
	moving := renewals[len(renewals)-1].Term()
	free := strings.Replace(string(scope), "/", "-free/", 1)
	all := startRenewing(t, store, renewals)
	c.migrate(slot, 0, 1, func(stage string) {
		for i := range 5 {
			before := all.batches()
			eventually(t, "a batch is renewed", func() bool { return all.batches() > before })
			checkAskedWhileMoving(t, stage, acquireAs(t, store, scope, moving.Token))
			checkAskedWhileMoving(t, stage, acquireAs(t, store, lease.Scope(fmt.Sprint(free, i)), 0))
		}
	})
	if x := all.end(t); x.unknown > 0 || x.notExecuted > 0 {
		t.Errorf("renewals that a redirect led to the right node: %v", x)
	}
	if got := (raw{t, c.client}).Get(scope); got != moving.Value() {
		t.Errorf("after the move the lease is %q, want %q", got, moving.Value())
	}
	if err := store.Release(t.Context(), moving); err != nil {
		t.Errorf("release at the new node: %v", err)
	}
}

// checkAskedWhileMoving checks that a request to acquire in the midst of a move has a plain answer, or was not executed.
func checkAskedWhileMoving(t *testing.T, stage string, err error) {
	t.Helper()
	if outcome := lease.OutcomeOf(err); outcome == lease.Unknown {
		t.Errorf("when %s, an ACQUIRE is %s: %v", stage, outcome, err)
	}
}

func TestLeasesOutliveANodeOfACluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t, true)
	store := newStore(t, c.options)
	scope, _ := c.scopeAt(0, "finance/revenue")
	elsewhere, _ := c.scopeAt(1, "finance/elsewhere")
	renewals := hold(t, store, append(manyScopes(50), scope)...)
	other := startRenewing(t, store, hold(t, store, elsewhere))
	for i := range 3 {
		wrote := c.nodes[i].number("master_repl_offset")
		eventually(t, "the replica has all", func() bool { return c.nodes[i+3].number("slave_repl_offset") >= wrote })
	}
	all := startRenewing(t, store, renewals)
	c.nodes[0].kill()
	c.gates[0].end()
	eventually(t, "the replica is promoted", func() bool { return c.nodes[3].info("role") == "master" })
	promoted := time.Since(all.begun)
	t.Logf("the replica was promoted after %v", promoted.Round(time.Millisecond))
	if x := all.end(t); x.outage > promoted+2*time.Second {
		t.Errorf("the new primary was found %v after its promotion", x.outage-promoted)
	}
	other.end(t)
	// Those who acquire have a map of slots of their own, and see it fail once.
	eventually(t, "the new primary is asked for leases", func() bool {
		return lease.OutcomeOf(acquireAs(t, store, scope, 0)) == lease.Executed
	})
	checkSuccession(t, store, c.nodes[3], renewals[len(renewals)-1].Term())
}

// TestAClusterIsFoundByAReplica knows the Cluster by addresses that are those of replicas since the last failover.
func TestAClusterIsFoundByAReplica(t *testing.T) {
	t.Parallel()
	c := startCluster(t, true)
	store := newStore(t, redis.Options{Cluster: []string{c.gates[4].address}})
	renewals := hold(t, store, manyScopes(10)...)
	if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
		t.Error(err)
	}
}

func TestAClusterThatIsDownLosesNoLease(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	store := newStore(t, c.options)
	scope, _ := c.scopeAt(1, "finance/revenue")
	renewals := hold(t, store, scope)
	grant := renewals[0].Term()
	if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
		t.Fatal(err)
	}
	c.nodes[0].stop() // nobody takes its slots, so the Cluster refuses everything
	eventually(t, "the Cluster is down", func() bool {
		return strings.Contains(c.nodes[1].do("cluster", "info").String(), "cluster_state:fail")
	})
	for name, err := range map[string]error{
		"renew":   store.Renew(t.Context(), renewals)[0],
		"release": store.Release(t.Context(), grant),
		"acquire": acquireAs(t, store, scope, 0),
	} {
		if lease.OutcomeOf(err) != lease.NotExecuted {
			t.Errorf("%s: %v, want it not executed", name, err)
		}
	}
	c.nodes[0].resume()
	all := startRenewing(t, store, renewals)
	all.end(t)
}
