package redis_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// onServer is a store on a server, and the way past it.
func onServer(t *testing.T, address string) leasetest.Backend {
	t.Helper()
	return leasetest.Backend{Store: newStore(t, redis.Options{Address: address}), Raw: newRaw(t, address)}
}

// wantQuarantine asks for a lease and wants to be told to wait.
func wantQuarantine(t *testing.T, b leasetest.Backend, floor lease.Token, why lease.Suspicion) {
	t.Helper()
	_, err := b.Store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: leasetest.NewOwner(t), TTL: ttl, Floor: floor})
	if quarantined, ok := errors.AsType[*lease.QuarantinedError](err); !ok || quarantined.Why != why {
		t.Fatalf("got %v, want a quarantine because of the %s", err, why)
	}
}

// wantHigher lets a quarantine pass and wants a higher token than the last.
func wantHigher(t *testing.T, b leasetest.Backend, last lease.Token) {
	t.Helper()
	b.Raw.EndQuarantine(scope)
	grant := leasetest.MustAcquire(t, b.Store, scope, ttl)
	if grant.Term.Token <= last {
		t.Fatalf("token %d after %d", grant.Term.Token, last)
	}
}

// follow makes a server a replica of another, and waits until it has all of its data.
func follow(t *testing.T, replica, primary string) {
	t.Helper()
	host, port, _ := strings.Cut(primary, ":")
	r := newRaw(t, replica)
	r.must(r.client.Do(t.Context(), "replicaof", host, port).Err())
	waitForInfo(t, r, "replication", "master_link_status:up")
}

func promote(t *testing.T, address string) {
	t.Helper()
	r := newRaw(t, address)
	r.must(r.client.Do(t.Context(), "replicaof", "no", "one").Err())
}

func TestTokensIncreaseOverARestartWithoutData(t *testing.T) {
	t.Parallel()
	address, server := leasetest.StartRedis(t)
	last := leasetest.MustAcquire(t, onServer(t, address).Store, scope, ttl).Term.Token
	kill(t, server)
	empty, _ := leasetest.StartRedis(t)
	after := onServer(t, empty)
	wantQuarantine(t, after, last, lease.DataLost)
	wantHigher(t, after, last)
}

func TestTokensIncreaseOverARestartWithData(t *testing.T) {
	t.Parallel()
	durable := []string{"--appendonly", "yes", "--appendfsync", "always", "--dir", t.TempDir()}
	address, server := leasetest.StartRedis(t, durable...)
	before := onServer(t, address)
	term := leasetest.MustAcquire(t, before.Store, scope, ttl).Term
	kill(t, server)
	address, _ = leasetest.StartRedis(t, durable...)
	after := onServer(t, address)
	if err := after.Store.Renew(t.Context(), leasetest.Renewals(ttl, term))[0]; err != nil {
		t.Errorf("a lease that was kept: %v", err)
	}
	if err := after.Store.Release(t.Context(), term); err != nil {
		t.Fatal(err)
	}
	wantQuarantine(t, after, 0, lease.ServerChanged)
	wantHigher(t, after, term.Token)
}

func TestTokensIncreaseOverAFailoverToAReplicaThatMissedTheLease(t *testing.T) {
	t.Parallel()
	first, _ := leasetest.StartRedis(t, "--repl-diskless-sync-delay", "0")
	second, _ := leasetest.StartRedis(t)
	wire := newLink(t, first)
	follow(t, second, wire.address)
	primary, after := onServer(t, first), onServer(t, second)
	old := leasetest.MustAcquire(t, primary.Store, scope, ttl)
	waitForLease(t, after, old.Term)
	wire.deaf.Store(true) // from here on the replica hears nothing
	if err := primary.Store.Release(t.Context(), old.Term); err != nil {
		t.Fatal(err)
	}
	missed := leasetest.MustAcquire(t, primary.Store, scope, ttl).Term
	promote(t, second)
	lost := after.Store.Renew(t.Context(), leasetest.Renewals(ttl, missed))[0]
	if other, ok := errors.AsType[*lease.LostError](lost); !ok || other.Token != old.Term.Token {
		t.Errorf("the lease that was missed: %v", lost)
	}
	after.Raw.Remove(scope) // the older lease, which it still knows, lapses
	wantQuarantine(t, after, 0, lease.ServerChanged)
	wantHigher(t, after, missed.Token)
}

// TestAPrimaryThatIsGivenItsPlaceBackIsAnotherServer fails over and back again: the run id is the old one, and what the server
// granted before the first failover may be lost all the same.
func TestAPrimaryThatIsGivenItsPlaceBackIsAnotherServer(t *testing.T) {
	t.Parallel()
	first, _ := leasetest.StartRedis(t, "--repl-diskless-sync-delay", "0")
	second, _ := leasetest.StartRedis(t, "--repl-diskless-sync-delay", "0")
	b := onServer(t, first)
	grant := leasetest.MustAcquire(t, b.Store, scope, ttl)
	follow(t, second, first)
	promote(t, second)
	follow(t, first, second)
	promote(t, first)
	follow(t, second, first)
	if err := b.Store.Release(t.Context(), grant.Term); err != nil {
		t.Fatal(err)
	}
	wantQuarantine(t, b, 0, lease.ServerChanged)
	wantHigher(t, b, grant.Term.Token)
}

func TestAGrantReachesDiskAndReplicasInOnePiece(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	address, _ := leasetest.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always", "--dir", directory)
	b := onServer(t, address)
	if _, err := b.Store.(*redis.Store).SelfTest(t.Context()); err != nil {
		t.Fatal(err)
	}
	leasetest.MustAcquire(t, b.Store, scope, ttl)
	files, err := filepath.Glob(filepath.Join(directory, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("append-only files %v, %v", files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	written := string(content)
	last := max(strings.LastIndex(written, "MULTI"), 0)
	for _, part := range []string{scope.FenceKey(), scope.ServerKey(), scope.LeaseKey(), "PXAT", "EXEC"} {
		if !strings.Contains(written[last:], part) {
			t.Errorf("the last transaction lacks %s:\n%s", part, written[last:])
		}
	}
}

func TestAFenceThatIsNoTokenGrantsNothingBelowAFloor(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	for value, refused := range map[string]bool{
		"": false, "nan": false, "inf": false, "1e300": false, "0x10": false, "-1": false, " 5": false, "5|x": false, "\x00\xff": false,
		"9007199254740991": true, "9007199254740993": true, strings.Repeat("9", 200): true,
	} {
		r.LoseEverything()
		last := leasetest.MustAcquire(t, store, scope, ttl).Term.Token
		r.Remove(scope)
		r.must(r.client.Set(t.Context(), scope.FenceKey(), value, 0).Err())
		if refused {
			// Whoever minted that: no token above it is left, and none below it is granted.
			err := acquireErr(t, store, scope)
			if lease.OutcomeOf(err) != lease.NotExecuted || !strings.Contains(err.Error(), "no fencing token") {
				t.Errorf("%.20q: %v", value, err)
			}
			continue
		}
		wantQuarantine(t, leasetest.Backend{Store: store}, last, lease.DataLost)
		wantHigher(t, leasetest.Backend{Store: store, Raw: r}, last)
	}
}
