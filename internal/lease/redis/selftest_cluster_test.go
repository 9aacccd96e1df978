package redis_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// startCluster starts a Redis Cluster of two primaries, which have one half of the slots each.
func startCluster(t *testing.T) [2]raw {
	t.Helper()
	var nodes [2]raw
	for i, slots := range [][2]int{{0, 8191}, {8192, 16383}} {
		address, _ := leasetest.StartRedis(t, "--cluster-enabled", "yes")
		nodes[i] = newRaw(t, address)
		nodes[i].must(nodes[i].client.ClusterAddSlotsRange(t.Context(), slots[0], slots[1]).Err())
	}
	other := nodes[1].client
	bus, err := other.ConfigGet(t.Context(), "cluster-port").Result()
	nodes[1].must(err)
	host, port, _ := strings.Cut(other.Options().Addr, ":")
	nodes[0].must(nodes[0].client.Do(t.Context(), "cluster", "meet", host, port, bus["cluster-port"]).Err())
	for _, node := range nodes {
		waitForReply(t, "cluster_state:ok", func() (string, error) { return node.client.ClusterInfo(t.Context()).Result() })
		waitForReply(t, "cluster_size:2", func() (string, error) { return node.client.ClusterInfo(t.Context()).Result() })
	}
	return nodes
}

// checkOnlyRefusedBy asks for leases on all nodes, of which one is not fit.
func checkOnlyRefusedBy(t *testing.T, store *redis.Store, unfit string) {
	t.Helper()
	granted, refused := 0, 0
	for i := range 40 {
		err := acquireErr(t, store, lease.ScopeFor("finance", lease.Token(i+1).String()))
		cause, isUnsafe := errors.AsType[*lease.UnsafeError](err)
		switch {
		case err == nil:
			granted++
		case isUnsafe && cause.Address == unfit:
			refused++
		default:
			t.Errorf("scope %d: %v", i, err)
		}
	}
	if granted == 0 || refused == 0 {
		t.Errorf("%d granted and %d refused: one node is fit, and the other is not", granted, refused)
	}
}

func TestEachNodeOfAClusterIsTestedOnItsOwnSlots(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t)
	first, second := nodes[0].client.Options().Addr, nodes[1].client.Options().Addr
	nodes[1].must(nodes[1].client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	store := newStore(t, redis.Options{Cluster: []string{first, second}})
	report, err := store.SelfTest(t.Context())
	if err != nil || len(report.Nodes) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, node := range report.Nodes {
		fatal := slices.ContainsFunc(node.Findings, func(f redis.Finding) bool { return f.Severity == redis.Fatal })
		unsafe := codes(node.Findings)[redis.CodeEvictionPolicy] != ""
		if unsafe != (node.Address == second) || fatal {
			t.Errorf("%s: %+v", node.Address, node.Findings)
		}
	}
	checkOnlyRefusedBy(t, store, second)
	for _, node := range nodes {
		keys, err := node.client.Keys(t.Context(), "*selftest*").Result()
		if err != nil || len(keys) != 0 {
			t.Errorf("the self-test left %v, %v", keys, err)
		}
	}
}

func TestASingleRedisIsNotTakenForACluster(t *testing.T) {
	t.Parallel()
	address, _ := leasetest.StartRedis(t)
	store := newStore(t, redis.Options{Cluster: []string{address}})
	if err := acquireErr(t, store, scope); lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("got %v", err)
	}
}
