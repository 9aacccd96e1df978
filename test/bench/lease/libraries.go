package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// lockName is what both processes lock.
const lockName = "bench/handoff"

// leasehold waits as the product does: it listens for releases, and asks again at each hint and when the lease runs out.
type leasehold struct {
	store *redis.Store
	hints *redis.Hints
	heard chan struct{}
	end   context.CancelFunc
}

func openLeasehold(ctx context.Context, address string) (library, error) {
	options := redis.Options{Address: address}
	ctx, cancel := context.WithCancel(ctx)
	l := &leasehold{redis.New(options), redis.NewHints(options), make(chan struct{}, 1), cancel}
	l.hints.Watch(lockName)
	go func() {
		_ = l.hints.Run(ctx, func(lease.Scope) { // returns when the context ends
			select {
			case l.heard <- struct{}{}:
			default:
			}
		})
	}()
	return l, nil
}

func (l *leasehold) hold(ctx context.Context) (func() error, error) {
	owner, err := lease.NewOwner(rand.Reader)
	if err != nil {
		return nil, err
	}
	grant, err := l.store.Acquire(ctx, lease.AcquireRequest{Scope: lockName, Owner: owner, TTL: ttl})
	if err != nil {
		return nil, err
	}
	return func() error { return l.store.Release(ctx, grant.Term) }, nil
}

func (l *leasehold) wait(ctx context.Context, ready func()) (func() error, error) {
	for {
		release, err := l.hold(ctx)
		held, isHeld := errors.AsType[*lease.HeldError](err)
		if !isHeld {
			return release, err
		}
		if ready != nil {
			ready()
			ready = nil
		}
		select {
		case <-l.heard:
		case <-time.After(held.ExpiresIn):
		}
	}
}

func (l *leasehold) close() {
	l.end()
	_ = l.hints.Close() // the process ends, or the measurement does
	_ = l.store.Close()
}

// redislocker polls every 100 ms, as its documentation shows.
type redislocker struct{ client *goredis.Client }

func openRedislock(_ context.Context, address string) (library, error) {
	return redislocker{goredis.NewClient(&goredis.Options{Addr: address})}, nil
}

func (l redislocker) hold(ctx context.Context) (func() error, error) {
	lock, err := redislock.Obtain(ctx, l.client, lockName, ttl, nil)
	if err != nil {
		return nil, err
	}
	return func() error { return lock.Release(ctx) }, nil
}

func (l redislocker) wait(ctx context.Context, ready func()) (func() error, error) {
	ready()
	lock, err := redislock.Obtain(ctx, l.client, lockName, ttl,
		&redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	if err != nil {
		return nil, err
	}
	return func() error { return lock.Release(ctx) }, nil
}

func (l redislocker) close() { _ = l.client.Close() } // the measurement is over

// rueidislocker is woken by client-side caching's invalidations.
type rueidislocker struct{ locker rueidislock.Locker }

func openRueidislock(_ context.Context, address string) (library, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{address}}, KeyMajority: 1, NoLoopTracking: true,
	})
	return rueidislocker{locker}, err
}

func (l rueidislocker) hold(ctx context.Context) (func() error, error) {
	_, cancel, err := l.locker.WithContext(ctx, "rueidis-"+lockName)
	return func() error { cancel(); return nil }, err
}

func (l rueidislocker) wait(ctx context.Context, ready func()) (func() error, error) {
	ready()
	return l.hold(ctx)
}

func (l rueidislocker) close() { l.locker.Close() }
