//go:build topologies

package topologies

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

func TestALeaseReachesItsReplicasOrIsTreatedAsThePolicySays(t *testing.T) {
	t.Parallel()
	x := startTrio(t)
	replicated := func(policy redis.ReplicationPolicy) *redis.Store {
		options := x.options()
		options.Replication = redis.Replication{Policy: policy, Replicas: 1, Timeout: 300 * time.Millisecond}
		return newStore(t, options)
	}
	require, prefer, off := replicated(redis.ReplicationRequire), replicated(redis.ReplicationPrefer), newStore(t, x.options())
	renewals := hold(t, require, "finance/required", "finance/also-required")
	for _, node := range x.nodes[1:] {
		node.stop()
		defer node.resume()
	}
	err := acquireAs(t, require, "finance/refused", 0)
	if lease.OutcomeOf(err) != lease.NotExecuted || !strings.Contains(err.Error(), "0 of 1 replicas") {
		t.Errorf("require without a replica: %v", err)
	}
	r := raw{t, x.nodes[0].client}
	if got := r.Get("finance/refused"); got != "" {
		t.Errorf("the lease that was refused is still there: %q", got)
	}
	for name, store := range map[string]*redis.Store{"prefer": prefer, "off": off} {
		if err := acquireAs(t, store, lease.Scope("finance/"+name), 0); err != nil {
			t.Errorf("%s without a replica: %v", name, err)
		}
	}
	counted := []uint64{require.Health().Unreplicated, prefer.Health().Unreplicated, off.Health().Unreplicated}
	if want := []uint64{1, 1, 0}; !slices.Equal(counted, want) {
		t.Errorf("grants without replicas that were counted: %v, want %v", counted, want)
	}
	checkRenewedAtOnce(t, require, renewals)
}

// checkRenewedAtOnce checks that renewals wait for no replica.
func checkRenewedAtOnce(t *testing.T, store *redis.Store, renewals []*lease.Renewal) {
	t.Helper()
	begun := time.Now()
	for _, err := range store.Renew(t.Context(), renewals) {
		if err != nil {
			t.Errorf("renew without a replica: %v", err)
		}
	}
	if took := time.Since(begun); took > 250*time.Millisecond {
		t.Errorf("renewals waited %v for replicas", took)
	}
}
