package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// tally counts the results of renewals.
type tally struct {
	mu      sync.Mutex
	results map[renewal.Result]int
}

func (c *tally) add(r renewal.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[r]++
}

func (c *tally) of(r renewal.Result) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.results[r]
}

// waitForMore waits until another n renewals had a result.
func (c *tally) waitForMore(t *testing.T, r renewal.Result, n int) {
	t.Helper()
	want := c.of(r) + n
	for limit := time.Now().Add(20 * time.Second); c.of(r) < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d renewals are %s, want %d", c.of(r), r, want)
		}
	}
}

// TestLeasesOutliveWhatARealServerDoesToTheirRenewals holds 200 leases while a server misbehaves, and after it.
func TestLeasesOutliveWhatARealServerDoesToTheirRenewals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		misbehave func(ctx context.Context, client *goredis.Client)
		brings    renewal.Result
		times     int
	}{
		"a script runs for too long":       {busy, renewal.NotExecuted, 500},
		"connections are closed for a bit": {closing, renewal.Unknown, 10},
		"the server pauses its clients":    {pausing, renewal.Unknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := leasetest.StartRedis(t, "--busy-reply-threshold", "50")
			counts := tally{results: map[renewal.Result]int{}}
			engine := startTallied(t, redis.Options{Address: address}, &counts)
			counts.waitForMore(t, renewal.Confirmed, 200)
			client := goredis.NewClient(&goredis.Options{Addr: address, ReadTimeout: -1, PoolSize: 2})
			defer client.Close()
			ctx, cancel := context.WithCancel(t.Context())
			var work sync.WaitGroup
			work.Go(func() { tc.misbehave(ctx, client) })
			counts.waitForMore(t, tc.brings, tc.times)
			cancel()
			work.Wait()
			counts.waitForMore(t, renewal.Confirmed, 2000)
			if phases, _ := engine.Summary(); phases[renewal.Held] != 200 {
				t.Errorf("%v", phases)
			}
		})
	}
}

// startTallied runs an engine that holds 200 leases.
func startTallied(t *testing.T, options redis.Options, counts *tally) *renewal.Engine {
	t.Helper()
	store := newStore(t, options)
	engine := renewal.New(renewal.Options{Store: store, Observe: counts.add})
	timing := lease.Timing{LeaseDuration: time.Hour, RenewalInterval: 20 * time.Millisecond, StopGracePeriod: time.Second}
	for i := range 200 {
		scope := lease.Scope(fmt.Sprintf("many/%d", i))
		track(t, engine, leasetest.MustAcquire(t, store, scope, timing.LeaseDuration), timing)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return engine
}

// busy runs a script without end, until another connection kills it.
func busy(ctx context.Context, client *goredis.Client) {
	killer := client.Conn()
	defer killer.Close()
	_ = killer.Ping(ctx).Err() // connects now, since later the server is busy
	var script sync.WaitGroup
	script.Go(func() { _ = client.Eval(context.WithoutCancel(ctx), "while true do end", nil).Err() }) // it ends with an error
	<-ctx.Done()
	_ = killer.Do(context.WithoutCancel(ctx), "script", "kill").Err() // the renewals show whether it worked
	script.Wait()
}

// closing closes the connections of all others, again and again.
func closing(ctx context.Context, client *goredis.Client) {
	for ctx.Err() == nil {
		_ = client.ClientKillByFilter(ctx, "type", "normal").Err() // the renewals show whether it worked
	}
}

// pausing lets every client wait for longer than a renewal may take, once.
func pausing(ctx context.Context, client *goredis.Client) {
	_ = client.Do(ctx, "client", "pause", "1500", "all").Err() // the renewals show whether it worked
	<-ctx.Done()
}
