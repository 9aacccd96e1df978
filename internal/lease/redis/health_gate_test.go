package redis

import (
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

// gated is a store whose self-tests can be made older, and a client past it.
type gated struct {
	*Store
	past *goredis.Client
}

func newGated(t *testing.T) gated {
	t.Helper()
	address, _ := leasetest.StartRedis(t)
	g := gated{New(Options{Address: address}), goredis.NewClient(&goredis.Options{Addr: address, DisableIdentity: true})}
	t.Cleanup(func() { _ = errors.Join(g.Close(), g.past.Close()) })
	return g
}

// age makes the last self-test older.
func (g gated) age(by time.Duration) {
	entry, _ := g.health.of(g.address, 0)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	entry.tried = entry.tried.Add(-by)
}

func (g gated) set(t *testing.T, policy string) {
	t.Helper()
	if err := g.past.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
		t.Fatal(err)
	}
}

// ask asks for a lease of the scope and says whether it was refused as unsafe.
func (g gated) ask(t *testing.T, scope lease.Scope) (refused bool, err error) {
	t.Helper()
	_, err = g.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: leasetest.NewOwner(t), TTL: time.Minute})
	_, refused = errors.AsType[*lease.UnsafeError](err)
	if err != nil && !refused {
		t.Fatal(err)
	}
	return refused, err
}

func TestASettingThatIsSwitchedAtRunTimeIsNoticedWithinAMinute(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	steps := []struct {
		name   string
		policy string
		passes time.Duration
		want   bool
	}{
		{"at first", "noeviction", 0, false},
		{"just switched", "allkeys-lru", 0, false},
		{"before the minute is over", "allkeys-lru", testInterval - 5*time.Second, false},
		{"a minute later", "allkeys-lru", 5 * time.Second, true},
		{"just mended", "noeviction", 0, true},
		{"a second later", "noeviction", retestInterval, false},
		{"switched again, and not looked at", "volatile-lru", testInterval / 2, false},
	}
	for i, step := range steps {
		g.set(t, step.policy)
		g.age(step.passes)
		if refused, err := g.ask(t, lease.Scope("a/"+lease.Token(i+1).String())); refused != step.want {
			t.Errorf("%s: refused %t, want %t: %v", step.name, refused, step.want, err)
		}
	}
}

func TestANodeThatMayBeAnotherOneIsTestedAgain(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	for name, cause := range map[string]error{
		"its server changed":     &lease.QuarantinedError{Why: lease.ServerChanged},
		"its connection is gone": &lease.UnknownError{Cause: errors.New("EOF")},
	} {
		g.set(t, "noeviction")
		g.age(testInterval)
		if refused, err := g.ask(t, lease.Scope("a/"+name[:3]+name[len(name)-3:])); refused {
			t.Fatal(err)
		}
		g.set(t, "allkeys-lru")
		g.health.suspect(g.address, cause)
		g.age(retestInterval)
		if refused, _ := g.ask(t, "b/b"); !refused {
			t.Errorf("%s: it is not tested again", name)
		}
	}
}

func TestAnAnswerOfTheSameServerIsNoReasonToTestItAgain(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	if refused, err := g.ask(t, "a/a"); refused {
		t.Fatal(err)
	}
	g.set(t, "allkeys-lru")
	for name, err := range map[string]error{
		"granted": nil, "held": &lease.HeldError{}, "data lost": &lease.QuarantinedError{Why: lease.DataLost},
		"refused": &lease.NotExecutedError{Cause: reply("OOM command not allowed")},
	} {
		g.health.suspect(g.address, err)
		g.age(retestInterval)
		if refused, _ := g.ask(t, lease.Scope("b/"+name[:2])); refused {
			t.Errorf("%s: the server is tested again", name)
		}
	}
}

func TestARenewalNeverWaitsForASelfTest(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	term := leasetest.MustAcquire(t, g, "a/a", time.Minute).Term
	g.age(testInterval)
	entry, _ := g.health.of(g.address, 0)
	entry.testing <- struct{}{} // a test goes on and does not end
	defer func() { <-entry.testing }()
	if err := g.Renew(t.Context(), leasetest.Renewals(time.Minute, term))[0]; err != nil {
		t.Errorf("renew: %v", err)
	}
	if err := g.Release(t.Context(), term); err != nil {
		t.Errorf("release: %v", err)
	}
	if refused, err := g.ask(t, "b/b"); refused {
		t.Errorf("while the old report is being renewed: %v", err)
	}
}

func TestAServerThatCannotBeTestedJustNowIsTakenAsItWas(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	if refused, err := g.ask(t, "a/a"); refused {
		t.Fatal(err)
	}
	// The self-test's own ACQUIRE is refused, which is no finding.
	if err := g.past.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	g.age(testInterval)
	_, err := g.Acquire(t.Context(), lease.AcquireRequest{Scope: "b/b", Owner: leasetest.NewOwner(t), TTL: time.Minute})
	if _, refused := errors.AsType[*lease.UnsafeError](err); refused || lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("out of memory: %v", err)
	}
	if err := g.past.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if refused, err := g.ask(t, "b/b"); refused {
		t.Errorf("when there is memory again: %v", err)
	}
}
