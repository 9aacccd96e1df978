package controller

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// series returns the value of every series of a registry by its name and its one label's value; of a histogram, its count.
func series(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += "/" + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestMetricsExistFromTheStartUnderTheirNames(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	NewMetrics(registry, "v1")
	registry.MustRegister(NewLeaseCollector(renewal.New(renewal.Options{})))
	want := []string{"leasehold_build_info/v1", "leasehold_lease_margin_seconds", "leasehold_leases_lost_total",
		"leasehold_ownership_uncertain_total", "leasehold_stop_duration_seconds", "leasehold_store_reachable"}
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
			"lease_released", "lease_lapses", "report_finished", "wait_timeout"},
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
		m.count(&plan.Transition{Event: event}, status)
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
