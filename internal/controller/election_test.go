package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease/clock"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// storedLock is a lock that is kept in memory, by an API server that may be away.
type storedLock struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	away   bool
}

var errAway = errors.New("connection refused")

func (l *storedLock) Identity() string   { return "me" }
func (l *storedLock) Describe() string   { return "a lock" }
func (l *storedLock) RecordEvent(string) {}

func (l *storedLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.away:
		return nil, nil, errAway
	case l.record == nil:
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "lock")
	}
	record := *l.record
	return &record, []byte(record.HolderIdentity + record.RenewTime.String()), nil
}

func (l *storedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l *storedLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return errAway
	}
	l.record = &record
	return nil
}

func (l *storedLock) goAway(away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away
}

func TestAReplicaThatLosesItsLeadershipStandsForElectionAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := &storedLock{}
		leadership := NewLeadership(lock, LeaderLeaseDuration, clock.New(nil))
		var mu sync.Mutex
		var told []string
		tell := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, what)
		}
		election := &Election{Leadership: leadership, Log: logr.Discard(),
			Elected: func(context.Context) { tell("elected") }, Lost: func() { tell("lost") }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- election.Start(ctx) }()
		expect := func(why string, may bool, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if leadership.MayAct() != may || !slices.Equal(told, want) {
				t.Errorf("%s: may act %v, told %v; want %v, %v", why, leadership.MayAct(), told, may, want)
			}
		}
		time.Sleep(time.Second)
		expect("at first", true, "elected")
		lock.goAway(true)
		time.Sleep(5 * time.Minute)
		expect("without an API server", false, "elected", "lost")
		lock.goAway(false)
		time.Sleep(10 * time.Second)
		expect("when it is back", true, "elected", "lost", "elected")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		expect("at the end", false, "elected", "lost", "elected", "lost")
		if lock.record.HolderIdentity != "" {
			t.Errorf("the lock is still held by %q", lock.record.HolderIdentity)
		}
	})
}

// neverElected is a replica that follows.
func neverElected() *Leadership { return NewLeadership(&fakeLock{}, time.Hour, clock.New(nil)) }

func TestAFollowerRenewsWhatTheLeaderHasNotEnded(t *testing.T) {
	t.Parallel()
	ended := metav1.NewMicroTime(noon)
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ReportJobStatus)
		want   renewal.Phase
	}{
		"a report that runs": {func(*v1alpha1.ReportJobStatus) {}, renewal.Held},
		"one that is stopped for its time": {func(s *v1alpha1.ReportJobStatus) {
			s.Stop = &v1alpha1.Stop{Reason: v1alpha1.ReasonMaxRuntimeExceeded, RequestedAt: ended}
		}, renewal.Held},
		"not one whose lease is over": {func(s *v1alpha1.ReportJobStatus) {
			s.Stop = &v1alpha1.Stop{Reason: v1alpha1.ReasonOwnershipUncertain, RequestedAt: ended}
		}, renewal.Untracked},
		"not one that has ended": {func(s *v1alpha1.ReportJobStatus) {
			s.Completion = &v1alpha1.Completion{Outcome: v1alpha1.OutcomeSucceeded, At: ended}
		}, renewal.Untracked},
		"not one that is on another attempt": {func(s *v1alpha1.ReportJobStatus) { s.Execution.Token = "1" + s.Execution.Token },
			renewal.Untracked},
		"not one that has no execution": {func(s *v1alpha1.ReportJobStatus) { s.Execution = nil }, renewal.Untracked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			running, _ := f.toRunning("report")
			tc.change(&running.Status)
			if err := f.api.Status().Update(t.Context(), running); err != nil {
				t.Fatal(err)
			}
			f.Leadership = neverElected()
			before := f.get("report")
			if result := f.reconcile("report"); result.RequeueAfter != 0 {
				t.Errorf("it looks again after %v", result.RequeueAfter)
			}
			if got := f.engine.State(subjectOf(f.key("report"))).Phase; got != tc.want {
				t.Errorf("the engine says %s, want %s", got, tc.want)
			}
			if f.get("report").ResourceVersion != before.ResourceVersion {
				t.Error("it wrote")
			}
		})
	}
}

func TestWhoBeginsToLeadLooksAtAllReportJobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("one", nil)
	f.create("two", nil)
	var mu sync.Mutex
	var woken []string
	f.wake = func(name types.NamespacedName) {
		mu.Lock()
		defer mu.Unlock()
		if name.Namespace == f.namespace {
			woken = append(woken, name.Name)
		}
	}
	f.LookAtAll(t.Context())
	slices.Sort(woken)
	if !slices.Equal(woken, []string{"one", "two"}) {
		t.Errorf("woken: %v", woken)
	}
}
