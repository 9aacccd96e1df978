package controller

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

const metricsNamespace = "leasehold"

// Results of a request for a lease, as the label result of leasehold_lease_requests_total.
const (
	resultGranted     = "granted"
	resultDenied      = "denied"
	resultUnknown     = "unknown"
	resultUnreachable = "unreachable"
	resultQuarantined = "quarantined"
)

// requestResults says which transitions end a request for a lease, and how.
var requestResults = map[string]string{
	plan.EventAcquired:         resultGranted,
	plan.EventWaiting:          resultDenied,
	plan.EventAcquireUnknown:   resultUnknown,
	plan.EventStoreUnreachable: resultUnreachable,
	plan.EventQuarantined:      resultQuarantined,
}

var transitionEvents = []string{
	plan.EventWaiting, plan.EventStoreUnreachable, plan.EventStoreReachable, plan.EventAcquireUnknown, plan.EventAcquired,
	plan.EventQuarantined, plan.EventUnused, plan.EventGuardOff, plan.EventAdopting, plan.EventAdopted,
	plan.EventJobCreated, plan.EventJobRefused, plan.EventRunning,
	plan.EventLost, plan.EventUncertain, plan.EventStopRequested, plan.EventStopConfirmed, plan.EventSucceeded,
	plan.EventFailed, plan.EventReleased, plan.EventLapses, plan.EventFinished, plan.EventWaitTimeout,
	plan.EventSkipped, plan.EventRetrying, plan.EventSuspended, plan.EventResumed, plan.EventStopUnconfirmed,
	plan.EventSuperseded, plan.EventForceReleaseIgnored, plan.EventLeaseKeyNotAllowed,
}

// skipReasons are the reasons for which a ReportJob ends without its lease.
var skipReasons = []string{v1alpha1.ReasonLeaseHeldByOther, v1alpha1.ReasonSiblingAlive, v1alpha1.ReasonWaitTimeout}

var phases = []v1alpha1.Phase{
	v1alpha1.PhasePending, v1alpha1.PhaseWaiting, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning, v1alpha1.PhaseStopping,
	v1alpha1.PhaseCompleting, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseSkipped,
}

var renewalPhases = []renewal.Phase{
	renewal.Acquiring, renewal.Adopting, renewal.Held, renewal.Lost, renewal.Uncertain, renewal.Halted,
}

// Metrics are the operator's own. Their labels take values of fixed sets only, never the name of an object, and each series
// exists from the start, so that an alert on its first increase works.
type Metrics struct {
	requests    *prometheus.CounterVec
	transitions *prometheus.CounterVec
	renewals    *prometheus.CounterVec
	lost        prometheus.Counter
	uncertain   prometheus.Counter
	times       timings
	skipped     *prometheus.CounterVec
	reachable   prometheus.Gauge
	reportJobs  *prometheus.GaugeVec

	mu     sync.Mutex
	phases map[types.NamespacedName]v1alpha1.Phase
}

// NewMetrics registers the operator's metrics.
func NewMetrics(registry prometheus.Registerer, version string) *Metrics {
	m := &Metrics{
		requests: counterVec("lease_requests_total", "Requests for a lease that changed the status of a ReportJob, by result.",
			"result"),
		transitions: counterVec("transitions_total", "Steps in the life of ReportJobs that are written down, by event.", "event"),
		renewals:    counterVec("renewals_total", "Renewals of leases, by outcome.", "outcome"),
		lost:        counter("leases_lost_total", "Executions whose lease Redis said is gone or another's."),
		uncertain:   counter("ownership_uncertain_total", "Executions whose lease was not confirmed in time."),
		times:       newTimings(),
		skipped: counterVec("skipped_total", "ReportJobs that ended without their lease, by reason: it was held, a sibling was"+
			" under way, or it was not free in time.", "reason"),
		reachable: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: metricsNamespace, Name: "store_reachable",
			Help: "1 if Redis answered when it was last asked, else 0.",
		}),
		reportJobs: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: metricsNamespace, Name: "reportjobs", Help: "ReportJobs, by phase.",
		}, []string{"phase"}),
		phases: map[types.NamespacedName]v1alpha1.Phase{},
	}
	m.zeros()
	registry.MustRegister(m.requests, m.transitions, m.renewals, m.lost, m.uncertain, m.skipped, m.reachable, m.reportJobs,
		buildInfo(version))
	m.times.register(registry)
	return m
}

