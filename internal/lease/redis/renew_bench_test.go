package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// grants puts n leases on a server, as if they had been granted just now.
func grants(b *testing.B, address string, n int) []lease.Grant {
	b.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: address})
	defer client.Close()
	pipe := client.Pipeline()
	made := make([]lease.Grant, n)
	for i := range made {
		term := lease.Term{
			Scope: lease.Scope(fmt.Sprintf("namespace/report-%06d", i)),
			Owner: lease.Owner(fmt.Sprintf("%032x", i)), Token: lease.Token(70_000_000_000 + i),
		}
		made[i] = lease.Grant{Term: term, At: time.Now()}
		pipe.Set(b.Context(), term.Scope.LeaseKey(), term.Value(), time.Hour)
	}
	if _, err := pipe.Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
	return made
}

// BenchmarkStoreRenew renews 10,000 leases in batches of 100, by one or four goroutines.
func BenchmarkStoreRenew(b *testing.B) {
	for _, workers := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d", workers), func(b *testing.B) {
			address, _ := leasetest.StartRedis(b)
			store := redis.New(redis.Options{Address: address})
			defer store.Close()
			var batches [][]*lease.Renewal
			for i, grant := range grants(b, address, 10_000) {
				if i%100 == 0 {
					batches = append(batches, nil)
				}
				r := lease.NewRenewal(grant.Term, time.Hour)
				batches[i/100] = append(batches[i/100], &r)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var work sync.WaitGroup
			for worker := range workers {
				work.Go(func() {
					for i := worker; i < b.N/100; i += workers {
						if err := errors.Join(store.Renew(b.Context(), batches[i%len(batches)])...); err != nil {
							b.Error(err)
						}
					}
				})
			}
			work.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renewals/s")
		})
	}
}

// holdOn makes an engine that renews n leases on a server of its own.
func holdOn(b *testing.B, options renewal.Options, n int, interval time.Duration) *renewal.Engine {
	b.Helper()
	address, _ := leasetest.StartRedis(b)
	store := redis.New(redis.Options{Address: address})
	b.Cleanup(func() { _ = store.Close() })
	options.Store = store
	engine := renewal.New(options)
	timing := lease.Timing{LeaseDuration: time.Hour, RenewalInterval: interval, StopGracePeriod: time.Second}
	for _, grant := range grants(b, address, n) {
		subject := renewal.Subject(grant.Term.Scope)
		engine.Reserve(subject, grant.Term.Scope, grant.Term.Owner)
		grant.At = time.Now()
		if !engine.Track(subject, grant, timing) {
			b.Fatalf("%s is not tracked", subject)
		}
	}
	return engine
}

// BenchmarkEngineRenewOnRedis lets an engine renew 10,000 leases as often as it and the server can.
func BenchmarkEngineRenewOnRedis(b *testing.B) {
	var confirmed atomic.Int64
	done := make(chan struct{})
	engine := holdOn(b, renewal.Options{Observe: func(r renewal.Result) {
		if r == renewal.Confirmed && confirmed.Add(1) == int64(b.N) {
			close(done)
		}
	}}, 10_000, time.Millisecond)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { ended <- engine.Run(ctx) }()
	<-done
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renewals/s")
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

// BenchmarkEngineLateness holds 100,000 leases of a period of 10 s, and says how late the worst renewal was, as a part of the
// period, and what a renewal costs in time of this process's CPU.
func BenchmarkEngineLateness(b *testing.B) {
	const n, interval = 100_000, 10 * time.Second
	for range b.N {
		engine := holdOn(b, renewal.Options{}, n, interval)
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- engine.Run(ctx) }()
		var late time.Duration
		for range 20 * interval / time.Second {
			_, worst := look(engine, n, interval)
			late = max(late, worst)
			time.Sleep(100 * time.Millisecond)
		}
		before, _ := look(engine, n, interval)
		spent := cpu(b)
		time.Sleep(interval)
		spent = cpu(b) - spent
		after, _ := look(engine, n, interval)
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		b.ReportMetric(float64(late)/float64(interval), "lateness/period")
		b.ReportMetric(float64(spent.Nanoseconds())/float64(after-before), "cpu-ns/renewal")
	}
}

// look asks for every lease: how often they were renewed in all, and how far beyond the interval the last renewal is back.
func look(engine *renewal.Engine, n int, interval time.Duration) (renewals uint64, late time.Duration) {
	for i := range n {
		state := engine.State(renewal.Subject(fmt.Sprintf("namespace/report-%06d", i)))
		renewals += state.Renewals
		late = max(late, time.Since(state.Confirmed)-interval)
	}
	return renewals, late
}

// cpu is the CPU time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
