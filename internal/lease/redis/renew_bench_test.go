package redis_test

import (
	"context"
	"errors"
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

// BenchmarkEngineRenewOnRedis lets an engine renew 10,000 leases as often as it and the server can.
func BenchmarkEngineRenewOnRedis(b *testing.B) {
	address, _ := leasetest.StartRedis(b)
	store := redis.New(redis.Options{Address: address})
	defer store.Close()
	left, done := b.N, make(chan struct{})
	var mu sync.Mutex
	engine := renewal.New(renewal.Options{Store: store, Observe: func(r renewal.Result) {
		mu.Lock()
		defer mu.Unlock()
		if r != renewal.Confirmed {
			b.Errorf("a renewal is %s", r)
		}
		if left--; left == 0 {
			close(done)
		}
	}})
	timing := lease.Timing{LeaseDuration: time.Hour, RenewalInterval: time.Millisecond, StopGracePeriod: time.Second}
	for _, grant := range grants(b, address, 10_000) {
		subject := renewal.Subject(grant.Term.Scope)
		engine.Reserve(subject, grant.Term.Scope, grant.Term.Owner)
		grant.At = time.Now()
		if !engine.Track(subject, grant, timing) {
			b.Fatalf("%s is not tracked", subject)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { ended <- engine.Run(ctx) }()
	<-done
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renewals/s")
	mu.Lock() // what is cut off by the end is not confirmed
	left = 0
	mu.Unlock()
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
