package renewal_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// breaks is a store that breaks on every batch in which one lease is.
type breaks struct {
	*leasetest.Memory
	on lease.Scope
	do func(ctx context.Context, renewals []*lease.Renewal) []error
}

func (s *breaks) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	for _, r := range renewals {
		if r.Scope() == s.on {
			return s.do(ctx, renewals)
		}
	}
	return s.Memory.Renew(ctx, renewals)
}

// reports collects what an engine reports.
type reports struct {
	mu   sync.Mutex
	errs []error
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// contains counts those that contain a text.
func (r *reports) contains(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, err := range r.errs {
		if strings.Contains(err.Error(), text) {
			n++
		}
	}
	return n
}

func TestALeaseOnWhichTheStoreBreaksStopsNoOther(t *testing.T) {
	t.Parallel()
	memory := leasetest.NewMemory()
	for name, tc := range map[string]struct {
		do    func(ctx context.Context, renewals []*lease.Renewal) []error
		panic bool
		says  string
	}{
		"it panics":          {func(context.Context, []*lease.Renewal) []error { panic("no such lease") }, true, "no such lease"},
		"it answers nothing": {func(context.Context, []*lease.Renewal) []error { return nil }, false, "gave 0 answers to 1 renewals"},
		"it answers too much": {func(_ context.Context, r []*lease.Renewal) []error {
			return make([]error, len(r)+1)
		}, false, "gave 2 answers"},
		"it answers too little": {func(_ context.Context, r []*lease.Renewal) []error {
			return make([]error, len(r)-1)
		}, false, "gave 0 answers"},
		"all is unknown": {func(_ context.Context, r []*lease.Renewal) []error {
			errs := make([]error, len(r))
			for i := range errs {
				errs[i] = &lease.UnknownError{Address: memory.Address(), Cause: context.DeadlineExceeded}
			}
			return errs
		}, false, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var reported reports
				store := &breaks{Memory: leasetest.NewMemory(), on: "many/500", do: tc.do}
				e := renewal.New(renewal.Options{Store: store, Report: reported.add})
				stop := run(t, e)
				checkOneBreaks(t, e, store, tc.says)
				stop()
				if n := reported.contains(tc.says + "\ngoroutine"); (n > 0) != tc.panic {
					t.Errorf("%d panics were reported", n)
				}
			})
		})
	}
}

// checkOneBreaks holds 1,000 leases, of which one becomes uncertain.
func checkOneBreaks(t *testing.T, e *renewal.Engine, store *breaks, says string) {
	t.Helper()
	const n = 1000
	for i := range n {
		name := lease.Scope(fmt.Sprintf("many/%d", i))
		track(t, e, leasetest.MustAcquire(t, store, name, timing.LeaseDuration), timing)
	}
	for range 60 {
		after(time.Second)
		for i := range n {
			scope := lease.Scope(fmt.Sprintf("many/%d", i))
			if left := store.TTL(scope); i != 500 && left < 24*time.Second {
				t.Fatalf("only %v are left of %s", left, scope)
			}
		}
	}
	counts, _ := e.Summary()
	state := e.State("many/500")
	if counts[renewal.Held] != n-1 || state.Phase != renewal.Uncertain || state.LastResult != renewal.Unknown {
		t.Errorf("%v, and the one is %+v", counts, state)
	}
	if !strings.Contains(state.Detail, says) {
		t.Errorf("the detail does not say %q: %s", says, state.Detail)
	}
}

// brokenListener panics at every third result, and at every signal while it is broken.
type brokenListener struct {
	results, signals atomic.Int64
	mended           atomic.Bool
}

func (l *brokenListener) notify(renewal.Subject) {
	l.signals.Add(1)
	if !l.mended.Load() {
		panic("Notify is broken")
	}
}

func (l *brokenListener) observe(renewal.Result) {
	if l.results.Add(1)%3 == 0 {
		panic("Observe is broken")
	}
}

func TestAPanicOfAListenerStopsNoRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reported reports
		var listener brokenListener
		memory := leasetest.NewMemory()
		e := renewal.New(renewal.Options{
			Store: memory, Report: reported.add, Notify: listener.notify, Observe: listener.observe,
		})
		stop := run(t, e)
		defer stop()
		for _, scope := range []lease.Scope{"a/lost", "a/good"} {
			track(t, e, leasetest.MustAcquire(t, memory, scope, timing.LeaseDuration), timing)
		}
		memory.Remove("a/lost")
		after(time.Minute)
		results := int(listener.results.Load())
		if got := e.State("a/good"); got.Phase != renewal.Held || results != int(got.Renewals)+1 {
			t.Errorf("%d results, and %+v", results, got)
		}
		if n := reported.contains("Observe is broken"); n != results/3 {
			t.Errorf("%d panics of Observe were reported, of %d", n, results/3)
		}
		if n := listener.signals.Load(); n < 50 || n > 62 {
			t.Errorf("the loss was told %d times in a minute, and nobody wanted to hear it", n)
		}
		listener.mended.Store(true)
		after(time.Minute)
		if n := int(listener.signals.Load()) - reported.contains("Notify is broken"); n != 1 {
			t.Errorf("it was told %d times once it was wanted", n)
		}
	})
}

func TestAPanicThatIsReportedToNobodyIsReturnedAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory()
		e := renewal.New(renewal.Options{Store: memory, Observe: func(renewal.Result) { panic("broken") }})
		track(t, e, leasetest.MustAcquire(t, memory, lease.Scope(subject), timing.LeaseDuration), timing)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := e.Run(ctx); err == nil || !strings.Contains(err.Error(), "panic while telling the result of a renewal: broken") {
			t.Errorf("Run returned %v", err)
		}
		if got := e.State(subject); got.Phase != renewal.Held || got.Renewals < 12 {
			t.Errorf("%+v", got)
		}
	})
}
