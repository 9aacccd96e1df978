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

// acquireMany acquires n leases and returns their renewals.
func acquireMany(t *testing.T, store *redis.Store, n int) []*lease.Renewal {
	t.Helper()
	renewals := make([]*lease.Renewal, n)
	for i := range renewals {
		name := scope + lease.Scope(lease.Token(i+1).String())
		renewals[i] = leasetest.Renewals(ttl, leasetest.MustAcquire(t, store, name, ttl).Term)[0]
	}
	return renewals
}

func TestABatchWhoseRepliesAreLostRanOnceAndIsUnknown(t *testing.T) {
	t.Parallel()
	direct, r, _ := startStore(t)
	proxy := newProxy(t, direct.Address())
	store := newStore(t, redis.Options{Address: proxy.address})
	renewals := acquireMany(t, store, 100)
	if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
		t.Fatal(err)
	}
	proxy.swallowReplies.Store(true)
	r.must(r.client.ConfigResetStat(t.Context()).Err())
	for _, err := range store.Renew(t.Context(), renewals) {
		checkUnknown(t, err)
	}
	if got := calls(t, r, "pexpire"); got != len(renewals) {
		t.Errorf("%d renewals ran %d times", len(renewals), got)
	}
	proxy.swallowReplies.Store(false)
	if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
		t.Errorf("when replies come again: %v", err)
	}
}

func TestAServerThatBecameAReplicaTakesNothingUntilItIsPrimaryAgain(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	renewals := leasetest.Renewals(ttl, grant.Term)
	if err := store.Renew(t.Context(), renewals)[0]; err != nil {
		t.Fatal(err)
	}
	// It follows itself, so it is a replica that keeps its data.
	host, port, _ := strings.Cut(store.Address(), ":")
	r.must(r.client.Do(t.Context(), "replicaof", host, port).Err())
	for name, err := range map[string]error{
		"renew":    store.Renew(t.Context(), renewals)[0],
		"acquire":  acquireErr(t, store, "another/scope"),
		"release":  store.Release(t.Context(), grant.Term),
		"withdraw": store.ReleaseOwner(t.Context(), scope, grant.Term.Owner),
	} {
		if lease.OutcomeOf(err) != lease.NotExecuted {
			t.Errorf("%s on a replica: %v", name, err)
		}
	}
	r.must(r.client.Do(t.Context(), "replicaof", "no", "one").Err())
	if err := store.Renew(t.Context(), renewals)[0]; err != nil {
		t.Errorf("on the primary again: %v", err)
	}
}

func TestAPasswordThatIsRotatedComesIntoForceWithoutARestart(t *testing.T) {
	t.Parallel()
	const first, second = "first-secret-4711", "second-secret-0815"
	address, _ := leasetest.StartRedis(t, "--requirepass", first)
	file := filepath.Join(t.TempDir(), "password")
	writePassword(t, file, first)
	store := newStore(t, redis.Options{Address: address, PasswordFile: file})
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	rotate(t, address, first, second)
	writePassword(t, file, second)
	if err := store.Renew(t.Context(), leasetest.Renewals(ttl, grant.Term))[0]; err != nil {
		t.Errorf("renew after the rotation: %v", err)
	}
	fresh := newStore(t, redis.Options{Address: address, PasswordFile: file})
	if err := fresh.Release(t.Context(), grant.Term); err != nil {
		t.Errorf("a new connection after the rotation: %v", err)
	}
	writePassword(t, file, first)
	late := newStore(t, redis.Options{Address: address, PasswordFile: file})
	err := late.Check(t.Context())
	if lease.OutcomeOf(err) != lease.NotExecuted || strings.Contains(err.Error(), first) {
		t.Errorf("the old password: %v", err)
	}
}

func TestAPasswordFileThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	address, _ := leasetest.StartRedis(t)
	directory := t.TempDir()
	store := newStore(t, redis.Options{Address: address, PasswordFile: directory})
	term := lease.Term{Scope: scope, Owner: leasetest.NewOwner(t), Token: 1}
	for name, err := range map[string]error{
		"check":   store.Check(t.Context()),
		"acquire": acquireErr(t, store, scope),
		"renew":   store.Renew(t.Context(), leasetest.Renewals(ttl, term))[0],
		"release": store.Release(t.Context(), term),
	} {
		if lease.OutcomeOf(err) != lease.NotExecuted || !strings.Contains(err.Error(), directory) {
			t.Errorf("%s: got %v, want a NotExecutedError that names %s", name, err, directory)
		}
	}
}

func writePassword(t *testing.T, file, password string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rotate gives the server a new password.
func rotate(t *testing.T, address, from, to string) {
	t.Helper()
	r := newRaw(t, address)
	pipe := r.client.Pipeline()
	pipe.Do(t.Context(), "auth", from)
	pipe.ConfigSet(t.Context(), "requirepass", to)
	_, err := pipe.Exec(t.Context())
	r.must(err)
}
