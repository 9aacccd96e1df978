package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// timings are the histograms of how long the parts of a report's life take, in seconds. Each is read off what the status says, by
// the clock of the operator that wrote it.
type timings struct {
	wait, takeover, stop, overlap prometheus.Histogram
	runtime                       *prometheus.HistogramVec
}

func newTimings() timings {
	return timings{
		wait: histogram("wait_seconds", "Time for which a ReportJob waited for its lease, when it was granted.",
			[]float64{0.1, 1, 5, 15, 60, 300, 900, 3600, 14400}),
		takeover: histogram("takeover_seconds", "Time from the end of an attempt to the Job of the next one, with backoff.",
			[]float64{0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 900}),
		stop: histogram("stop_duration_seconds", "Time from the order to stop an execution to the proof that no pod of it lives.",
			[]float64{0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300}),
		overlap: histogram("overlap_seconds", "Time from the loss of a lease to the proof that no pod of its execution lives: the most"+
			" for which another execution can have run beside it.",
			[]float64{0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300}),
		runtime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: metricsNamespace, Name: "runtime_seconds",
			Help:    "Time from the start of a report's pod to its end, by outcome.",
			Buckets: []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 43200},
		}, []string{"outcome"}),
	}
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: metricsNamespace, Name: name, Help: help, Buckets: buckets,
	})
}

var outcomes = []v1alpha1.Outcome{v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeFailed, v1alpha1.OutcomeStopped}

func (t *timings) register(registry prometheus.Registerer) {
	for _, outcome := range outcomes {
		t.runtime.WithLabelValues(string(outcome))
	}
	registry.MustRegister(t.wait, t.takeover, t.stop, t.overlap, t.runtime)
}

// observe takes the times that end with a transition.
func (t *timings) observe(transition *plan.Transition, status *v1alpha1.ReportJobStatus) {
	switch transition.Event {
	case plan.EventAcquired:
		if since := status.WaitingSince; since != nil {
			t.wait.Observe(seconds(since.Time, transition.At))
		}
	case plan.EventJobCreated:
		if n := len(status.Attempts); n > 0 {
			t.takeover.Observe(seconds(status.Attempts[n-1].EndedAt.Time, transition.At))
		}
	case plan.EventStopConfirmed:
		t.stopped(transition, status.Stop)
		t.ended(transition, status)
	case plan.EventSuperseded, plan.EventSucceeded, plan.EventFailed:
		t.ended(transition, status)
	default:
	}
}

func (t *timings) stopped(transition *plan.Transition, stop *v1alpha1.Stop) {
	if stop == nil {
		return
	}
	took := seconds(stop.RequestedAt.Time, transition.At)
	t.stop.Observe(took)
	if stop.Reason == v1alpha1.ReasonLeaseLost {
		t.overlap.Observe(took)
	}
}

func (t *timings) ended(transition *plan.Transition, status *v1alpha1.ReportJobStatus) {
	if status.Execution == nil || status.Execution.StartedAt == nil || status.Completion == nil {
		return
	}
	took := seconds(status.Execution.StartedAt.Time, transition.At)
	t.runtime.WithLabelValues(string(status.Completion.Outcome)).Observe(took)
}

// seconds between two instants of a status; never negative, since two operators may have written them.
func seconds(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }
