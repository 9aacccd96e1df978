//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

const operatorSelector = "app.kubernetes.io/name=leasehold"

// The tests of this file take Redis or the operator away, so they run alone: none calls t.Parallel.

func stopRedis(t *testing.T) {
	t.Helper()
	kubectl(t, "-n", operatorNamespace, "scale", "deployment/redis", "--replicas=0")
	kubectl(t, "-n", operatorNamespace, "wait", "--for=delete", "pod", "-l", "app.kubernetes.io/name=redis", "--timeout=60s")
	t.Cleanup(func() { startRedis(t) })
}

func startRedis(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"scale", "deployment/redis", "--replicas=1"},
		{"rollout", "status", "deployment/redis", "--timeout=60s"},
	} {
		if _, stderr, err := tryKubectl(ctx, "", append([]string{"-n", operatorNamespace}, args...)...); err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, stderr)
		}
	}
}

func TestReportWaitsWhileRedisIsAwayAndProceedsByItself(t *testing.T) {
	stopRedis(t)
	apply(t, report{name: "away", jobID: "away", timing: shortTiming, script: quickScript}.manifest())
	waiting := waitFor(t, "away", state{"waiting for Redis", time.Minute, func(rj *v1alpha1.ReportJob) bool {
		return rj.Status.Phase == v1alpha1.PhaseWaiting &&
			meta.IsStatusConditionFalse(rj.Status.Conditions, v1alpha1.ConditionStoreReachable)
	}})
	condition := meta.FindStatusCondition(waiting.Status.Conditions, v1alpha1.ConditionStoreReachable)
	if !strings.Contains(condition.Message, "redis.leasehold-system.svc:6379") {
		t.Errorf("the message does not name the address: %s", condition.Message)
	}
	if jobs := kubectl(t, "get", "jobs", "-l", v1alpha1.LabelReportJob+"=away", "-o", "name"); jobs != "" {
		t.Errorf("a Job exists without a lease: %s", jobs)
	}
	startRedis(t)
	waitForPhase(t, "away", v1alpha1.PhaseSucceeded, time.Minute)
}

func TestReportIsDeadBeforeItsLeaseRunsOutWhenRedisStaysAway(t *testing.T) {
	apply(t, report{name: "uncertain", jobID: "uncertain", timing: shortTiming, script: obedientScript}.manifest())
	rj := waitForPhase(t, "uncertain", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, rj)))
	lastConfirmedBefore := time.Now()
	stopRedis(t)
	death := process.death(t, time.Minute)
	// No renewal succeeded after Redis was gone, which was after this instant plus the time kubectl took; the lease of the
	// last one ends 15 s after it was sent, and the report must be dead at 12 s.
	if lived := death.Sub(lastConfirmedBefore); lived > 15*time.Second {
		t.Errorf("the report lived for %v after Redis began to stop, with a lease of 15 s", lived)
	}
	checkStopped(t, "uncertain", v1alpha1.ReasonOwnershipUncertain, death)
}

func TestReportOutlivesAKilledOperator(t *testing.T) {
	apply(t, report{name: "survivor", jobID: "survivor", script: "sleep 25; echo done"}.manifest())
	before := waitForPhase(t, "survivor", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, before)))
	killOperator(t)
	after := waitForPhase(t, "survivor", v1alpha1.PhaseSucceeded, 2*time.Minute)
	process.death(t, time.Second)
	if before.Status.Execution.ID != after.Status.Execution.ID || after.Status.Execution.Attempt != 1 {
		t.Errorf("execution changed: %+v, then %+v", before.Status.Execution, after.Status.Execution)
	}
	checkEvents(t, "survivor", v1alpha1.EventLeaseAdopted, v1alpha1.EventReportSucceeded)
}

// killOperator kills the operator's process with SIGKILL through the container runtime.
func killOperator(t *testing.T) {
	t.Helper()
	var pods corev1.PodList
	getJSON(t, &pods, "-n", operatorNamespace, "pods", "-l", operatorSelector, "--field-selector=status.phase=Running")
	if len(pods.Items) != 1 {
		t.Fatalf("want one running operator pod, got %d", len(pods.Items))
	}
	signalContainer(t, &pods.Items[0], "SIGKILL")
}

// signalContainer sends a signal to the process of a pod's first container through the container runtime.
func signalContainer(t *testing.T, pod *corev1.Pod, signal string) {
	t.Helper()
	id := containerID(t, pod)
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack/cluster/cluster"), "ctr", "tasks", "kill", "-s", signal, id)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ctr tasks kill -s %s %s: %v\n%s", signal, id, err, out)
	}
}

func TestNothingStartsBesideALivingReportWhenRedisLosesItsData(t *testing.T) {
	apply(t, report{name: "forgotten", jobID: "forgotten", timing: shortTiming, script: stubbornScript}.manifest())
	first := waitForPhase(t, "forgotten", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, first)))
	apply(t, report{name: "successor", jobID: "forgotten", timing: shortTiming, script: quickScript}.manifest())
	waitForPhase(t, "successor", v1alpha1.PhaseWaiting, 30*time.Second)
	if !process.alive() {
		t.Fatal("the first report ended before the second was seen waiting: the test shows nothing")
	}
	redis(t, "FLUSHALL")
	death := process.death(t, time.Minute)
	second := waitForPhase(t, "successor", v1alpha1.PhaseSucceeded, 2*time.Minute)
	if !death.Before(second.Status.Execution.AcquiredAt.Time) {
		t.Errorf("the first was alive at %v, the second got the lease at %v", death, second.Status.Execution.AcquiredAt)
	}
	if older, newer := token(t, first), token(t, second); newer <= older {
		t.Errorf("tokens do not increase: %d then %d", older, newer)
	}
	checkStopped(t, "forgotten", v1alpha1.ReasonLeaseLost, death)
}