func counterVec(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: metricsNamespace, Name: name, Help: help}, []string{label})
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: metricsNamespace, Name: name, Help: help})
}

func buildInfo(version string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: metricsNamespace, Name: "build_info", Help: "1; the label says which version runs.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	return info
}

func (m *Metrics) zeros() {
	for _, result := range requestResults {
		m.requests.WithLabelValues(result)
	}
	for _, event := range transitionEvents {
		m.transitions.WithLabelValues(event)
	}
	for _, result := range renewal.Results() {
		m.renewals.WithLabelValues(string(result))
	}
	for _, reason := range skipReasons {
		m.skipped.WithLabelValues(reason)
	}
	for _, phase := range phases {
		m.reportJobs.WithLabelValues(string(phase))
	}
}

// Renewed counts a renewal.
func (m *Metrics) Renewed(result renewal.Result) { m.renewals.WithLabelValues(string(result)).Inc() }

// StoreReachable records whether the store answered.
func (m *Metrics) StoreReachable(reachable bool) {
	value := 0.0
	if reachable {
		value = 1
	}
	m.reachable.Set(value)
}

// count counts a transition that is written down in status.
func (m *Metrics) count(transition *plan.Transition, status *v1alpha1.ReportJobStatus) {
	m.transitions.WithLabelValues(transition.Event).Inc()
	if result, ok := requestResults[transition.Event]; ok {
		m.requests.WithLabelValues(result).Inc()
	}
	switch transition.Event {
	case plan.EventLost:
		m.lost.Inc()
	case plan.EventUncertain:
		m.uncertain.Inc()
	case plan.EventSkipped, plan.EventWaitTimeout:
		m.skipped.WithLabelValues(transition.Reason).Inc()
	default:
	}
	m.times.observe(transition, status)
}

// sawPhase keeps the number of ReportJobs in each phase. A ReportJob without a phase is not counted yet.
func (m *Metrics) sawPhase(name types.NamespacedName, phase v1alpha1.Phase) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leave(name)
	if phase != "" {
		m.phases[name] = phase
		m.reportJobs.WithLabelValues(string(phase)).Inc()
	}
}

// follow empties the count: that of the replica that leads is the one that is right.
func (m *Metrics) follow() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.phases {
		m.leave(name)
	}
}

// dismiss takes a ReportJob that is gone out of the count.
func (m *Metrics) dismiss(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leave(name)
}

func (m *Metrics) leave(name types.NamespacedName) {
	if phase, counted := m.phases[name]; counted {
		m.reportJobs.WithLabelValues(string(phase)).Dec()
		delete(m.phases, name)
	}
}

// leaseCollector reads the engine when it is asked: what it says changes many times a second.
type leaseCollector struct {
	leases Leases
	count  *prometheus.Desc
	margin *prometheus.Desc
}

// NewLeaseCollector returns a collector of what the engine knows: leases by phase, and the least trust left in a held one.
func NewLeaseCollector(leases Leases) prometheus.Collector {
	return &leaseCollector{
		leases: leases,
		count: prometheus.NewDesc(metricsNamespace+"_leases",
			"Leases in the renewal engine, by phase; Held are those that are confirmed and renewed.", []string{"phase"}, nil),
		margin: prometheus.NewDesc(metricsNamespace+"_lease_margin_seconds",
			"The least time for which a held lease may still be relied on; 0 if none is held.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *leaseCollector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.count
	descriptions <- c.margin
}

// Collect implements prometheus.Collector.
func (c *leaseCollector) Collect(metrics chan<- prometheus.Metric) {
	counts, least := c.leases.Summary()
	for _, phase := range renewalPhases {
		metrics <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, float64(counts[phase]), string(phase))
	}
	metrics <- prometheus.MustNewConstMetric(c.margin, prometheus.GaugeValue, least.Seconds())
}
