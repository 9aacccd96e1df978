//go:build topologies

package topologies

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// heard counts the hints for each scope.
type heard struct {
	mu     sync.Mutex
	counts map[lease.Scope]int
}

// listen watches scopes for the rest of the test, and waits until all are listened to.
func listen(t *testing.T, options redis.Options, scopes ...lease.Scope) *heard {
	t.Helper()
	h := &heard{counts: map[lease.Scope]int{}}
	hints := redis.NewHints(options)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- hints.Run(ctx, h.add) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := hints.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, scope := range scopes {
		hints.Watch(scope)
	}
	for _, scope := range scopes {
		eventually(t, "there is a hint that listening to "+string(scope)+" began", func() bool { return h.count(scope) > 0 })
	}
	return h
}

func (h *heard) add(scope lease.Scope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[scope]++
}

func (h *heard) count(scope lease.Scope) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts[scope]
}

// checkRelease releases a term until that works, and waits for a hint.
func (h *heard) checkRelease(t *testing.T, store *redis.Store, term lease.Term) {
	t.Helper()
	before := h.count(term.Scope)
	eventually(t, "the lease can be released", func() bool { return store.Release(t.Context(), term) == nil })
	begun := time.Now()
	eventually(t, "there is a hint of the release", func() bool { return h.count(term.Scope) > before })
	t.Logf("hint of %s after %v", term.Scope, time.Since(begun).Round(time.Microsecond))
}

func TestHintsFollowAFailover(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*trio){
		"the primary is killed":  func(x *trio) { x.nodes[0].kill() },
		"the primary is cut off": func(x *trio) { x.gate.shut() },
		"a failover is ordered":  func(x *trio) { x.sentinels[0].do("sentinel", "failover", masterName) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := startTrio(t)
			store := newStore(t, x.options())
			terms := hold(t, store, "finance/before", "finance/after")
			x.settle()
			h := listen(t, x.options(), "finance/before", "finance/after")
			h.checkRelease(t, store, terms[0].Term())
			again := h.count("finance/after")
			fail(x)
			x.successor()
			begun := time.Now()
			eventually(t, "listening begins again", func() bool { return h.count("finance/after") > again })
			t.Logf("listening began again %v after all Sentinels knew", time.Since(begun).Round(time.Millisecond))
			h.checkRelease(t, store, terms[1].Term())
		})
	}
}

func TestHintsFollowASlot(t *testing.T) {
	t.Parallel()
	c := startCluster(t, true)
	store := newStore(t, c.options)
	moving, slot := c.scopeAt(0, "finance/moving")
	staying, _ := c.scopeAt(0, "finance/staying")
	third, _ := c.scopeAt(2, "finance/third")
	terms := hold(t, store, moving, staying, third)
	h := listen(t, c.options, moving, staying, third)
	h.checkRelease(t, store, terms[1].Term())
	again := h.count(moving)
	c.migrate(slot, 0, 1, func(string) {})
	eventually(t, "listening begins again", func() bool { return h.count(moving) > again })
	h.checkRelease(t, store, terms[0].Term())
	again = h.count(third)
	c.nodes[2].kill()
	c.gates[2].end()
	eventually(t, "listening begins again at the replica", func() bool { return h.count(third) > again })
	h.checkRelease(t, store, terms[2].Term())
}
