package redis_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

func TestANodeIsTestedOnceHoweverManyAskAtFirst(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	r.must(r.client.ConfigResetStat(t.Context()).Err())
	const n = 20
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = acquireErr(t, store, scope+lease.Scope(lease.Token(i+1).String())) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := calls(t, r, `config\|get`); got != 1 {
		t.Errorf("%d self-tests, want 1", got)
	}
}

func TestAServerThatIsAwayIsTestedWhenItIsBack(t *testing.T) {
	t.Parallel()
	direct, _, _ := startStore(t)
	proxy := newProxy(t, direct.Address())
	store := newStore(t, redis.Options{Address: proxy.address})
	proxy.swallowReplies.Store(true)
	begun := time.Now()
	err := acquireErr(t, store, scope)
	if lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("no answer to the self-test: %v", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("that took %v", took)
	}
	if _, err := store.SelfTest(t.Context()); lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("the self-test itself: %v", err)
	}
	proxy.swallowReplies.Store(false)
	if err := acquireErr(t, store, scope); err != nil {
		t.Errorf("when replies come again: %v", err)
	}
	if report := store.Health().Nodes[0].Report; report.At.IsZero() || report.Address != proxy.address {
		t.Errorf("the report is %+v", report)
	}
}

func TestRepliesOutOfStepAreCounted(t *testing.T) {
	t.Parallel()
	direct, _, _ := startStore(t)
	proxy := newProxy(t, direct.Address())
	store := newStore(t, redis.Options{Address: proxy.address})
	renewals := leasetest.Renewals(ttl, leasetest.MustAcquire(t, store, scope, ttl).Term)
	if err := store.Renew(t.Context(), renewals)[0]; err != nil {
		t.Fatal(err)
	}
	if n := store.Health().NonceMismatches; n != 0 {
		t.Errorf("%d at first", n)
	}
	extra := "$4\r\nlate\r\n"
	proxy.extraReply.Store(&extra)
	checkUnknown(t, store.Renew(t.Context(), renewals)[0])
	if n := store.Health().NonceMismatches; n != 1 {
		t.Errorf("%d after one reply too many", n)
	}
}

// checkClockJumped wants a refusal for a minute because of a clock.
func checkClockJumped(t *testing.T, err error) {
	t.Helper()
	quarantined, ok := errors.AsType[*lease.QuarantinedError](err)
	if !ok || quarantined.Why != lease.ClockJumped || quarantined.Left > time.Minute || quarantined.Left < 50*time.Second {
		t.Fatalf("got %v", err)
	}
}

func TestAClockThatJumpsStopsGrantsForOneLongestLeaseAndNoRenewals(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := leasetest.StartRedis(t)
			wire := newLink(t, address)
			store := newStore(t, redis.Options{Address: wire.address})
			term := leasetest.MustAcquire(t, store, scope, time.Minute).Term
			wire.jump(by)
			checkClockJumped(t, acquireErr(t, store, "another/scope"))
			checkClockJumped(t, acquireErr(t, store, "another/scope"))
			if err := store.Renew(t.Context(), leasetest.Renewals(ttl, term))[0]; err != nil {
				t.Errorf("renew: %v", err)
			}
			if err := store.Release(t.Context(), term); err != nil {
				t.Errorf("release: %v", err)
			}
			if node := store.Health().Nodes[0]; node.ClockFault == "" || node.ClockLeft < 50*time.Second {
				t.Errorf("health: %+v", node)
			}
		})
	}
}

func TestAnotherServerAtTheSameAddressHasAnotherClock(t *testing.T) {
	t.Parallel()
	first, _ := leasetest.StartRedis(t)
	second, _ := leasetest.StartRedis(t)
	wire := newLink(t, first)
	store := newStore(t, redis.Options{Address: wire.address})
	leasetest.MustAcquire(t, store, scope, ttl)
	before := store.Health().Nodes[0].Report.RunID
	wire.leadTo(second)
	wire.jump(10 * time.Second)
	// The script runs by the real clock, so a window that is this far off is refused; what matters is that no jump is seen.
	err := acquireErr(t, store, "another/scope")
	if _, isQuarantined := errors.AsType[*lease.QuarantinedError](err); isQuarantined {
		t.Errorf("got %v", err)
	}
	wire.jump(-10 * time.Second)
	if _, err := store.SelfTest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if node := store.Health().Nodes[0]; node.Report.RunID == before || node.ClockFault != "" {
		t.Errorf("health: %+v", node)
	}
}
