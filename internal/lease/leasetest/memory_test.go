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
		"late":         {leasetest.Late, lease.Unknown, true},
		"slow":         {leasetest.Slow, lease.Executed, true},
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

func TestARequestIsSlowOrLateByTheClock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault   leasetest.Fault
		limit   time.Duration
		outcome lease.Outcome
		took    time.Duration
	}{
		"slow":                     {leasetest.Slow, time.Second, lease.Executed, leasetest.SlowReply},
		"slow, and it is given up": {leasetest.Slow, leasetest.SlowReply - 1, lease.Unknown, leasetest.SlowReply - 1},
		"late":                     {leasetest.Late, time.Second, lease.Unknown, time.Second},
		"it hangs":                 {leasetest.Hang, time.Second, lease.Unknown, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory := leasetest.NewMemory()
				faults := leasetest.NewFaults(memory)
				renewals := make([]*lease.Renewal, 100)
				for i := range renewals {
					scope := lease.Scope("many/" + lease.Token(i+1).String())
					renewals[i] = leasetest.Renewals(time.Minute, leasetest.MustAcquire(t, memory, scope, time.Minute).Term)[0]
				}
				faults.All(tc.fault)
				ctx, cancel := contextOf(t, tc.limit)
				defer cancel()
				begun := time.Now()
				for _, err := range faults.Renew(ctx, renewals) {
					if got := lease.OutcomeOf(err); got != tc.outcome {
						t.Fatalf("outcome %s, want %s", got, tc.outcome)
					}
				}
				if took := time.Since(begun); took != tc.took {
					t.Errorf("the batch took %v, want %v", took, tc.took)
				}
			})
		})
	}
}

func contextOf(t *testing.T, limit time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), limit)
}
