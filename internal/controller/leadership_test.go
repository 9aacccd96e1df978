package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease/clock"
)

// fakeLock is a lock of leader election that takes its time.
type fakeLock struct {
	resourcelock.Interface
	holder string
	takes  time.Duration
	err    error
}

func (l *fakeLock) Identity() string { return "me" }

func (l *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, l.err
}

func (l *fakeLock) Create(context.Context, resourcelock.LeaderElectionRecord) error { return l.send() }
func (l *fakeLock) Update(context.Context, resourcelock.LeaderElectionRecord) error { return l.send() }

func (l *fakeLock) send() error {
	time.Sleep(l.takes)
	return l.err
}

var mine = resourcelock.LeaderElectionRecord{HolderIdentity: "me"}

// leadershipStep is something that happens to the lock of a process that leads since the beginning of the bubble.
type leadershipStep func(context.Context, *Leadership, *fakeLock)

func passes(d time.Duration) leadershipStep {
	return func(context.Context, *Leadership, *fakeLock) { time.Sleep(d) }
}

func renews(takes time.Duration, err error) leadershipStep {
	return func(ctx context.Context, l *Leadership, lock *fakeLock) {
		lock.takes, lock.err = takes, err
		_ = l.Update(ctx, mine)
	}
}

func reads(holder string) leadershipStep {
	return func(ctx context.Context, l *Leadership, lock *fakeLock) {
		lock.holder, lock.err = holder, nil
		_, _, _ = l.Get(ctx)
	}
}

func resigns(ctx context.Context, l *Leadership, _ *fakeLock) {
	_ = l.Update(ctx, resourcelock.LeaderElectionRecord{})
}

func TestOnlyARecentlyConfirmedLeaderMayAct(t *testing.T) {
	t.Parallel()
	away := errors.New("no answer")
	for name, tc := range map[string]struct {
		steps []leadershipStep
		want  bool
	}{
		"who was just elected":                         {nil, true},
		"to the end of its trust":                      {[]leadershipStep{passes(12*time.Second - 1)}, true},
		"not after a freeze":                           {[]leadershipStep{passes(12 * time.Second)}, false},
		"again after a renewal":                        {[]leadershipStep{passes(time.Hour), renews(0, nil)}, true},
		"counted from when the renewal was sent":       {[]leadershipStep{renews(11*time.Second, nil), passes(time.Second)}, false},
		"a renewal that is slow and in time":           {[]leadershipStep{renews(11*time.Second, nil)}, true},
		"a renewal without an answer confirms nothing": {[]leadershipStep{passes(11 * time.Second), renews(time.Second, away)}, false},
		"nor takes it anything away":                   {[]leadershipStep{renews(time.Second, away)}, true},
		"not when another one leads":                   {[]leadershipStep{reads("another")}, false},
		"to read its own name proves nothing":          {[]leadershipStep{passes(time.Hour), reads("me")}, false},
		"not while it gives up":                        {[]leadershipStep{resigns}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lock := &fakeLock{}
				l := NewLeadership(lock, 15*time.Second, clock.New(nil))
				if l.MayAct() {
					t.Error("it may act before it is elected")
				}
				if err := l.Create(t.Context(), mine); err != nil {
					t.Fatal(err)
				}
				for _, step := range tc.steps {
					step(t.Context(), l, lock)
				}
				if got := l.MayAct(); got != tc.want {
					t.Errorf("may act: %v, want %v", got, tc.want)
				}
			})
		})
	}
}

func TestTimeThatTheMachineSleptCountsForLeadership(t *testing.T) {
	t.Parallel()
	var boot time.Duration
	var mu sync.Mutex
	c := clock.New(func() clock.Reading {
		mu.Lock()
		defer mu.Unlock()
		reading := clock.PackageTime()
		reading.Boot = boot + time.Hour
		return reading
	})
	l := NewLeadership(&fakeLock{}, time.Hour, c)
	if err := l.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if !l.MayAct() {
		t.Error("it may not act at once")
	}
	mu.Lock()
	boot += time.Hour
	mu.Unlock()
	if l.MayAct() {
		t.Error("it acts after a long sleep")
	}
}

// frozen is a process that stood still for longer than its leadership lasted.
func frozen(t *testing.T) *Leadership {
	t.Helper()
	l := NewLeadership(&fakeLock{}, 0, clock.New(nil))
	if err := l.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAFormerLeaderDoesNothingUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, _ := f.toRunning("report")
	f.engine.Halt(subjectOf(f.key("report")))
	f.Leadership = frozen(t)
	result := f.reconcile("report")
	after := f.get("report")
	if after.ResourceVersion != running.ResourceVersion || result.RequeueAfter != unconfirmed {
		t.Errorf("it wrote %+v; looks again after %v", after.Status, result.RequeueAfter)
	}
	f.Leadership = nil
	f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonOwnershipUncertain)
}

func TestAFreezeInTheMiddleOfAReconcileIsNoticedBeforeItsEffects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(f *fixture)
	}{
		"before it asks for a lease": {func(*fixture) {}},
		"before it creates a Job":    {func(f *fixture) { f.reconcile("report") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			tc.prepare(f)
			before := f.get("report")
			f.Clock = stopping{f, f.Clock.Now()}
			f.Leadership = elected(t)
			if result := f.reconcile("report"); result != (ctrl.Result{RequeueAfter: unconfirmed}) {
				t.Errorf("result %+v", result)
			}
			if after := f.get("report"); after.ResourceVersion != before.ResourceVersion {
				t.Errorf("it wrote %+v", after.Status)
			}
		})
	}
}

func elected(t *testing.T) *Leadership {
	t.Helper()
	l := NewLeadership(&fakeLock{}, time.Hour, clock.New(nil))
	if err := l.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	return l
}

// stopping is a clock at whose reading, just before the decision, the process stands still.
type stopping struct {
	f   *fixture
	now time.Time
}

func (s stopping) Now() time.Time {
	s.f.Leadership.resign()
	return s.now
}

func (s stopping) Since(t time.Time) time.Duration { return s.now.Sub(t) }
