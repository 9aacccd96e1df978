package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// hinted is how long a test waits for a hint: the longest pause between two attempts to listen, and some more.
const hinted = 20 * time.Second

// listen runs hints until the test ends, and returns where they arrive.
func listen(t *testing.T, address string) (*redis.Hints, chan lease.Scope) {
	t.Helper()
	hints := redis.NewHints(redis.Options{Address: address})
	heard := make(chan lease.Scope, 10_000)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hints.Run(ctx, func(scope lease.Scope) { heard <- scope }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("at the end: %v", err)
		}
		_ = hints.Close() // connections may be gone already
	})
	return hints, heard
}

// hear waits for n hints and returns how many there were of each scope.
func hear(t *testing.T, heard chan lease.Scope, n int) map[lease.Scope]int {
	t.Helper()
	counts := map[lease.Scope]int{}
	limit := time.After(hinted)
	for range n {
		select {
		case scope := <-heard:
			counts[scope]++
		case <-limit:
			t.Fatalf("after %v, of %d hints these came: %v", hinted, n, counts)
		}
	}
	return counts
}

func TestAReleaseIsHintedToThoseWhoWatch(t *testing.T) {
	t.Parallel()
	store, _, _ := startStore(t)
	hints, heard := listen(t, store.Address())
	hints.Watch(scope)
	hints.Watch("finance/other")
	if got := hear(t, heard, 2); got[scope] != 1 || got["finance/other"] != 1 {
		t.Errorf("when listening begins: %v", got)
	}
	for range 3 {
		grant := leasetest.MustAcquire(t, store, scope, ttl)
		if err := store.Release(t.Context(), grant.Term); err != nil {
			t.Fatal(err)
		}
	}
	if got := hear(t, heard, 3); got[scope] != 3 {
		t.Errorf("three releases: %v", got)
	}
}

func TestWhatIsNotWatchedAnyMoreIsNotHinted(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	hints, heard := listen(t, store.Address())
	hints.Watch(scope)
	hints.Watch("finance/other")
	hear(t, heard, 2)
	hints.Unwatch(scope)
	waitForSubscribers(t, r, scope, 0)
	for _, s := range []lease.Scope{scope, "finance/other"} {
		if err := store.Release(t.Context(), leasetest.MustAcquire(t, store, s, ttl).Term); err != nil {
			t.Fatal(err)
		}
	}
	if got := hear(t, heard, 1); got["finance/other"] != 1 {
		t.Errorf("heard of %v", got)
	}
	hints.Watch(scope)
	if got := hear(t, heard, 1); got[scope] != 1 {
		t.Errorf("when it is watched again: %v", got)
	}
}

// TestAHintFollowsEveryBreakInListening loses a release while the connection is broken: the hint that listening begins again
// stands for it.
func TestAHintFollowsEveryBreakInListening(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	hints, heard := listen(t, store.Address())
	hints.Watch(scope)
	hear(t, heard, 1)
	for range 5 {
		r.must(r.client.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
		if got := hear(t, heard, 1); got[scope] != 1 {
			t.Errorf("after the connection broke: %v", got)
		}
	}
}

func TestAThousandScopesAreListenedForOnOneConnection(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	hints, heard := listen(t, store.Address())
	const n = 1000
	for i := range n {
		hints.Watch(lease.Scope(fmt.Sprintf("many/%d", i)))
	}
	if got := hear(t, heard, n); len(got) != n {
		t.Errorf("%d scopes were hinted", len(got))
	}
	clients, err := r.client.ClientList(t.Context()).Result()
	r.must(err)
	if got := countPubSub(clients); got != 1 {
		t.Errorf("%d connections listen", got)
	}
	r.must(r.client.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	if got := hear(t, heard, n); len(got) != n {
		t.Errorf("after the connection broke, %d scopes were hinted", len(got))
	}
}

func TestListeningSurvivesAServerThatIsAwayAtFirst(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t, "127.0.0.1:1")
	hints, heard := listen(t, proxy.address)
	hints.Watch(scope)
	address, _ := leasetest.StartRedis(t)
	proxy.moveTo(address)
	if got := hear(t, heard, 1); got[scope] < 1 {
		t.Errorf("heard of %v", got)
	}
}

// waitForSubscribers waits until so many connections listen for the scope.
func waitForSubscribers(t *testing.T, r raw, scope lease.Scope, want int64) {
	t.Helper()
	channel := scope.ReleasedChannel()
	for deadline := time.Now().Add(hinted); ; {
		got, err := r.client.PubSubShardNumSub(t.Context(), channel).Result()
		r.must(err)
		if got[channel] == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d listen for %s, want %d", got[channel], scope, want)
		}
	}
}

// countPubSub counts the clients that listen: CLIENT LIST marks them with P.
func countPubSub(clients string) int {
	n := 0
	for line := range strings.Lines(clients) {
		if strings.Contains(line, " flags=P ") {
			n++
		}
	}
	return n
}
