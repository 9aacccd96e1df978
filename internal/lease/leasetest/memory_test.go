package leasetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	leasetest.Conformance(t, func(*testing.T) leasetest.Backend {
		memory := leasetest.NewMemory()
		return leasetest.Backend{Store: memory, Raw: memory}
	})
}

func TestALeaseInMemoryExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory()
		first := leasetest.MustAcquire(t, memory, "a/b", 30*time.Second)
		time.Sleep(30*time.Second - time.Nanosecond)
		if got := memory.Get("a/b"); got != first.Term.Value() {
			t.Errorf("just before its end the lease holds %q", got)
		}
		time.Sleep(time.Nanosecond)
		second := leasetest.MustAcquire(t, memory, "a/b", 30*time.Second)
		if second.Term.Token <= first.Term.Token {
			t.Errorf("token %d after %d", second.Term.Token, first.Term.Token)
		}
	})
}

func TestFaultsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault    leasetest.Fault
		outcome  lease.Outcome
		executed bool
	}{
		"none":         {leasetest.None, lease.Executed, true},
		"refuse":       {leasetest.Refuse, lease.NotExecuted, false},
		"drop request": {leasetest.DropRequest, lease.Unknown, false},
		"drop reply":   {leasetest.DropReply, lease.Unknown, true},
		"hang":         {leasetest.Hang, lease.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory := leasetest.NewMemory()
				faults := leasetest.NewFaults(memory)
				faults.All(tc.fault)
				ctx, cancel := contextOf(t, time.Second)
				defer cancel()
				_, err := faults.Acquire(ctx, lease.AcquireRequest{Scope: "a/b", Owner: leasetest.NewOwner(t), TTL: time.Minute})
				if got := lease.OutcomeOf(err); got != tc.outcome {
					t.Errorf("outcome %s, want %s", got, tc.outcome)
				}
				if got := memory.Get("a/b") != ""; got != tc.executed {
					t.Errorf("executed: %t, want %t", got, tc.executed)
				}
			})
		})
	}
}

func contextOf(t *testing.T, limit time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), limit)
}
