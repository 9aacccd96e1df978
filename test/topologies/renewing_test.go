//go:build topologies

package topologies

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

const (
	// renewEvery is how often leases are renewed during a disruption.
	renewEvery = 50 * time.Millisecond
	// renewLimit bounds one batch.
	renewLimit = time.Second
)

// tally is what became of the renewals of a disruption.
type tally struct {
	confirmed, unknown, notExecuted int
	lost                            []error
	// outage is from the disruption until the first batch that was confirmed as a whole after the last that was not.
	outage time.Duration
	// last is the last error that was no loss.
	last error
}

func (x tally) String() string {
	return fmt.Sprintf("renewals: %d confirmed, %d not executed, %d unknown, %d lost; "+
		"none or some came through for %v; last error: %v",
		x.confirmed, x.notExecuted, x.unknown, len(x.lost), x.outage.Round(time.Millisecond), x.last)
}

// renewing renews leases in the background.
type renewing struct {
	store    *redis.Store
	renewals []*lease.Renewal

	mu       sync.Mutex
	tally    tally
	begun    time.Time
	whole    int // batches confirmed as a whole, one after the other
	mended   time.Time
	finished func()
}

// startRenewing renews until end is called. It returns when a first batch was confirmed.
func startRenewing(t *testing.T, store *redis.Store, renewals []*lease.Renewal) *renewing {
	t.Helper()
	r := &renewing{store: store, renewals: renewals, begun: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { r.run(ctx) })
	r.finished = func() {
		cancel()
		done.Wait()
	}
	t.Cleanup(r.finished)
	eventually(t, "the leases are renewed", func() bool { return r.inRow() > 0 })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun, r.mended, r.tally = time.Now(), time.Now(), tally{}
	return r
}

func (r *renewing) run(ctx context.Context) {
	ticks := time.NewTicker(renewEvery)
	defer ticks.Stop()
	for {
		// A renewal on its way at the end is answered, not cut off.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewLimit)
		errs := r.store.Renew(limited, r.renewals)
		cancel()
		r.count(errs)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

func (r *renewing) count(errs []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.tally.confirmed
	for _, err := range errs {
		switch outcome := lease.OutcomeOf(err); {
		case err == nil:
			r.tally.confirmed++
		case outcome == lease.Executed:
			r.tally.lost = append(r.tally.lost, err)
		case outcome == lease.Unknown:
			r.tally.unknown, r.tally.last = r.tally.unknown+1, err
		default:
			r.tally.notExecuted, r.tally.last = r.tally.notExecuted+1, err
		}
	}
	switch {
	case r.tally.confirmed != before+len(errs):
		r.whole = 0
	case r.whole == 0:
		r.mended = time.Now()
		fallthrough
	default:
		r.whole++
	}
}

// batches counts those that came through as a whole since one did not.
func (r *renewing) batches() int { return r.inRow() }

func (r *renewing) inRow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.whole
}

// end waits until all leases are renewed again, stops, and tells what happened since the first batch.
func (r *renewing) end(t *testing.T) tally {
	t.Helper()
	before := time.Now()
	eventually(t, "all leases are renewed again", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.tally.lost) > 0 {
			t.Fatalf("leases were called lost: %v", r.tally.lost[0])
		}
		return r.whole >= 5 && time.Since(before) > 10*renewEvery
	})
	r.finished()
	r.tally.outage = r.mended.Sub(r.begun)
	t.Log(r.tally)
	return r.tally
}

// hold acquires leases and returns their renewals.
func hold(t *testing.T, store *redis.Store, scopes ...lease.Scope) []*lease.Renewal {
	t.Helper()
	terms := make([]lease.Term, len(scopes))
	for i, scope := range scopes {
		terms[i] = leasetest.MustAcquire(t, store, scope, ttl).Term
	}
	return leasetest.Renewals(ttl, terms...)
}

// manyScopes are n scopes in all slots.
func manyScopes(n int) []lease.Scope {
	scopes := make([]lease.Scope, n)
	for i := range scopes {
		scopes[i] = lease.Scope(fmt.Sprintf("team-%d/report", i))
	}
	return scopes
}

// acquireAs is acquire for its error alone.
func acquireAs(t *testing.T, store *redis.Store, scope lease.Scope, floor lease.Token) error {
	t.Helper()
	_, err := acquire(t, store, scope, floor)
	return err
}

// acquire asks for a lease as somebody new.
func acquire(t *testing.T, store *redis.Store, scope lease.Scope, floor lease.Token) (lease.Grant, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return store.Acquire(ctx, lease.AcquireRequest{Scope: scope, Owner: leasetest.NewOwner(t), TTL: ttl, Floor: floor})
}
