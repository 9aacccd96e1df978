//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// retries is the YAML of a report that is tried again at once.
func retries(attempts int) string {
	return fmt.Sprintf("\n  retry: {maxAttempts: %d, backoff: 1s}", attempts)
}

func TestAFailedReportIsTriedAgainAndSaysWhatStartedIt(t *testing.T) {
	t.Parallel()
	const trigger = `{"kind":"Kafka","kafka":{"topic":"reports","partition":3,"offset":991,"messageID":"m-17"}}`
	apply(t, report{name: "retried", jobID: "retried", timing: shortTiming, more: retries(2) + "\n  trigger: " + trigger,
		script: `echo "$LEASEHOLD_TRIGGER $LEASEHOLD_RETRY_OF"; sleep 1; exit $((2 - LEASEHOLD_ATTEMPT))`}.manifest())
	ended := waitForPhase(t, "retried", v1alpha1.PhaseSucceeded, time.Minute)
	if len(ended.Status.Attempts) != 1 {
		t.Fatalf("attempts: %+v", ended.Status.Attempts)
	}
	first, second := ended.Status.Attempts[0], ended.Status.Execution
	checkSecondAttempt(t, &first, second)
	for pod, want := range map[string]string{first.Pod: trigger + " ", second.Pod: trigger + " " + first.ExecutionID} {
		if logs := strings.TrimSuffix(kubectl(t, "logs", pod), "\n"); logs != want {
			t.Errorf("pod %s said %q, want %q", pod, logs, want)
		}
	}
	recorded, err := json.Marshal(second.Trigger)
	if diff := cmp.Diff(trigger, string(recorded)); diff != "" || err != nil {
		t.Errorf("trigger in the status (-want +got): %v\n%s", err, diff)
	}
	checkEvents(t, "retried", v1alpha1.EventReportRetrying, v1alpha1.EventReportSucceeded)
}

func checkSecondAttempt(t *testing.T, first *v1alpha1.Attempt, second *v1alpha1.Execution) {
	t.Helper()
	if first.Reason != v1alpha1.ReasonPodFailed || first.ExitCode == nil || *first.ExitCode != 1 {
		t.Errorf("the first attempt: %+v", first)
	}
	if second.RetryOf != first.ExecutionID || second.Attempt != 2 || second.Token <= first.Token {
		t.Errorf("the second attempt: %+v", second)
	}
}

func TestEachWayToDieHasItsReasonAndIsFollowedByAnotherAttempt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, memory string
		kill           func(t *testing.T, rj *v1alpha1.ReportJob)
		reason         string
	}{
		"killed":  {script: stubbornScript, kill: killProcess, reason: v1alpha1.ReasonPodFailed},
		"oom":     {script: "sleep 1; tail /dev/zero", memory: "24Mi", reason: v1alpha1.ReasonOOMKilled},
		"evicted": {script: "trap 'exit 143' TERM; while :; do sleep 0.2; done", kill: evict, reason: v1alpha1.ReasonPodDisrupted},
		"deleted": {script: stubbornScript, kill: deletePod, reason: v1alpha1.ReasonPodDisrupted},
		"stolen":  {script: obedientScript, kill: stealFor(3 * time.Second), reason: v1alpha1.ReasonLeaseLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apply(t, report{name: name, jobID: name, timing: shortTiming, more: retries(3), memory: tc.memory,
				script: "if [ $LEASEHOLD_ATTEMPT = 2 ]; then exit 0; fi; " + tc.script}.manifest())
			if tc.kill != nil {
				tc.kill(t, waitForPhase(t, name, v1alpha1.PhaseRunning, time.Minute))
			}
			ended := waitForPhase(t, name, v1alpha1.PhaseSucceeded, time.Minute)
			if len(ended.Status.Attempts) != 1 || ended.Status.Attempts[0].Reason != tc.reason {
				t.Errorf("attempts %+v, want one with reason %s", ended.Status.Attempts, tc.reason)
			}
		})
	}
}

// killProcess is a crash: SIGKILL from the node, of which nobody is told.
func killProcess(t *testing.T, rj *v1alpha1.ReportJob) {
	t.Helper()
	signalContainer(t, podOf(t, rj), "SIGKILL")
}

func evict(t *testing.T, rj *v1alpha1.ReportJob) {
	t.Helper()
	pod := rj.Status.Execution.Pod
	body := fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":%q}}`, pod, namespace)
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", namespace, pod)
	if _, stderr, err := tryKubectl(t.Context(), body, "create", "--raw", path, "-f", "-"); err != nil {
		t.Fatalf("evict %s: %v\n%s", pod, err, stderr)
	}
}

func deletePod(t *testing.T, rj *v1alpha1.ReportJob) {
	t.Helper()
	kubectl(t, "delete", "pod", rj.Status.Execution.Pod, "--wait=false")
}

// stealFor lets a thief have the lease for a while.
func stealFor(d time.Duration) func(*testing.T, *v1alpha1.ReportJob) {
	return func(t *testing.T, rj *v1alpha1.ReportJob) {
		t.Helper()
		redis(t, "SET", rj.Status.Execution.LeaseKey, thief, "PX", fmt.Sprint(d.Milliseconds()))
	}
}

func TestASuspendedReportIsStoppedAndBeginsAnew(t *testing.T) {
	t.Parallel()
	apply(t, report{name: "suspended", jobID: "suspended", timing: shortTiming,
		script: "trap 'exit 143' TERM; sleep 5 & wait $!; [ $LEASEHOLD_ATTEMPT = 2 ]"}.manifest())
	running := waitForPhase(t, "suspended", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, running)))
	kubectl(t, "patch", "reportjob", "suspended", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	kubectl(t, "wait", "--for=condition=Suspended", "--timeout=60s", "reportjob/suspended")
	if process.alive() {
		t.Error("the report is suspended and the container runtime still shows it")
	}
	if got := redis(t, "EXISTS", running.Status.Execution.LeaseKey); got != "0" {
		t.Errorf("the lease of a suspended report is still in Redis: EXISTS says %s", got)
	}
	kubectl(t, "patch", "reportjob", "suspended", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	ended := waitForPhase(t, "suspended", v1alpha1.PhaseSucceeded, time.Minute)
	if ended.Status.FailedAttempts != 0 || ended.Status.Execution.Attempt != 2 {
		t.Errorf("failed attempts %d, attempt %d", ended.Status.FailedAttempts, ended.Status.Execution.Attempt)
	}
}

func TestASkippingReportLeavesATraceAndAFinishedOneIsCleanedUp(t *testing.T) {
	t.Parallel()
	apply(t, report{name: "runs", jobID: "taken", timing: shortTiming, script: "sleep 8"}.manifest())
	holder := waitForPhase(t, "runs", v1alpha1.PhaseRunning, time.Minute)
	apply(t, report{name: "skips", jobID: "taken", timing: shortTiming, script: quickScript,
		more: "\n  contention: {policy: Skip}\n  ttlSecondsAfterFinished: 3"}.manifest())
	skipped := waitForPhase(t, "skips", v1alpha1.PhaseSkipped, 30*time.Second)
	if !strings.Contains(skipped.Status.Message, holder.Status.Execution.Token) {
		t.Errorf("the message does not name the holder's token: %s", skipped.Status.Message)
	}
	kubectl(t, "wait", "--for=delete", "--timeout=30s", "reportjob/skips")
	waitForPhase(t, "runs", v1alpha1.PhaseSucceeded, time.Minute)
}
