package controller

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestTransitionIsToldToLogEventsAndMetrics(t *testing.T) {
	t.Parallel()
	out, registry := &told{}, prometheus.NewRegistry()
	r := &ReportJobReconciler{
		Log: funcr.NewJSON(out.line, funcr.Options{}), Recorder: out, Metrics: NewMetrics(registry, "test"),
	}
	reportJob := &v1alpha1.ReportJob{}
	reportJob.Namespace, reportJob.Name = "finance", "report"
	r.announce(t.Context(), reportJob, plan.Settled{Transitions: []plan.Transition{
		{
			Event: plan.EventLost, Reason: "LeaseLost", Message: "The lease is lost: 100%", JobID: "revenue", ExecutionID: "e1",
			Token: "7", Pod: "report-7-x", Elapsed: 1500 * time.Millisecond, RenewalOutcome: "Lost",
			Notice: plan.Notice{Type: plan.NoticeWarning, Reason: "LeaseLost"}, Attempt: 2, RetryOf: "e0",
			Trigger: &v1alpha1.Trigger{Kind: v1alpha1.TriggerManual, By: "ann"},
		},
		{Event: plan.EventStoreReachable},
	}})
	wantLine := map[string]any{
		"logger": "", "level": 0.0, "msg": "The lease is lost: 100%", "namespace": "finance", "name": "report",
		"jobId": "revenue", "executionId": "e1", "token": "7", "pod": "report-7-x", "event": "lease_lost", "elapsedMs": 1500.0,
		"renewalOutcome": "Lost", "reason": "LeaseLost", "attempt": 2.0, "retryOf": "e0",
		"trigger": map[string]any{"kind": "Manual", "by": "ann"},
	}
	if diff := cmp.Diff(wantLine, out.lines[0]); diff != "" {
		t.Errorf("log line (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(wantLine)), slices.Sorted(maps.Keys(out.lines[1]))); diff != "" {
		t.Errorf("keys of a line about little (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"report Warning LeaseLost The lease is lost: 100%"}, out.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if counted := series(t, registry)["leasehold_transitions_total/lease_lost"]; counted != 1 {
		t.Errorf("leasehold_transitions_total counts %v", counted)
	}
}

func TestOnlyThoseWhoWaitAreSpreadOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		phase       v1alpha1.Phase
		after, want time.Duration
		random      float64
	}{
		"a waiting one looks a little later": {v1alpha1.PhaseWaiting, time.Second, 1050 * time.Millisecond, 0.5},
		"at the earliest when it wanted to":  {v1alpha1.PhaseWaiting, time.Second, time.Second, 0},
		"a running one looks in time":        {v1alpha1.PhaseRunning, time.Second, time.Second, 0.5},
		"one that is done never looks":       {v1alpha1.PhaseSucceeded, 0, 0, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &ReportJobReconciler{Jitter: Spread(func() float64 { return tc.random })}
			settled := plan.Settled{RequeueAfter: tc.after, Status: v1alpha1.ReportJobStatus{Phase: tc.phase}}
			if got := r.nextLook(settled).RequeueAfter; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
