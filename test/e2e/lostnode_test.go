//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// The test freezes the kubelet, so it runs alone: it does not call t.Parallel. It is done before the control plane takes the node
// for lost, which is 20 s later on the local cluster, and does itself what that would do to the pod.

func TestAPodOfALostNodeIsWaitedForAndSupersededOnRequest(t *testing.T) {
	const timing = `
  leaseDuration: 6s
  renewalInterval: 500ms
  stopGracePeriod: 1s`
	apply(t, report{name: "lost", jobID: "lost", timing: timing, more: retries(2),
		script: "[ $LEASEHOLD_ATTEMPT = 2 ] && exit 0; " + stubbornScript}.manifest())
	running := waitForPhase(t, "lost", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, running)))
	signalPart(t, "kubelet", "STOP")
	t.Cleanup(func() { signalPart(t, "kubelet", "CONT") })
	// Without a time the disruption controller takes the condition for stale, and takes it back.
	condition := fmt.Sprintf(`{"type":"DisruptionTarget","status":"True","reason":"DeletionByTaintManager","lastTransitionTime":%q}`,
		time.Now().UTC().Format(time.RFC3339))
	kubectl(t, "patch", "pod", running.Status.Execution.Pod, "--subresource=status", "-p",
		`{"status":{"conditions":[`+condition+`]}}`)
	kubectl(t, "delete", "pod", running.Status.Execution.Pod, "--wait=false")
	waitFor(t, "lost", state{"told that the stop is not confirmed", 20 * time.Second, func(rj *v1alpha1.ReportJob) bool {
		return meta.IsStatusConditionPresentAndEqual(rj.Status.Conditions, v1alpha1.ConditionStopConfirmed, metav1.ConditionUnknown)
	}})
	kubectl(t, "patch", "reportjob", "lost", "--type=merge", "-p", `{"spec":{"lostNode":"FenceAndTakeOver"}}`)
	second := waitFor(t, "lost", state{"on its second attempt", 20 * time.Second, func(rj *v1alpha1.ReportJob) bool {
		return rj.Status.Execution != nil && rj.Status.Execution.Attempt == 2 && rj.Status.Execution.JobUID != ""
	}})
	if !process.alive() {
		t.Error("the old process is gone: the test shows nothing")
	}
	if first := second.Status.Attempts[0]; !first.Superseded || first.Reason != v1alpha1.ReasonNodeLost ||
		first.Token >= second.Status.Execution.Token {
		t.Errorf("the first attempt: %+v, the second: %+v", first, second.Status.Execution)
	}
	signalPart(t, "kubelet", "CONT")
	waitForPhase(t, "lost", v1alpha1.PhaseSucceeded, time.Minute)
	process.death(t, 30*time.Second)
	checkEvents(t, "lost", v1alpha1.EventStopUnconfirmed, v1alpha1.EventTokenSuperseded, v1alpha1.EventReportRetrying)
}

// signalPart sends a signal to a part of the cluster.
func signalPart(t *testing.T, part, signal string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // what is frozen must not stay so
	out, err := exec.CommandContext(ctx, filepath.Join(root, "hack/cluster/cluster"), "signal", part, signal).CombinedOutput()
	if err != nil {
		t.Errorf("SIG%s to %s: %v\n%s", signal, part, err, out)
	}
}
