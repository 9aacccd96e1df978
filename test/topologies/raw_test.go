//go:build topologies

package topologies

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// raw is leasetest.Raw on any topology.
type raw struct {
	t      *testing.T
	client goredis.UniversalClient
}

func newStore(t *testing.T, options redis.Options) *redis.Store {
	t.Helper()
	if err := options.Validate(); err != nil {
		t.Fatal(err)
	}
	store := redis.New(options)
	t.Cleanup(func() { _ = store.Close() }) // connections may be gone already
	return store
}

func (r raw) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("redis: %v", err)
	}
}

func (r raw) text(key string) string {
	value, err := r.client.Get(context.Background(), key).Result()
	if errors.Is(err, goredis.Nil) {
		return ""
	}
	r.must(err)
	return value
}

func (r raw) set(key, value string, ttl time.Duration) {
	r.must(r.client.Set(context.Background(), key, value, ttl).Err())
}

func (r raw) left(key string) time.Duration {
	left, err := r.client.PTTL(context.Background(), key).Result()
	r.must(err)
	return max(left, 0)
}

func (r raw) remove(key string) { r.must(r.client.Del(context.Background(), key).Err()) }

// change replaces the fields of what is known of the scope's server.
func (r raw) change(scope lease.Scope, with func(fields []string)) {
	fields := strings.Split(r.text(scope.ServerKey()), "|")
	with(fields)
	r.set(scope.ServerKey(), strings.Join(fields, "|"), 0)
}

func (r raw) Get(scope lease.Scope) string { return r.text(scope.LeaseKey()) }
func (r raw) Set(scope lease.Scope, value string, ttl time.Duration) {
	r.set(scope.LeaseKey(), value, ttl)
}
func (r raw) TTL(scope lease.Scope) time.Duration { return r.left(scope.LeaseKey()) }
func (r raw) Remove(scope lease.Scope)            { r.remove(scope.LeaseKey()) }

func (r raw) ChangeServer(scope lease.Scope) {
	r.change(scope, func(fields []string) { fields[0] = "0123456789abcdef" })
}

func (r raw) EndQuarantine(scope lease.Scope) {
	r.change(scope, func(fields []string) { fields[1] = "1" })
}

func (r raw) PutClockBack(scope lease.Scope, by time.Duration) {
	r.change(scope, func(fields []string) {
		till, err := strconv.ParseInt(fields[1], 10, 64)
		r.must(err)
		fields[1] = strconv.FormatInt(till+by.Milliseconds(), 10)
	})
}

func (r raw) Fence(scope lease.Scope) lease.Token {
	text := r.text(scope.FenceKey())
	if text == "" {
		return 0
	}
	token, err := lease.ParseToken(text)
	r.must(err)
	return token
}

func (r raw) SetFence(scope lease.Scope, token lease.Token) {
	if token == 0 {
		r.remove(scope.FenceKey())
		return
	}
	r.set(scope.FenceKey(), token.String(), 0)
}

func (r raw) DoneTTL(scope lease.Scope, occurrence string) time.Duration {
	return r.left(scope.DoneKey(occurrence))
}

func (r raw) Forget(scope lease.Scope, occurrence string) { r.remove(scope.DoneKey(occurrence)) }

func (r raw) LoseEverything() {
	if cluster, is := r.client.(*goredis.ClusterClient); is {
		r.must(cluster.ForEachMaster(context.Background(), func(ctx context.Context, node *goredis.Client) error {
			return node.FlushAll(ctx).Err()
		}))
		return
	}
	r.must(r.client.FlushAll(context.Background()).Err())
}
