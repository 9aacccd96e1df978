package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// ttl is how long every lease and lock of the benchmark lives.
const ttl = 60 * time.Second

// owner is that of every lease: what is measured does not depend on it.
const owner = lease.Owner("0123456789abcdef0123456789abcdef")

// termOf is the n-th lease. The number has as many digits as redis-benchmark's random ones.
func termOf(n int) lease.Term {
	return lease.Term{Scope: lease.Scope(fmt.Sprintf("bench/%012d", n)), Owner: owner, Token: 92_000_000_000}
}

// hold puts leases into Redis as if they had been granted, for an hour.
func hold(ctx context.Context, address string, n int) error {
	client := goredis.NewClient(&goredis.Options{Addr: address})
	defer client.Close()
	for from := 0; from < n; from += 1000 {
		pipe := client.Pipeline()
		for i := from; i < min(from+1000, n); i++ {
			pipe.Set(ctx, termOf(i).Scope.LeaseKey(), termOf(i).Value(), time.Hour)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// contender is one way to renew; it says how many renewals it made a second.
type contender struct {
	name  string
	renew func(ctx context.Context, d time.Duration) (float64, error)
}

// measureRenewals compares the engine, and the store below it, with redis-benchmark on the same script and with other
// libraries. In every round each has its turn; a ratio is the median of those of the rounds.
func measureRenewals(ctx context.Context, p plan) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := hold(ctx, s.address, p.leases); err != nil {
		return err
	}
	store := redis.New(redis.Options{Address: s.address})
	defer store.Close()
	others, closeOthers, err := peers(ctx, s.address, p.leases)
	if err != nil {
		return err
	}
	defer closeOthers()
	contenders := append([]contender{
		{"engine", func(ctx context.Context, d time.Duration) (float64, error) {
			return renewByEngine(ctx, store, p.leases, d)
		}},
		{"ceiling", func(ctx context.Context, d time.Duration) (float64, error) { return ceiling(ctx, s, p.leases, d) }},
		{"store", func(ctx context.Context, d time.Duration) (float64, error) {
			return renewByStore(ctx, store, p.leases, d)
		}},
	}, others...)
	rates, err := rounds(ctx, p, contenders)
	if err != nil {
		return err
	}
	for _, c := range contenders {
		report("renewals_per_s_"+c.name, median(rates[c.name]))
	}
	report("renew_vs_ceiling", median(ratios(rates["engine"], rates["ceiling"])))
	report("store_renew_vs_ceiling", median(ratios(rates["store"], rates["ceiling"])))
	for _, c := range others {
		report("renew_vs_"+c.name, median(ratios(rates["engine"], rates[c.name])))
	}
	return nil
}

// rounds lets each contender run once a round, in an order that turns; a round before them warms everything up.
func rounds(ctx context.Context, p plan, contenders []contender) (map[string][]float64, error) {
	rates := map[string][]float64{}
	for round := range p.rounds + 1 {
		for i := range contenders {
			c := contenders[(i+round)%len(contenders)]
			d := p.slice
			if round == 0 {
				d /= 4
			}
			runtime.GC() // each pays for its own garbage
			rate, err := c.renew(ctx, d)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 {
				rates[c.name] = append(rates[c.name], rate)
			}
			fmt.Fprintf(os.Stderr, "  round %d %-10s %10.0f/s\n", round, c.name, rate)
		}
	}
	return rates, nil
}

func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

// renewByEngine tracks leases whose renewals are due all the time, and counts what is confirmed.
func renewByEngine(ctx context.Context, store lease.Store, leases int, d time.Duration) (float64, error) {
	var confirmed, other atomic.Uint64
	var last atomic.Value
	engine := renewal.New(renewal.Options{Store: store, Observe: func(r renewal.Result) {
		if r == renewal.Confirmed {
			confirmed.Add(1)
		} else {
			other.Add(1)
			last.Store(r)
		}
	}})
	timing := lease.Timing{LeaseDuration: ttl, RenewalInterval: time.Millisecond, StopGracePeriod: time.Second}
	track(engine, leases, timing)
	// Not by a deadline, which requests that are on their way would see.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(d, cancel).Stop()
	if err := engine.Run(ctx); err != nil {
		return 0, err
	}
	if n := other.Load(); n > 0 {
		return 0, fmt.Errorf("%d renewals were not confirmed, the last one: %v", n, last.Load())
	}
	return float64(confirmed.Load()) / d.Seconds(), nil
}

// track hands leases to an engine as if they were granted now.
func track(engine *renewal.Engine, leases int, timing lease.Timing) {
	for i := range leases {
		term := termOf(i)
		subject := renewal.Subject(term.Scope)
		engine.Reserve(subject, term.Scope, term.Owner)
		engine.Track(subject, lease.Grant{Term: term, At: time.Now()}, timing)
	}
}

// renewByStore sends batches of 100, four at a time, without an engine.
func renewByStore(ctx context.Context, store lease.Store, leases int, d time.Duration) (float64, error) {
	return inParallel(ctx, d, 4, func(ctx context.Context, worker int) func() (int, error) {
		batch := make([]*lease.Renewal, 100)
		for i := range batch {
			r := lease.NewRenewal(termOf((worker*len(batch)+i)%leases), ttl)
			batch[i] = &r
		}
		return func() (int, error) { return len(batch), errors.Join(store.Renew(ctx, batch)...) }
	})
}

// inParallel runs workers for a time, and returns how much they did a second together.
func inParallel(
	ctx context.Context, d time.Duration, workers int, newWorker func(context.Context, int) func() (int, error),
) (float64, error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var work sync.WaitGroup
	begun := time.Now()
	deadline := begun.Add(d)
	for w := range workers {
		work.Go(func() {
			step := newWorker(ctx, w)
			for time.Now().Before(deadline) {
				n, err := step()
				if err != nil {
					failed.Store(&err)
					return
				}
				done.Add(int64(n))
			}
		})
	}
	work.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(begun).Seconds(), nil
}

// ceiling lets redis-benchmark run the same script on the same keys: 100 to a pipeline, on one connection.
func ceiling(ctx context.Context, s *server, leases int, d time.Duration) (float64, error) {
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "lease", "redis", "renew.lua"))
	if err != nil {
		return 0, err
	}
	client := goredis.NewClient(&goredis.Options{Addr: s.address})
	defer client.Close()
	sha, err := client.ScriptLoad(ctx, string(source)).Result()
	if err != nil {
		return 0, err
	}
	key := "leasehold:{bench/__rand_int__}:lease"
	requests := int(d.Seconds() * 250_000)
	out, err := exec.CommandContext(ctx, "redis-benchmark", "-p", s.port, "-n", strconv.Itoa(requests), "-P", "100", "-c", "1",
		"-r", strconv.Itoa(leases), "--csv", "evalsha", sha, "1", key, "0123456789abcdef00001", termOf(0).Value(),
		strconv.FormatInt(ttl.Milliseconds(), 10)).Output()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w", err)
	}
	found := regexp.MustCompile(`"(\d+\.\d+)"`).FindSubmatch(out) // the first figure is requests per second
	if found == nil {
		return 0, fmt.Errorf("redis-benchmark says %q", out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
