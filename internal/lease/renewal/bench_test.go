package renewal_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// instant is a store that confirms everything at once, and counts until it was asked often enough.
type instant struct {
	lease.Store
	left atomic.Int64
	done chan struct{}
}

func newInstant(n int64) *instant {
	s := &instant{Store: leasetest.NewMemory(), done: make(chan struct{})}
	s.left.Store(n)
	return s
}

func (s *instant) Renew(_ context.Context, renewals []*lease.Renewal) []error {
	left := s.left.Add(-int64(len(renewals)))
	if left <= 0 && left > -int64(len(renewals)) {
		close(s.done)
	}
	return make([]error, len(renewals))
}

// trackMany hands n leases to an engine, as if each had just been granted, and returns how many bytes of heap each takes.
func trackMany(tb testing.TB, e *renewal.Engine, n int, timing lease.Timing) float64 {
	tb.Helper()
	before := heap()
	for i := range n {
		name := fmt.Sprintf("namespace/report-%06d", i)
		term := lease.Term{
			Scope: lease.Scope(name), Owner: lease.Owner(fmt.Sprintf("%032x", i)), Token: lease.Token(70_000_000_000 + i),
		}
		track(tb, e, lease.Grant{Term: term, At: time.Now()}, timing)
	}
	return (heap() - before) / float64(n)
}

// heap is how many bytes live on the heap.
func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// BenchmarkEngineRenew renews 100,000 leases as often as the engine can, on a store that takes no time.
func BenchmarkEngineRenew(b *testing.B) {
	store := newInstant(int64(b.N))
	e := renewal.New(renewal.Options{Store: store})
	size := trackMany(b, e, 100_000, lease.Timing{
		LeaseDuration: time.Hour, RenewalInterval: time.Microsecond, StopGracePeriod: time.Second,
	})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { ended <- e.Run(ctx) }()
	<-store.done
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renewals/s")
	b.ReportMetric(size, "bytes/lease")
}
