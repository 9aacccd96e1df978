//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// frozenFor is how long a leader stands still: the next one leads after 15 to 19 s, and has adopted every report by then. The
// kubelet restarts a container that is silent for a minute.
const frozenFor = 38 * time.Second

// The test takes the leader away, so it runs alone: it does not call t.Parallel.

func TestALeaderThatStoodStillLeavesReportsToItsSuccessor(t *testing.T) {
	scaleOperator(t)
	apply(t, report{name: "adopted", jobID: "adopted", script: "sleep 75; echo done"}.manifest())
	before := waitForPhase(t, "adopted", v1alpha1.PhaseRunning, time.Minute)
	former := leader(t)
	signalContainer(t, former, "SIGSTOP")
	stopped := time.Now()
	t.Cleanup(func() {
		_, _, _ = tryKubectl(context.Background(), "", "-n", operatorNamespace, "delete", "pod", former.Name)
	})
	waitFor(t, "adopted", state{"looked after by another leader", frozenFor, func(*v1alpha1.ReportJob) bool {
		return leader(t).Name != former.Name
	}})
	waitFor(t, "adopted", state{"frozen for long enough", time.Minute, func(*v1alpha1.ReportJob) bool {
		return time.Since(stopped) > frozenFor
	}})
	signalContainer(t, former, "SIGCONT")
	after := waitForPhase(t, "adopted", v1alpha1.PhaseSucceeded, 2*time.Minute)
	if after.Status.Stop != nil || after.Status.Execution.ID != before.Status.Execution.ID {
		t.Errorf("stop %+v, execution %+v, before %+v", after.Status.Stop, after.Status.Execution, before.Status.Execution)
	}
	checkEvents(t, "adopted", v1alpha1.EventLeaseAdopted, v1alpha1.EventReportSucceeded)
}

// scaleOperator runs two replicas until the test ends.
func scaleOperator(t *testing.T) {
	t.Helper()
	scale := func(ctx context.Context, replicas string) {
		for _, args := range [][]string{
			{"scale", "deployment/leasehold-controller-manager", "--replicas=" + replicas},
			{"rollout", "status", "deployment/leasehold-controller-manager", "--timeout=120s"},
		} {
			if _, stderr, err := tryKubectl(ctx, "", append([]string{"-n", operatorNamespace}, args...)...); err != nil {
				t.Errorf("kubectl %v: %v\n%s", args, err, stderr)
			}
		}
	}
	scale(t.Context(), "2")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		scale(ctx, "1")
	})
}

// leader is the pod that leads by the Lease of leader election.
func leader(t *testing.T) *corev1.Pod {
	t.Helper()
	holder := kubectl(t, "-n", operatorNamespace, "get", "lease", "controller-manager.leasehold.dev", "-o",
		"jsonpath={.spec.holderIdentity}")
	name, _, _ := strings.Cut(holder, "_")
	var pods corev1.PodList
	getJSON(t, &pods, "-n", operatorNamespace, "pods", "-l", operatorSelector)
	for i := range pods.Items {
		if pods.Items[i].Name == name {
			return &pods.Items[i]
		}
	}
	t.Fatalf("no pod of the operator is called %s, which leads: %s", name, holder)
	return nil
}
