package renewal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// loaded is a store that takes as long as it is told to, and refuses for as long as it has an error to say. It counts.
type loaded struct {
	lease.Store
	delay func() time.Duration

	mu      sync.Mutex
	refusal error
	batches int
	last    map[lease.Scope]time.Time // when a lease was renewed
}

func newLoaded(delay func() time.Duration) *loaded {
	return &loaded{Store: leasetest.NewMemory(), delay: delay, last: map[lease.Scope]time.Time{}}
}

func (s *loaded) Renew(_ context.Context, renewals []*lease.Renewal) []error {
	time.Sleep(s.delay())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches++
	errs := make([]error, len(renewals))
	for i, r := range renewals {
		errs[i] = s.refusal
		if s.refusal == nil {
			s.last[r.Scope()] = time.Now()
		}
	}
	return errs
}

// refuse lets the store say this from now on; nil: it renews.
func (s *loaded) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = err
}

// count is how many batches came since it was asked last.
func (s *loaded) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.batches
	s.batches = 0
	return n
}

// renewedSince counts the leases that were renewed after an instant.
func (s *loaded) renewedSince(at time.Time, name string, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	renewed := 0
	for i := range n {
		if s.last[lease.Scope(fmt.Sprintf("%s/%d", name, i))].After(at) {
			renewed++
		}
	}
	return renewed
}

// crowd is some leases of one timing.
type crowd struct {
	name   string
	n      int
	timing lease.Timing
}

// hold hands leases to an engine.
func hold(t *testing.T, e *renewal.Engine, c crowd) {
	t.Helper()
	for i := range c.n {
		scope := lease.Scope(fmt.Sprintf("%s/%d", c.name, i))
		term := lease.Term{Scope: scope, Owner: "0123456789abcdef0123456789abcdef", Token: lease.Token(i + 1)}
		track(t, e, lease.Grant{Term: term, At: time.Now()}, c.timing)
	}
}

func TestTenThousandLeasesOnASlowStoreKeepTheirSlack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(99, 800))
		var mu sync.Mutex
		store := newLoaded(func() time.Duration { // the slowest of a hundred takes 800 ms
			mu.Lock()
			defer mu.Unlock()
			if random.IntN(100) == 0 {
				return 800 * time.Millisecond
			}
			return time.Duration(random.ExpFloat64() * float64(10*time.Millisecond))
		})
		e := renewal.New(renewal.Options{Store: store})
		stop := run(t, e)
		hold(t, e, crowd{"many", 10_000, timing})
		for i := range 60 {
			after(time.Second)
			counts, least := e.Summary()
			if counts[renewal.Held] != 10_000 || least <= 2*timing.RenewalInterval {
				t.Errorf("after %d s: %v, and the least trust is %v", i+1, counts, least)
			}
		}
		stop()
	})
}

// TestAnOutageCostsABoundedNumberOfRequests holds 100,000 leases through one, and lets a few that are urgent be first after it.
func TestAnOutageCostsABoundedNumberOfRequests(t *testing.T) {
	t.Parallel()
	const n = 100_000
	patient := lease.Timing{LeaseDuration: time.Hour, RenewalInterval: 10 * time.Second, StopGracePeriod: time.Second}
	urgent := lease.Timing{LeaseDuration: time.Minute, RenewalInterval: 10 * time.Second, StopGracePeriod: time.Second}
	synctest.Test(t, func(t *testing.T) {
		store := newLoaded(func() time.Duration { return time.Millisecond })
		e := renewal.New(renewal.Options{Store: store})
		stop := run(t, e)
		hold(t, e, crowd{"patient", n, patient})
		hold(t, e, crowd{"urgent", 100, urgent})
		store.refuse(&lease.NotExecutedError{Address: "a test", Cause: errors.New("connection refused")})
		after(12 * time.Second) // every lease was due once
		store.count()
		for i := range 3 {
			after(time.Second)
			if got := store.count(); got < 20 || got > int(time.Second/renewal.RetryPace)+1 {
				t.Errorf("second %d of the outage: %d batches", i+1, got)
			}
		}
		store.refuse(nil)
		back := time.Now()
		after(renewal.MaxRetryDelay + renewal.RetryPace + 10*time.Millisecond)
		if got := store.renewedSince(back, "urgent", 100); got != 100 {
			t.Errorf("only %d of the urgent leases were renewed first", got)
		}
		after(time.Second)
		if got := store.renewedSince(back, "patient", n); got != n {
			t.Errorf("only %d of the others were renewed within a second or so", got)
		}
		stop()
	})
}

// TestOthersAreRenewedOnTimeWhileOneShardIsAway lets a third of the leases fail.
func TestOthersAreRenewedOnTimeWhileOneShardIsAway(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		const n = 3000
		for i := range n {
			b.track(renewal.Subject(fmt.Sprintf("shard%d/%d", i%3, i)), timing)
		}
		b.faults.Inject(func(scope lease.Scope) leasetest.Fault {
			if scope[:6] == "shard2" {
				return leasetest.DropRequest
			}
			return leasetest.None
		})
		for range 60 {
			after(time.Second)
			for i := range n {
				scope := lease.Scope(fmt.Sprintf("shard%d/%d", i%3, i))
				if left := b.memory.TTL(scope); i%3 != 2 && left < 24*time.Second {
					b.Fatalf("only %v are left of %s", left, scope)
				}
			}
		}
		if counts, _ := b.engine.Summary(); counts[renewal.Held] != n/3*2 || counts[renewal.Uncertain] != n/3 {
			b.Errorf("%v", counts)
		}
	})
}

func TestAStoreThatIsBusyForTenSecondsLosesNoLease(t *testing.T) {
	t.Parallel()
	long := lease.Timing{LeaseDuration: time.Minute, RenewalInterval: 5 * time.Second, StopGracePeriod: 10 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		store := newLoaded(func() time.Duration { return time.Millisecond })
		e := renewal.New(renewal.Options{Store: store})
		stop := run(t, e)
		hold(t, e, crowd{"many", 500, long})
		for range 3 {
			after(13 * time.Second)
			store.refuse(&lease.NotExecutedError{Address: "a test", Cause: errors.New("BUSY Redis is busy running a script")})
			after(10 * time.Second)
			store.refuse(nil)
			back := time.Now()
			after(long.RenewalInterval + renewal.MaxRetryDelay + renewal.RetryPace)
			if got := store.renewedSince(back, "many", 500); got != 500 {
				t.Errorf("only %d leases were renewed after it", got)
			}
		}
		if counts, _ := e.Summary(); counts[renewal.Held] != 500 {
			t.Errorf("%v", counts)
		}
		stop()
	})
}

// TestAHundredThousandLeasesFitInto512BytesEach is not parallel: it measures the heap of the whole process.
func TestAHundredThousandLeasesFitInto512BytesEach(t *testing.T) {
	e := renewal.New(renewal.Options{Store: leasetest.NewMemory()})
	size := trackMany(t, e, 100_000, lease.Timing{
		LeaseDuration: time.Hour, RenewalInterval: time.Minute, StopGracePeriod: time.Second,
	})
	if size < 200 || size > 512 {
		t.Errorf("%.0f bytes for each lease", size)
	}
	if counts, _ := e.Summary(); counts[renewal.Held] != 100_000 {
		t.Errorf("%v", counts)
	}
}
