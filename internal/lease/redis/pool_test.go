package redis

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

func TestRenewalsGoOnWhileAllOtherConnectionsAreTaken(t *testing.T) {
	t.Parallel()
	address, _ := leasetest.StartRedis(t)
	store := New(Options{Address: address})
	defer store.Close()
	grant := leasetest.MustAcquire(t, store, "a/held", 30*time.Second)
	pool := store.control.rdb.(*goredis.Client)
	for range pool.Options().PoolSize {
		taken := pool.Conn()
		defer taken.Close()
		if err := taken.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	owner := leasetest.NewOwner(t)
	_, acquire := store.Acquire(t.Context(), lease.AcquireRequest{Scope: "a/b", Owner: owner, TTL: 30 * time.Second})
	for name, err := range map[string]error{
		"acquire": acquire, "release": store.Release(t.Context(), grant.Term), "check": store.Check(t.Context()),
	} {
		if lease.OutcomeOf(err) != lease.NotExecuted {
			t.Errorf("%s without a free connection: %v", name, err)
		}
	}
	renewals := leasetest.Renewals(30*time.Second, grant.Term)
	for range 100 {
		if err := store.Renew(t.Context(), renewals)[0]; err != nil {
			t.Fatal(err)
		}
	}
}
