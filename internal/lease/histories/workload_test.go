package histories

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

const (
	clients = 3
	// stale is how long after it was made a request may still be granted: its time, and its window.
	stale = 3 * time.Second
	// secondsVariable sets for how long the histories are recorded, and seedVariable what all chance is drawn from.
	secondsVariable = "LEASEHOLD_HISTORIES_SECONDS"
	seedVariable    = "LEASEHOLD_HISTORIES_SEED"
)

// workload is three clients that compete for scopes while things go wrong.
type workload struct {
	seed   uint64
	scopes int
	// length is how long it takes, unless enough returns true for what was recorded so far.
	length time.Duration
	enough func([]event) bool
	// storms multiplies how often requests and replies go wrong on their way.
	storms int
	// pauses is how likely, in percent, a report is paused before a renewal, and vanishes how likely it ends without a release.
	pauses, vanishes int
	// holds is the longest time that a report takes.
	holds time.Duration
	// restarts is the time between restarts without data; each is followed by a quarantine of one lease.
	restarts time.Duration
	// wrap breaks the store for a scope; nil: the store is as it is.
	wrap func(lease.Scope, *redis.Store) lease.Store
}

func (w workload) storeFor(scope lease.Scope, store *redis.Store) lease.Store {
	if w.wrap == nil {
		return store
	}
	return w.wrap(scope, store)
}

// scope is the i-th of the workload's.
func scope(i int) lease.Scope { return lease.ScopeFor("histories", fmt.Sprintf("report-%d", i)) }

// trial is a workload that runs.
type trial struct {
	workload
	history *history
	server  *server
	clients []*client
	records records
	random  *rand.Rand
}

// run records a history.
func (w workload) run(t *testing.T) *history {
	t.Helper()
	t.Logf("%s=%d makes the same choices again; the machine's timing is its own", seedVariable, w.seed)
	h := newHistory()
	tr := &trial{workload: w, history: h, server: startServer(t, h), records: records{}, random: w.source(0)}
	for i := range w.scopes {
		tr.records[scope(i)] = &atomic.Uint64{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), w.length)
	defer cancel()
	var work sync.WaitGroup
	for i := range clients {
		c := &client{workload: w, history: h, proxy: newProxy(t, tr.server.address, h, w.source(1, i))}
		c.proxy.storms = w.storms
		c.start()
		tr.clients = append(tr.clients, c)
		t.Cleanup(func() { _ = c.process.Load().store.Close() }) // its connections may be gone
		for j := range w.scopes {
			part := &worker{c, scope(j), tr.records, w.source(2, i, j)}
			work.Go(func() { part.run(ctx) })
		}
	}
	tr.misbehave(ctx)
	cancel()
	work.Wait()
	return h
}

// source is one of the workload's sources of chance.
func (w workload) source(path ...int) *rand.Rand {
	stream := uint64(1)
	for _, n := range path {
		stream = stream*1_000_003 + uint64(n) + 1
	}
	return rand.New(rand.NewPCG(w.seed, stream))
}

// misbehave does to the clients and the server what the proxies do not, one after the other, until the context ends.
func (tr *trial) misbehave(ctx context.Context) {
	deeds := []func(ctx context.Context, c *client){tr.cut, tr.cutOff, tr.kill, tr.pause, tr.remove, tr.remove}
	known, restartAt := time.Now(), time.Now().Add(tr.restarts/2)
	for {
		for _, i := range tr.random.Perm(len(deeds)) {
			if !wait(ctx, tr.between(300*time.Millisecond, 900*time.Millisecond)) || tr.enough(tr.history.all()) {
				return
			}
			deeds[i](ctx, tr.clients[tr.random.IntN(clients)])
			if !tr.allKnown() {
				known = time.Now()
			}
			if time.Since(known) > stale && time.Now().After(restartAt) {
				tr.server.restart()
				restartAt = time.Now().Add(tr.restarts)
			}
		}
	}
}

func (tr *trial) between(least, most time.Duration) time.Duration {
	return least + time.Duration(tr.random.Int64N(int64(most-least)))
}

// allKnown says whether a token of every scope is known elsewhere. To a request that knows of none, a server without data is one
// that never granted any: this is no loss that the protocol promises to find, and no restart comes before such requests are over.
func (tr *trial) allKnown() bool {
	for _, known := range tr.records {
		if known.Load() == 0 {
			return false
		}
	}
	return true
}

func (tr *trial) cut(_ context.Context, c *client) {
	tr.history.fault("cut connections")
	c.proxy.cut()
}

func (tr *trial) cutOff(_ context.Context, c *client) {
	tr.history.fault("client cut off")
	c.proxy.setAway(true)
	time.AfterFunc(tr.between(500*time.Millisecond, 3500*time.Millisecond), func() { c.proxy.setAway(false) })
}

func (tr *trial) kill(_ context.Context, c *client) {
	tr.history.fault("client killed")
	c.start()
}

func (tr *trial) pause(ctx context.Context, c *client) {
	tr.history.fault("client paused")
	c.pause(ctx, tr.between(ttl/2, 3*ttl/2))
}

func (tr *trial) remove(context.Context, *client) {
	tr.server.remove(scope(tr.random.IntN(tr.scopes)))
}

// number reads an environment variable.
func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(cmp.Or(os.Getenv(variable), strconv.FormatUint(otherwise, 10)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

func TestWhatThreeClientsSawInAllWeathersKeepsTheProtocol(t *testing.T) {
	t.Parallel()
	h := workload{
		seed:   number(t, seedVariable, rand.Uint64()),
		scopes: 40,
		length: time.Duration(number(t, secondsVariable, 20)) * time.Second,
		enough: func([]event) bool { return false },
		storms: 1, pauses: 3, vanishes: 20, holds: 4 * time.Second, restarts: 9 * time.Second,
	}.run(t)
	begun := time.Now()
	violations := check(h.events)
	fmt.Printf("histories: %s, checked in %v\n", h.summary(), time.Since(begun).Round(time.Millisecond))
	for i, v := range violations {
		if i < 5 {
			t.Errorf("%s: %s is broken: %s", v.scope, v.rule, v.text)
		}
	}
	if len(violations) > 0 {
		t.Errorf("%d violations", len(violations))
	}
	for _, kind := range faultKinds() {
		if h.faults[kind] == 0 {
			t.Errorf("the history proves little: no %s in it", kind)
		}
	}
	for _, a := range []answer{ok, held, gone, quarantined, refused, unknown} {
		if !slices.ContainsFunc(h.events, func(e event) bool { return e.answer == a }) {
			t.Errorf("the history proves little: no answer %q in it", a)
		}
	}
}

// faultKinds are those that no history is without. Paused and vanished reports are left to chance.
func faultKinds() []string {
	kinds := []string{
		"restart without data", "removal of a key", "cut connections", "client cut off", "client killed", "client paused",
	}
	for _, w := range weather {
		kinds = append(kinds, w.kind)
	}
	return kinds
}
