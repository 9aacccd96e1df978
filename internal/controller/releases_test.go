package controller

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

// awayUntil is a store that refuses releases for a while.
type awayUntil struct {
	lease.Store
	clock clock.Clock
	back  time.Time
	tries int
	err   error
}

func (s *awayUntil) Release(context.Context, lease.Term) error {
	s.tries++
	if s.clock.Now().Before(s.back) {
		return &lease.NotExecutedError{Address: "redis:6379", Cause: context.DeadlineExceeded}
	}
	return s.err
}

func TestALeaseIsGivenBackUntilRedisAnswersOrItMustHaveRunOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		away  time.Duration
		err   error
		tries int
	}{
		"Redis is back at once":   {away: 0, tries: 1},
		"it is back later":        {away: 9 * time.Second, tries: 5},
		"the lease is gone":       {err: &lease.LostError{}, tries: 1},
		"Redis stays away":        {away: time.Hour, tries: 30},
		"its answer is no answer": {err: &lease.UnknownError{Cause: context.Canceled}, tries: 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ticking := clock.RealClock{}
				store := &awayUntil{clock: ticking, back: ticking.Now().Add(tc.away), err: tc.err}
				r := &ReportJobReconciler{Store: store, Clock: ticking, Log: logr.Discard()}
				ctx, cancel := context.WithCancel(t.Context())
				go func() { _ = r.repeatReleases(ctx) }()
				r.releaseLater(waiter("report", "revenue", 0), lease.Term{Scope: "a/b", Owner: "o", Token: 1})
				time.Sleep(3 * time.Minute)
				cancel()
				if store.tries != tc.tries || len(r.releases.until) != 0 {
					t.Errorf("%d tries, want %d; %d are left", store.tries, tc.tries, len(r.releases.until))
				}
			})
		})
	}
}

func TestADeletedReportsLeaseIsGivenBackAfterItIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	running, pod := f.toRunning("report")
	if err := f.api.Delete(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	f.expect("report", v1alpha1.PhaseStopping, v1alpha1.ReasonDeleted)
	if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	f.kubeletSays(pod, corev1.PodFailed, ended("report", 143, "Error"))
	f.store.All(leasetest.Refuse)
	f.untilGone("report")
	f.store.All(leasetest.None)
	term := termIn(t, running)
	if f.isFree(term) {
		t.Fatal("the lease is free already: the test shows nothing")
	}
	f.repeatReleasesOnce(t.Context())
	if !f.isFree(term) {
		t.Error("the lease is held on")
	}
}

// untilGone reconciles until the ReportJob is gone.
func (f *fixture) untilGone(name string) {
	f.t.Helper()
	for range 10 {
		f.reconcile(name)
		err := f.api.Get(f.t.Context(), f.key(name), &v1alpha1.ReportJob{})
		if err != nil && strings.Contains(err.Error(), "not found") {
			return
		}
	}
	f.t.Fatalf("%s is still there: %+v", name, f.get(name).Status)
}
