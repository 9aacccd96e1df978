package controller

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// series returns the value of every series of a registry by its name and its one label's value; of a histogram, its count.
func series(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	gather(t, registry, func(name string, metric *dto.Metric) {
		values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
			float64(metric.GetHistogram().GetSampleCount())
	})
	return values
}

// gather visits every series of a registry by its name and its one label's value.
func gather(t *testing.T, registry *prometheus.Registry, visit func(name string, metric *dto.Metric)) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += "/" + label.GetValue()
			}
			visit(name, metric)
		}
	}
}

func TestMetricsExistFromTheStartUnderTheirNames(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	NewMetrics(registry, "v1")
	registry.MustRegister(NewLeaseCollector(renewal.New(renewal.Options{})))
	want := []string{"leasehold_build_info/v1", "leasehold_lease_margin_seconds", "leasehold_leases_lost_total",
		"leasehold_ownership_uncertain_total", "leasehold_overlap_seconds", "leasehold_stop_duration_seconds",
		"leasehold_store_reachable", "leasehold_takeover_seconds", "leasehold_wait_seconds"}
	for prefix, labels := range map[string][]string{
		"leasehold_lease_requests_total/": {"granted", "denied", "unknown", "unreachable", "quarantined"},
		"leasehold_renewals_total/":       {"confirmed", "late", "lost", "not_executed", "unknown"},
		"leasehold_leases/":               {"Acquiring", "Adopting", "Held", "Lost", "Uncertain", "Halted"},
		"leasehold_reportjobs/": {"Pending", "Waiting", "Starting", "Running", "Stopping", "Completing", "Succeeded", "Failed",
			"Skipped"},
		"leasehold_transitions_total/": {"lease_waiting", "store_unreachable", "store_reachable", "lease_acquire_unknown",
			"lease_acquired", "guard_off", "lease_adopting", "lease_adopted", "job_created", "job_refused", "report_running",
			"lease_lost", "lease_unused", "lease_quarantined",
			"ownership_uncertain", "job_stop_requested", "job_stop_confirmed", "report_succeeded", "report_failed",
			"lease_released", "lease_lapses", "report_finished", "wait_timeout", "report_skipped", "report_retrying",
			"report_suspended", "report_resumed", "job_stop_unconfirmed", "token_superseded", "force_release_ignored",
			"lease_key_not_allowed"},
		"leasehold_skipped_total/":   {"LeaseHeldByOther", "SiblingAlive", "WaitTimeout"},
		"leasehold_runtime_seconds/": {"Succeeded", "Failed", "Stopped"},
	} {
		for _, label := range labels {
			want = append(want, prefix+label)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(series(t, registry)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMetricsCountTransitionsAndPhases(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry, "v1")
	before := series(t, registry)
	at := metav1.NewMicroTime(time.Unix(1000, 0))
	later := metav1.NewMicroTime(time.Unix(1004, 0))
	status := &v1alpha1.ReportJobStatus{Stop: &v1alpha1.Stop{RequestedAt: at, ConfirmedAt: &later}}
	for _, event := range []string{plan.EventAcquired, plan.EventWaiting, plan.EventLost, plan.EventUncertain,
		plan.EventStopConfirmed} {
		m.count(&plan.Transition{Event: event, At: later.Time}, status)
	}
	m.Renewed(renewal.Confirmed)
	m.StoreReachable(true)
	first, second := types.NamespacedName{Name: "first"}, types.NamespacedName{Name: "second"}
	m.sawPhase(first, v1alpha1.PhaseWaiting)
	m.sawPhase(first, v1alpha1.PhaseRunning)
	m.sawPhase(second, v1alpha1.PhaseRunning)
	m.dismiss(second)
	m.sawPhase(second, "")
	changed := map[string]float64{}
	for name, value := range series(t, registry) {
		if value != before[name] {
			changed[name] = value - before[name]
		}
	}
	want := map[string]float64{
		"leasehold_transitions_total/lease_acquired": 1, "leasehold_transitions_total/lease_waiting": 1,
		"leasehold_transitions_total/lease_lost": 1, "leasehold_transitions_total/ownership_uncertain": 1,
		"leasehold_transitions_total/job_stop_confirmed": 1, "leasehold_lease_requests_total/granted": 1,
		"leasehold_lease_requests_total/denied": 1, "leasehold_leases_lost_total": 1,
		"leasehold_ownership_uncertain_total": 1, "leasehold_stop_duration_seconds": 1,
		"leasehold_renewals_total/confirmed": 1, "leasehold_store_reachable": 1, "leasehold_reportjobs/Running": 1,
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTimesAreReadOffTheStatus(t *testing.T) {
	t.Parallel()
	at := func(second int64) metav1.MicroTime { return metav1.NewMicroTime(time.Unix(second, 0)) }
	since, started := at(1000), metav1.NewTime(time.Unix(1010, 0))
	status := &v1alpha1.ReportJobStatus{
		WaitingSince: &since, Execution: &v1alpha1.Execution{StartedAt: &started},
		Attempts: []v1alpha1.Attempt{{EndedAt: at(500)}, {EndedAt: at(1001)}},
		Stop:     &v1alpha1.Stop{Reason: v1alpha1.ReasonLeaseLost, RequestedAt: at(1019)},
	}
	done := status.DeepCopy()
	done.Completion = &v1alpha1.Completion{Outcome: v1alpha1.OutcomeStopped}
	for name, tc := range map[string]struct {
		event  string
		second int64
		status *v1alpha1.ReportJobStatus
		want   map[string]float64
	}{
		"a wait":               {plan.EventAcquired, 1005, status, map[string]float64{"leasehold_wait_seconds": 5}},
		"a takeover":           {plan.EventJobCreated, 1006, status, map[string]float64{"leasehold_takeover_seconds": 5}},
		"a first Job":          {plan.EventJobCreated, 1006, &v1alpha1.ReportJobStatus{}, map[string]float64{}},
		"a clock that is late": {plan.EventAcquired, 990, status, map[string]float64{"leasehold_wait_seconds": 0}},
		"a stop after a loss": {plan.EventStopConfirmed, 1020, done, map[string]float64{"leasehold_stop_duration_seconds": 1,
			"leasehold_overlap_seconds": 1, "leasehold_runtime_seconds/Stopped": 10}},
		"a superseded execution": {plan.EventSuperseded, 1030, done, map[string]float64{"leasehold_runtime_seconds/Stopped": 20}},
		"an end before a start":  {plan.EventFailed, 1030, &v1alpha1.ReportJobStatus{}, map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			NewMetrics(registry, "v1").count(&plan.Transition{Event: tc.event, At: time.Unix(tc.second, 0)}, tc.status)
			if diff := cmp.Diff(tc.want, sums(t, registry)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// sums are those of the histograms that observed something.
func sums(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	gather(t, registry, func(name string, metric *dto.Metric) {
		if metric.GetHistogram().GetSampleCount() > 0 {
			values[name] = metric.GetHistogram().GetSampleSum()
		}
	})
	return values
}
