package redis_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// startEngine runs an engine for the rest of the test, and returns where it puts the results of renewals and its signals.
func startEngine(t *testing.T, store lease.Store) (*renewal.Engine, <-chan renewal.Result, <-chan renewal.Subject) {
	t.Helper()
	results, signals := make(chan renewal.Result, 1000), make(chan renewal.Subject, 10)
	engine := renewal.New(renewal.Options{
		Store:   store,
		Notify:  func(s renewal.Subject) { signals <- s },
		Observe: func(r renewal.Result) { results <- r },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return engine, results, signals
}

// track hands a lease to an engine.
func track(t *testing.T, engine *renewal.Engine, grant lease.Grant, timing lease.Timing) {
	t.Helper()
	s := renewal.Subject(grant.Term.Scope)
	engine.Reserve(s, grant.Term.Scope, grant.Term.Owner)
	if !engine.Track(s, grant, timing) {
		t.Fatalf("%s is not tracked, and it was reserved", s)
	}
}

// waitFor waits until something arrives that is wanted.
func waitFor[T comparable](t *testing.T, from <-chan T, want T) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		select {
		case got := <-from:
			if got == want {
				return
			}
		case <-limit:
			t.Fatalf("no %v in 10 s", want)
		}
	}
}

// TestARedisThatRefusedForLongIsFoundAgainWithinAProbe kills the server, and starts one without data in its place.
func TestARedisThatRefusedForLongIsFoundAgainWithinAProbe(t *testing.T) {
	t.Parallel()
	address, server := leasetest.StartRedis(t)
	store := newStore(t, redis.Options{Address: address})
	engine, results, signals := startEngine(t, store)
	timing := lease.Timing{LeaseDuration: time.Hour, RenewalInterval: 100 * time.Millisecond, StopGracePeriod: time.Second}
	track(t, engine, leasetest.MustAcquire(t, store, scope, timing.LeaseDuration), timing)
	waitFor(t, results, renewal.Confirmed)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 16 { // until the pool probes by itself
		waitFor(t, results, renewal.NotExecuted)
	}
	_, port, _ := net.SplitHostPort(address)
	leasetest.StartRedis(t, "--port", port)
	back := time.Now()
	waitFor(t, signals, "finance/revenue")
	const slack = time.Second // of a machine that does other things
	if took := time.Since(back); took > redis.ProbeInterval+renewal.MaxRetryDelay+slack {
		t.Errorf("the server was found again after %v", took)
	}
	if state := engine.State("finance/revenue"); state.Phase != renewal.Lost {
		t.Errorf("on a server without data: %+v", state)
	}
}

func TestAnEngineOnARealServerSurvivesAFreezeAndHearsOfALoss(t *testing.T) {
	t.Parallel()
	store, r, server := startStore(t)
	engine, results, signals := startEngine(t, store)
	timing := lease.Timing{LeaseDuration: 30 * time.Second, RenewalInterval: 300 * time.Millisecond, StopGracePeriod: time.Second}
	const subject = renewal.Subject("finance/revenue")
	track(t, engine, leasetest.MustAcquire(t, store, scope, timing.LeaseDuration), timing)
	waitFor(t, results, renewal.Confirmed)
	stop(t, server)
	waitFor(t, results, renewal.Unknown)
	waitFor(t, results, renewal.Unknown)
	resume(t, server)
	waitFor(t, results, renewal.Confirmed)
	if state := engine.State(subject); state.Phase != renewal.Held || r.TTL(scope) < 25*time.Second {
		t.Errorf("after the freeze: %+v with %v left", state, r.TTL(scope))
	}
	r.LoseEverything()
	waitFor(t, signals, subject)
	if state := engine.State(subject); state.Phase != renewal.Lost {
		t.Errorf("after the loss of all data: %+v", state)
	}
	if got := r.Get(scope); got != "" {
		t.Errorf("the lost lease was made again: %q", got)
	}
}
