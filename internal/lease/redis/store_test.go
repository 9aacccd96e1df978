package redis_test

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

const (
	scope = lease.Scope("finance/revenue")
	ttl   = 30 * time.Second
	// window is longer than a request may be late after its sender gave up, which is a second.
	window = 1500 * time.Millisecond
)

// raw is leasetest.Raw on a real server, over a client of its own.
type raw struct {
	t      testing.TB
	client *goredis.Client
}

func newRaw(t testing.TB, address string) raw {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: address, DisableIdentity: true})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("clean-up: %v", err)
		}
	})
	return raw{t, client}
}

func (r raw) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("redis: %v", err)
	}
}

func (r raw) Get(scope lease.Scope) string {
	value, err := r.client.Get(context.Background(), scope.LeaseKey()).Result()
	if errors.Is(err, goredis.Nil) {
		return ""
	}
	r.must(err)
	return value
}

func (r raw) Set(scope lease.Scope, value string, ttl time.Duration) {
	r.must(r.client.Set(context.Background(), scope.LeaseKey(), value, ttl).Err())
}

func (r raw) TTL(scope lease.Scope) time.Duration {
	left, err := r.client.PTTL(context.Background(), scope.LeaseKey()).Result()
	r.must(err)
	return max(left, 0)
}

func (r raw) Remove(scope lease.Scope) {
	r.must(r.client.Del(context.Background(), scope.LeaseKey()).Err())
}

func (r raw) ChangeServer(scope lease.Scope) {
	known, err := r.client.Get(context.Background(), scope.ServerKey()).Result()
	if errors.Is(err, goredis.Nil) {
		return
	}
	r.must(err)
	_, rest, _ := strings.Cut(known, "|")
	r.must(r.client.Set(context.Background(), scope.ServerKey(), "0123456789abcdef|"+rest, 0).Err())
}

func (r raw) EndQuarantine(scope lease.Scope) {
	known, err := r.client.Get(context.Background(), scope.ServerKey()).Result()
	r.must(err)
	fields := strings.Split(known, "|")
	fields[1] = "1"
	r.must(r.client.Set(context.Background(), scope.ServerKey(), strings.Join(fields, "|"), 0).Err())
}

func (r raw) PutClockBack(scope lease.Scope, by time.Duration) {
	known, err := r.client.Get(context.Background(), scope.ServerKey()).Result()
	if errors.Is(err, goredis.Nil) {
		return
	}
	r.must(err)
	fields := strings.Split(known, "|")
	till, err := strconv.ParseInt(fields[1], 10, 64)
	r.must(err)
	fields[1] = strconv.FormatInt(max(till+by.Milliseconds(), 0), 10)
	r.must(r.client.Set(context.Background(), scope.ServerKey(), strings.Join(fields, "|"), 0).Err())
}

func (r raw) Fence(scope lease.Scope) lease.Token {
	text, err := r.client.Get(context.Background(), scope.FenceKey()).Result()
	if errors.Is(err, goredis.Nil) {
		return 0
	}
	r.must(err)
	token, err := lease.ParseToken(text)
	r.must(err)
	return token
}

func (r raw) SetFence(scope lease.Scope, token lease.Token) {
	if token == 0 {
		r.must(r.client.Del(context.Background(), scope.FenceKey()).Err())
		return
	}
	r.must(r.client.Set(context.Background(), scope.FenceKey(), token.String(), 0).Err())
}

func (r raw) DoneTTL(scope lease.Scope, occurrence string) time.Duration {
	left, err := r.client.PTTL(context.Background(), scope.DoneKey(occurrence)).Result()
	r.must(err)
	return max(left, 0)
}

func (r raw) Forget(scope lease.Scope, occurrence string) {
	r.must(r.client.Del(context.Background(), scope.DoneKey(occurrence)).Err())
}

func (r raw) LoseEverything() { r.must(r.client.FlushAll(context.Background()).Err()) }

func newStore(t testing.TB, options redis.Options) *redis.Store {
	t.Helper()
	store := redis.New(options)
	t.Cleanup(func() { _ = store.Close() }) // connections may be gone already
	return store
}

// startStore starts a server with a store on it.
func startStore(t testing.TB) (*redis.Store, raw, *exec.Cmd) {
	t.Helper()
	address, server := leasetest.StartRedis(t)
	return newStore(t, redis.Options{Address: address}), newRaw(t, address), server
}

func TestRedisConforms(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	leasetest.Conformance(t, func(*testing.T) leasetest.Backend {
		r.LoseEverything()
		return leasetest.Backend{Store: store, Raw: r}
	})
}

