package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// lackingUser adds a user with all published rights but one, and returns a store that logs in as that.
func lackingUser(t *testing.T, r raw, user, without string) *redis.Store {
	t.Helper()
	rule := []any{"ACL", "SETUSER", user, "on", "nopass"}
	for right := range strings.FieldsSeq(fenced(t, "acl")[0]) {
		rule = append(rule, right)
	}
	r.must(r.client.Do(t.Context(), append(rule, without)...).Err())
	return newStore(t, redis.Options{Address: r.client.Options().Addr, Username: user, PasswordFile: passwordFile(t, "any")})
}

// TestARightThatIsMissingInTheMiddleOfAScript takes one right after the other from a user, on a server of whatever version.
func TestARightThatIsMissingInTheMiddleOfAScript(t *testing.T) {
	t.Parallel()
	direct, r, _ := startStore(t)
	for name, tc := range map[string]struct {
		without string
		send    func(store *redis.Store, term lease.Term) error
		want    lease.Outcome // empty: not every version says enough
		remains bool          // the lease is as it was
	}{
		"a renewal cannot extend":         {"-pexpire", renewOnce(t), lease.NotExecuted, true},
		"a renewal cannot read":           {"-getrange", renewOnce(t), lease.NotExecuted, true},
		"a release cannot publish":        {"-spublish", releaseOnce(t), lease.Unknown, false},
		"a release may not publish there": {"resetchannels", releaseOnce(t), lease.Unknown, false},
		"a release cannot remove":         {"-del", releaseOnce(t), "", true},
		"a completion cannot be written":  {"-set", completeOnce(t), lease.NotExecuted, true},
		"an observation cannot see":       {"-pttl", observeOnce(t), lease.NotExecuted, true},
		"a key cannot be reached":         {"resetkeys", renewOnce(t), lease.NotExecuted, true},
		"scripts cannot be run":           {"-evalsha", renewOnce(t), lease.NotExecuted, true},
	} {
		r.LoseEverything()
		term := leasetest.MustAcquire(t, direct, scope, ttl).Term
		store := lackingUser(t, r, "lacks"+tc.without, tc.without)
		if err := tc.send(store, term); err == nil || tc.want != "" && lease.OutcomeOf(err) != tc.want {
			t.Errorf("%s: outcome %s, want %s, of: %v", name, lease.OutcomeOf(err), tc.want, err)
		}
		if remains := r.Get(scope) == term.Value(); remains != tc.remains {
			t.Errorf("%s: the lease remains: %t", name, remains)
		}
		if left := r.DoneTTL(scope, "x"); left != 0 {
			t.Errorf("%s: a completion was written", name)
		}
	}
}

func renewOnce(t *testing.T) func(*redis.Store, lease.Term) error {
	return func(s *redis.Store, term lease.Term) error {
		return s.Renew(t.Context(), leasetest.Renewals(ttl, term))[0]
	}
}

func releaseOnce(t *testing.T) func(*redis.Store, lease.Term) error {
	return func(s *redis.Store, term lease.Term) error { return s.Release(t.Context(), term) }
}

func observeOnce(t *testing.T) func(*redis.Store, lease.Term) error {
	return func(s *redis.Store, term lease.Term) error {
		_, err := s.Observe(t.Context(), term.Scope)
		return err
	}
}

func completeOnce(t *testing.T) func(*redis.Store, lease.Term) error {
	return func(s *redis.Store, term lease.Term) error {
		_, err := s.Complete(t.Context(), lease.CompleteRequest{Term: term, Occurrence: "x", Retention: time.Hour})
		return err
	}
}
