package controller

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// fixture is one operator with a namespace of its own. Its Reconcile is called by hand and reads without a cache.
type fixture struct {
	*ReportJobReconciler
	t         *testing.T
	api       client.WithWatch
	namespace string
	store     *leasetest.Faults
	engine    *renewal.Engine
	clock     *testclock.FakePassiveClock
	told      *told
	registry  *prometheus.Registry
	// changed receives the subjects that the engine notifies about.
	changed chan renewal.Subject
}

// told is what was announced.
type told struct {
	mu     sync.Mutex
	events []string
	lines  []map[string]any
}

// newStore is a Redis of the test's own, whose requests can be made to go wrong.
func newStore(t *testing.T) *leasetest.Faults {
	t.Helper()
	address, _ := leasetest.StartRedis(t)
	store := redis.New(redis.Options{Address: address})
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return leasetest.NewFaults(store)
}

// noon is when every test begins.
var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	api, namespace := newNamespace(t)
	f := &fixture{t: t, api: api, namespace: namespace, store: newStore(t), clock: testclock.NewFakePassiveClock(noon)}
	f.start()
	return f
}

// start puts a new operator process to work on what is there.
func (f *fixture) start() {
	f.t.Helper()
	changed := make(chan renewal.Subject, 100)
	f.changed, f.told, f.registry = changed, &told{}, prometheus.NewRegistry()
	f.engine = renewal.New(renewal.Options{Store: f.store, Notify: func(subject renewal.Subject) { changed <- subject }})
	f.ReportJobReconciler = &ReportJobReconciler{
		Client: f.api, Live: f.api, Store: f.store, Leases: f.engine,
		Recorder: f.told, Metrics: NewMetrics(f.registry, "test"),
		Log:   funcr.NewJSON(f.told.line, funcr.Options{}),
		Clock: f.clock, Random: rand.Reader,
		Jitter: func(d time.Duration) time.Duration { return d },
	}
}

// runEngine lets the engine renew until the test ends.
func (f *fixture) runEngine() {
	ctx, cancel := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	engine := f.engine
	running.Go(func() { _ = engine.Run(ctx) })
	f.t.Cleanup(func() { cancel(); running.Wait() })
}

// awaitSignal waits for the engine's word about the only ReportJob.
func (f *fixture) awaitSignal() {
	f.t.Helper()
	select {
	case <-f.changed:
	case <-f.t.Context().Done():
		f.t.Fatal("no signal")
	}
}

// line takes a log line.
func (a *told) line(object string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var line map[string]any
	if err := json.Unmarshal([]byte(object), &line); err != nil {
		line = map[string]any{"unreadable": object}
	}
	a.lines = append(a.lines, line)
}

// Eventf takes an event.
func (a *told) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := regarding.(client.Object).GetName()
	a.events = append(a.events, strings.Join([]string{name, eventType, reason, fmt.Sprintf(note, args...)}, " "))
}

var _ events.EventRecorder = &told{}

// eventReasons are the reasons of all events so far.
func (a *told) eventReasons() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	reasons := make([]string, len(a.events))
	for i, event := range a.events {
		reasons[i] = strings.Fields(event)[2]
	}
	return reasons
}

func (f *fixture) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: f.namespace, Name: name}
}

// create applies a ReportJob. edit may be nil.
func (f *fixture) create(name string, edit func(*v1alpha1.ReportJob)) {
	f.t.Helper()
	reportJob := &v1alpha1.ReportJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace},
		Spec:       v1alpha1.ReportJobSpec{JobID: "revenue", Retry: v1alpha1.Retry{MaxAttempts: 1}},
	}
	reportJob.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "report", Image: "report:1", Command: []string{"report"}},
	}
	if edit != nil {
		edit(reportJob)
	}
	if err := f.api.Create(f.t.Context(), reportJob); err != nil {
		f.t.Fatal(err)
	}
}

// fast renews every quarter of a second.
func fast(reportJob *v1alpha1.ReportJob) {
	reportJob.Spec.LeaseDuration, reportJob.Spec.RenewalInterval = "6s", "250ms"
	reportJob.Spec.StopGracePeriod = "2s"
}

func (f *fixture) get(name string) *v1alpha1.ReportJob {
	f.t.Helper()
	var reportJob v1alpha1.ReportJob
	if err := f.api.Get(f.t.Context(), f.key(name), &reportJob); err != nil {
		f.t.Fatal(err)
	}
	return &reportJob
}

// reconcile reconciles once and expects no error.
func (f *fixture) reconcile(name string) ctrl.Result {
	f.t.Helper()
	result, err := f.Reconcile(f.t.Context(), ctrl.Request{NamespacedName: f.key(name)})
	if err != nil {
		f.t.Fatalf("reconcile %s: %v", name, err)
	}
	return result
}

// settle reconciles until the ReportJob changes no more, as the watch of its own writes would have it, and returns it.
func (f *fixture) settle(name string) *v1alpha1.ReportJob {
	f.t.Helper()
	for range 10 {
		before := f.get(name).ResourceVersion
		f.reconcile(name)
		if after := f.get(name); after.ResourceVersion == before {
			return after
		}
	}
	f.t.Fatalf("%s does not come to rest: %+v", name, f.get(name).Status)
	return nil
}

// expect settles and compares the phase and its reason.
func (f *fixture) expect(name string, phase v1alpha1.Phase, reason string) *v1alpha1.ReportJob {
	f.t.Helper()
	reportJob := f.settle(name)
	if reportJob.Status.Phase != phase || reportJob.Status.Reason != reason {
		f.t.Fatalf("%s is %s (%s: %s), want %s (%s)", name, reportJob.Status.Phase, reportJob.Status.Reason,
			reportJob.Status.Message, phase, reason)
	}
	return reportJob
}

func termIn(t *testing.T, reportJob *v1alpha1.ReportJob) lease.Term {
	t.Helper()
	term, err := refOf(reportJob.Status.Execution).term()
	if err != nil {
		t.Fatal(err)
	}
	return term
}