func TestTheFenceOutlivesTheLeaseByThirtyDays(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	fence, err := r.client.Get(t.Context(), scope.FenceKey()).Result()
	r.must(err)
	left, err := r.client.PTTL(t.Context(), scope.FenceKey()).Result()
	r.must(err)
	if fence != grant.Term.Token.String() {
		t.Errorf("the fence holds %s, want %d", fence, grant.Term.Token)
	}
	if month := 30 * 24 * time.Hour; left > month || left < month-time.Minute {
		t.Errorf("the fence lives for %v, want %v", left, month)
	}
}

func TestEveryKeyLapsesByItself(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	request := lease.CompleteRequest{
		Term: leasetest.MustAcquire(t, store, scope, ttl).Term, Occurrence: "x", Retention: lease.MinRetention,
	}
	if _, err := store.Complete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	floor := lease.AcquireRequest{Scope: "in/quarantine", Owner: leasetest.NewOwner(t), TTL: ttl, Floor: lease.MaxToken / 2}
	if _, err := store.Acquire(t.Context(), floor); err == nil {
		t.Error("a floor that is not known is granted above")
	}
	keys, err := r.client.Keys(t.Context(), "*").Result()
	r.must(err)
	if len(keys) != 6 { // lease, fence, server and done of one scope, fence and server of the other
		t.Errorf("keys %v", keys)
	}
	for _, key := range keys {
		if left, err := r.client.PTTL(t.Context(), key).Result(); err != nil || left <= 0 {
			t.Errorf("%s lives for %v, %v", key, left, err)
		}
	}
}

func TestAReleaseIsPublishedToThoseWhoWait(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	subscription := r.client.SSubscribe(t.Context(), scope.ReleasedChannel())
	defer subscription.Close()
	if _, err := subscription.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Release(t.Context(), grant.Term); err != nil {
		t.Fatal(err)
	}
	message, err := subscription.ReceiveMessage(t.Context())
	if err != nil || message.Payload != grant.Term.Value() {
		t.Errorf("got %v, %v; want %s", message, err, grant.Term.Value())
	}
}

func TestAnEmptyScriptCacheIsRefilledAndNothingRunsTwice(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	renewals := make([]*lease.Renewal, 100)
	for i := range renewals {
		name := scope + lease.Scope(lease.Token(i+1).String())
		renewals[i] = leasetest.Renewals(ttl, leasetest.MustAcquire(t, store, name, ttl).Term)[0]
	}
	for range 3 {
		r.must(r.client.ScriptFlush(t.Context()).Err())
		r.must(r.client.ConfigResetStat(t.Context()).Err())
		for i, err := range store.Renew(t.Context(), renewals) {
			if err != nil {
				t.Fatalf("renewal %d: %v", i, err)
			}
		}
		if got := calls(t, r, "pexpire"); got != len(renewals) {
			t.Errorf("%d leases were extended %d times", len(renewals), got)
		}
	}
}

func TestAnAcquireThatRunsLateGrantsNothing(t *testing.T) {
	t.Parallel()
	store, r, server := startStore(t)
	leasetest.MustAcquire(t, store, "warm/up", ttl) // scripts are loaded and connections open
	stop(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := store.Acquire(ctx, lease.AcquireRequest{Scope: scope, Owner: leasetest.NewOwner(t), TTL: ttl})
	if lease.OutcomeOf(err) == lease.Executed {
		t.Fatalf("a stopped server granted: %v", err)
	}
	// The request waits in the server's socket until its window is over.
	<-time.After(window)
	resume(t, server)
	if err := store.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Get(scope); got != "" {
		t.Errorf("the late request left %q", got)
	}
}

func TestALateRunOfTheScriptItselfIsRefusedByTheWindow(t *testing.T) {
	t.Parallel()
	store, r, server := startStore(t)
	proxy := newProxy(t, r.client.Options().Addr)
	leasetest.MustAcquire(t, store, "warm/up", ttl)
	held := newStore(t, redis.Options{Address: proxy.address})
	leasetest.MustAcquire(t, held, "warm/up2", ttl)
	// TIME is answered, and the script is held back until its window is over.
	proxy.holdScripts.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := held.Acquire(ctx, lease.AcquireRequest{Scope: scope, Owner: leasetest.NewOwner(t), TTL: ttl})
	checkUnknown(t, err)
	<-time.After(window)
	proxy.releaseScripts(t)
	waitForCalls(t, r, "evalsha", 3)
	if got := r.Get(scope); got != "" {
		t.Errorf("the late request left %q", got)
	}
	_ = server
}

func checkUnknown(t *testing.T, err error) {
	t.Helper()
	if got := lease.OutcomeOf(err); got != lease.Unknown {
		t.Errorf("outcome %s, want unknown, of: %v", got, err)
	}
}
