//go:build topologies

package topologies

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// shortTTL is the shortest lease there is, so that a test can wait for its end.
const shortTTL = lease.MinLeaseDuration

// TestAPrimaryThatIsCutOffIsContradictedOnlyWhenItsHolderTrustsItNoMore cuts the primary off from the Sentinels and the replicas,
// together with one client. The other side promotes a replica.
func TestAPrimaryThatIsCutOffIsContradictedOnlyWhenItsHolderTrustsItNoMore(t *testing.T) {
	t.Parallel()
	x := startTrio(t, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "2")
	isolated, connected := newStore(t, redis.Options{Address: x.nodes[0].address}), newStore(t, x.options())
	grant := leasetest.MustAcquire(t, isolated, "finance/revenue", shortTTL)
	x.settle()
	x.gate.shut()
	trusted := renewWhileItWorks(t, isolated, grant)
	if err := acquireAs(t, isolated, "finance/another", 0); lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("a primary without replicas granted: %v", err)
	}
	successor := x.successor()
	granted := acquireAfterAll(t, connected, grant.Term)
	if granted.At.Before(trusted) {
		t.Errorf("another was granted the lease %v before the holder's trust ended", trusted.Sub(granted.At))
	}
	if granted.Term.Token <= grant.Term.Token {
		t.Errorf("token %d after %d", granted.Term.Token, grant.Term.Token)
	}
	x.gate.reopen()
	eventually(t, "the old primary follows the new one", func() bool { return x.nodes[0].info("master_link_status") == "up" })
	for name, err := range map[string]error{
		"renew":   isolated.Renew(t.Context(), leasetest.Renewals(shortTTL, grant.Term))[0],
		"acquire": acquireAs(t, isolated, "finance/third", 0),
	} {
		if lease.OutcomeOf(err) == lease.Executed {
			t.Errorf("%s at the demoted primary: %v", name, err)
		}
	}
	if got := (raw{t, successor.client}).Fence(grant.Term.Scope); got < granted.Term.Token {
		t.Errorf("the highest token is %d, and %d was granted", got, granted.Term.Token)
	}
}

// renewWhileItWorks renews until the primary refuses for want of replicas, and returns the end of the holder's trust.
func renewWhileItWorks(t *testing.T, store *redis.Store, grant lease.Grant) time.Time {
	t.Helper()
	renewals := leasetest.Renewals(shortTTL, grant.Term)
	timing := lease.Timing{LeaseDuration: shortTTL}
	trusted := grant.At.Add(timing.Trusted())
	eventually(t, "the primary renews no more", func() bool {
		at := time.Now()
		err := store.Renew(t.Context(), renewals)[0]
		if err == nil {
			trusted = at.Add(timing.Trusted())
		}
		if err != nil && lease.OutcomeOf(err) != lease.NotExecuted {
			t.Fatalf("renew at a primary that is cut off: %v", err)
		}
		return err != nil
	})
	return trusted
}

// acquireAfterAll asks until the lease is granted: first it is held, and then quarantined.
func acquireAfterAll(t *testing.T, store *redis.Store, before lease.Term) (granted lease.Grant) {
	t.Helper()
	quarantined := false
	eventually(t, "the lease is granted again", func() bool {
		grant, err := store.Acquire(t.Context(), lease.AcquireRequest{
			Scope: before.Scope, Owner: leasetest.NewOwner(t), TTL: shortTTL, Floor: before.Token,
		})
		_, waits := errors.AsType[*lease.QuarantinedError](err)
		quarantined = quarantined || waits
		granted = grant
		return err == nil
	})
	if !quarantined {
		t.Error("the new primary granted the lease without a quarantine")
	}
	return granted
}
