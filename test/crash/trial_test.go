//go:build crash

package crash

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

const (
	// patience bounds one trial: a lease that must run out first, and all that a node does, several times over.
	patience = 90 * time.Second
	// untouched is how long a trial that has come to its end waits for a crash that is to come after it.
	untouched = 3 * time.Second
	// leaseRest is the longest that a lease may outlive its report: its duration and a second.
	leaseRest = 7 * time.Second

	namespacePrefix = "crash-"
)

// suite is what all trials share.
type suite struct {
	client  client.Client
	redis   string
	scripts map[string]string
	trials  atomic.Int32
	// leaving are the namespaces that are being deleted, by name.
	leaving sync.Map
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(cluster, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	address, _ := leasetest.StartRedis(t)
	s := &suite{client: c, redis: address, scripts: scripts(t)}
	t.Cleanup(func() { s.waitForNamespaces(t) })
	return s
}

// trial is one life of a ReportJob in a namespace of its own, and the operators that looked after it, one after the other.
type trial struct {
	*suite
	life       lifecycle
	point      crashPoint
	namespace  string
	witness    witness
	operators  []*operator
	interfered bool
	// endedAt is when its end was first seen.
	endedAt time.Time
}

// result is what a trial came to.
type result struct {
	end     string
	seconds float64
	// reached says that the operator died where it was to.
	reached bool
	// writes are those of the operator that was to die.
	writes []string
}

// try runs one trial and checks all but its end.
func (s *suite) try(t *testing.T, life lifecycle, point crashPoint) result {
	t.Helper()
	tr := &trial{suite: s, life: life, point: point, witness: newWitness(t),
		namespace: fmt.Sprintf("%s%d", namespacePrefix, s.trials.Add(1))}
	tr.makeNamespace(t)
	tr.nextOperator(t)
	begun := time.Now()
	if err := tr.client.Create(t.Context(), tr.report()); err != nil {
		t.Fatal(err)
	}
	r := result{}
	waitUntil(t, patience, tr.describe, func() bool {
		r.end = tr.look(t)
		return r.end != ""
	})
	r.seconds = tr.endedAt.Sub(begun).Seconds()
	armed := tr.operators[min(life.armed, len(tr.operators)-1)]
	r.reached, r.writes = armed.gate.isDead(), armed.gate.seen()
	tr.checkRemains(t)
	return r
}

// look takes the trial one step further, and returns its end when it has come to it.
func (tr *trial) look(t *testing.T) string {
	t.Helper()
	seen := tr.living(t).sees()
	end, running := tr.state(t)
	if running && !tr.interfered && tr.life.interfere != nil {
		tr.interfered = true
		tr.life.interfere(t, tr)
	}
	if end == "" || !tr.isOver(seen) {
		return ""
	}
	return end
}

// living is the operator that lives now: the next one, when the last was killed.
func (tr *trial) living(t *testing.T) *operator {
	t.Helper()
	if tr.operators[len(tr.operators)-1].gate.isDead() {
		tr.nextOperator(t)
	}
	last := tr.operators[len(tr.operators)-1]
	if last.isLost() {
		t.Fatalf("the operator ended by itself:\n%s", last.lastLines())
	}
	return last
}

// isOver says whether an end is the last word: the operator that follows the one to be killed has seen it too, or the one to be
// killed has nothing left to write.
func (tr *trial) isOver(seen bool) bool {
	if tr.endedAt.IsZero() {
		tr.endedAt = time.Now()
	}
	wanted := tr.life.armed + 1
	if tr.point != (crashPoint{}) {
		wanted++
	}
	if len(tr.operators) < wanted {
		return time.Since(tr.endedAt) > untouched
	}
	return seen
}

// nextOperator starts the first operator, or the one after a crash.
func (tr *trial) nextOperator(t *testing.T) {
	t.Helper()
	var point crashPoint
	if len(tr.operators) == tr.life.armed {
		point = tr.point
	}
	var flags []string
	if tr.life.elected {
		flags = []string{"--leader-elect", "--leader-election-namespace", tr.namespace}
	}
	tr.operators = append(tr.operators, tr.startOperator(t, tr.namespace, point, flags...))
}

// state reads the ReportJob: its end, if it has come to one and nothing holds it any more, and whether it runs.
func (tr *trial) state(t *testing.T) (end string, running bool) {
	t.Helper()
	rj := tr.report()
	err := tr.client.Get(t.Context(), client.ObjectKeyFromObject(rj), rj)
	switch {
	case apierrors.IsNotFound(err):
		return gone, false
	case err != nil:
		t.Fatal(err)
	case meta.IsStatusConditionTrue(rj.Status.Conditions, v1alpha1.ConditionFinished) && len(rj.Finalizers) == 0:
		return fmt.Sprintf("%s, %s", rj.Status.Phase, rj.Status.Reason), false
	}
	return "", rj.Status.Phase == v1alpha1.PhaseRunning
}

// checkRemains looks at what is left when the ReportJob has ended.
func (tr *trial) checkRemains(t *testing.T) {
	t.Helper()
	waitUntil(t, leaseRest, func() string { return "the lease is neither given back nor run out" }, func() bool {
		return ask(t, tr.redis, "GET", tr.key()) == tr.life.keyAtEnd
	})
	var granted []string
	for _, o := range tr.operators {
		granted = append(granted, o.redis.tokens()...)
	}
	tr.witness.check(t, granted)
}

// describe tells where a trial stands that does not come to its end.
func (tr *trial) describe() string {
	text := fmt.Sprintf("%s, killed after %q %s: no end in namespace %s", tr.life.name, tr.point.write, tr.point.moment,
		tr.namespace)
	for i, o := range tr.operators {
		text += fmt.Sprintf("\n\noperator %d wrote %q\n%s", i, o.gate.seen(), o.lastLines())
	}
	return text
}

// waitUntil looks twenty times a second until something holds.
func waitUntil(t *testing.T, limit time.Duration, what func() string, holds func() bool) {
	t.Helper()
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for end := time.Now().Add(limit); !holds(); <-ticks.C {
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", limit, what())
		}
	}
}
