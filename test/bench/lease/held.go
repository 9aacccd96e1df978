package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// watched notes when each lease was sent for renewal, on its way to the store.
type watched struct {
	lease.Store
	begun time.Time
	last  []atomic.Int64 // by lease: ns since begun of the last renewal; 0 before the first
	worst atomic.Int64   // ns between two renewals of a lease
	count atomic.Int64
}

// Renew is lease.Store's.
func (w *watched) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	now := int64(time.Since(w.begun))
	for _, r := range renewals {
		n, err := strconv.Atoi(r.Key[len("leasehold:{bench/") : len(r.Key)-len("}:lease")])
		if err != nil {
			continue // no lease of the benchmark
		}
		if before := w.last[n].Swap(now); before != 0 {
			for gap, worst := now-before, w.worst.Load(); gap > worst && !w.worst.CompareAndSwap(worst, gap); worst = w.worst.Load() {
				continue
			}
		}
	}
	w.count.Add(int64(len(renewals)))
	return w.Store.Renew(ctx, renewals)
}

// measureHeld holds many leases at once and looks at how late the latest renewal of any is, and what all of that costs.
func measureHeld(ctx context.Context, p plan) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, n := range p.held {
		if err := hold(ctx, s.address, n); err != nil {
			return err
		}
		if err := measureHolding(ctx, p, s.address, n); err != nil {
			return err
		}
	}
	return nil
}

func measureHolding(ctx context.Context, p plan, address string, n int) error {
	store := redis.New(redis.Options{Address: address})
	defer store.Close()
	w := &watched{Store: store, begun: time.Now(), last: make([]atomic.Int64, n)}
	before := heap()
	engine := renewal.New(renewal.Options{Store: w})
	timing := lease.Timing{LeaseDuration: ttl, RenewalInterval: p.interval, StopGracePeriod: time.Second}
	track(engine, n, timing)
	bytes := float64(heap()-before) / float64(n)

	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx) }()
	if !wait(ctx, p.interval*3/2) { // the leases that were tracked at one moment spread out
		cancel()
		return <-done
	}
	cost := usage()
	renewed := w.count.Load()
	w.worst.Store(0)
	if !wait(ctx, p.interval*5/2) {
		cancel()
		return <-done
	}
	cost = usage().minus(cost)
	renewals := float64(w.count.Load() - renewed)
	counts, _ := engine.Summary()
	cancel()
	if err := <-done; err != nil || counts[renewal.Held] != n {
		return fmt.Errorf("%d leases of %d are held: %w", counts[renewal.Held], n, err)
	}
	suffix := fmt.Sprintf("_%dk", n/1000)
	report("lateness_worst"+suffix, max(0, float64(time.Duration(w.worst.Load())-p.interval)/float64(p.interval)))
	report("cpu_us_per_renewal"+suffix, float64(cost.cpu.Microseconds())/renewals)
	report("allocs_per_renewal"+suffix, float64(cost.mallocs)/renewals)
	report("bytes_per_lease"+suffix, bytes)
	fmt.Fprintf(os.Stderr, "  %d leases: %.0f renewals\n", n, renewals)
	return nil
}

// wait returns false if the context ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one found to be without use
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// costs are what the process used since it began.
type costs struct {
	cpu     time.Duration
	mallocs uint64
}

func usage() costs {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails for a wrong argument only
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return costs{time.Duration(r.Utime.Nano() + r.Stime.Nano()), stats.Mallocs}
}

func (c costs) minus(before costs) costs {
	return costs{c.cpu - before.cpu, c.mallocs - before.mallocs}
}
