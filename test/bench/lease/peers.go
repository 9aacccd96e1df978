package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// goroutines is how many renew at once with each of the other libraries.
const goroutines = 32

// peers prepares other libraries, each used as its documentation says, with locks of their own.
func peers(ctx context.Context, address string, _ int) (all []contender, closeAll func(), err error) {
	client := goredis.NewClient(&goredis.Options{Addr: address})
	fast, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}})
	if err != nil {
		return nil, nil, err
	}
	all = []contender{redislockPeer(client), redsyncPeer(client), rueidisPeer(ctx, fast)}
	return all, func() { _ = client.Close(); fast.Close() }, nil // at the end of the measurement
}

func redislockPeer(client *goredis.Client) contender {
	locker := redislock.New(client)
	return contender{"redislock", func(ctx context.Context, d time.Duration) (float64, error) {
		return inParallel(ctx, d, goroutines, func(ctx context.Context, worker int) func() (int, error) {
			lock, err := locker.Obtain(ctx, freshKey("redislock", worker), ttl, nil)
			return func() (int, error) {
				if err != nil {
					return 0, err
				}
				return 1, lock.Refresh(ctx, ttl, nil)
			}
		})
	}}
}

func redsyncPeer(client *goredis.Client) contender {
	sync := redsync.New(redsyncredis.NewPool(client))
	return contender{"redsync", func(ctx context.Context, d time.Duration) (float64, error) {
		return inParallel(ctx, d, goroutines, func(ctx context.Context, worker int) func() (int, error) {
			mutex := sync.NewMutex(freshKey("redsync", worker), redsync.WithExpiry(ttl))
			err := mutex.LockContext(ctx)
			return func() (int, error) {
				if err != nil {
					return 0, err
				}
				extended, err := mutex.ExtendContext(ctx)
				if err == nil && !extended {
					err = fmt.Errorf("redsync did not extend %s", mutex.Name())
				}
				return 1, err
			}
		})
	}}
}

// rueidisPeer runs the script that compares and extends through rueidis, which makes pipelines of what comes at once.
func rueidisPeer(ctx context.Context, client rueidis.Client) contender {
	script := rueidis.NewLuaScript(
		`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`)
	millis := strconv.FormatInt(ttl.Milliseconds(), 10)
	return contender{"rueidis", func(_ context.Context, d time.Duration) (float64, error) {
		return inParallel(ctx, d, goroutines, func(ctx context.Context, worker int) func() (int, error) {
			key := freshKey("rueidis", worker)
			err := client.Do(ctx, client.B().Set().Key(key).Value("me").Px(ttl).Build()).Error()
			return func() (int, error) {
				if err != nil {
					return 0, err
				}
				extended, err := script.Exec(ctx, client, []string{key}, []string{"me", millis}).AsInt64()
				if err == nil && extended != 1 {
					err = fmt.Errorf("rueidis did not extend %s", key)
				}
				return 1, err
			}
		})
	}}
}

// freshKey is one that no earlier run holds.
func freshKey(library string, worker int) string {
	return fmt.Sprintf("%s:%d:%d", library, worker, time.Now().UnixNano())
}
