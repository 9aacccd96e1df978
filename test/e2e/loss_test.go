//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// shortGrace is the stopGracePeriod of shortTiming.
const shortGrace = 4 * time.Second

func TestReportWhoseLeaseIsLostIsStoppedWithItsGracePeriod(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		// take makes the report lose its lease.
		take func(t *testing.T, key string)
		// survives is the least time the report lives on after the stop was requested, if it must; diesWithin the most. The
		// witness sees a process for the last time up to one look before it is gone.
		survives, diesWithin time.Duration
	}{
		"stolen-obedient": {script: obedientScript, take: steal, diesWithin: shortGrace - time.Second},
		"stolen-stubborn": {script: stubbornScript, take: steal, survives: shortGrace - time.Second,
			diesWithin: shortGrace + 3*time.Second},
		"removed-obedient": {script: obedientScript, take: remove, diesWithin: shortGrace - time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apply(t, report{name: name, jobID: name, timing: shortTiming, script: tc.script}.manifest())
			rj := waitForPhase(t, name, v1alpha1.PhaseRunning, time.Minute)
			logs := followLogs(t, rj.Status.Execution.Pod)
			process := watchProcess(t, containerID(t, podOf(t, rj)))
			tc.take(t, rj.Status.Execution.LeaseKey)
			death := process.death(t, time.Minute)
			ended := checkStopped(t, name, v1alpha1.ReasonLeaseLost, death)
			lived := death.Sub(ended.Status.Stop.RequestedAt.Time)
			if tc.survives > 0 && lived < tc.survives || lived > tc.diesWithin {
				t.Errorf("the report lived %v after the stop was requested, want %v to %v", lived, tc.survives, tc.diesWithin)
			}
			if got := logs(); !strings.Contains(got, "told to stop") {
				t.Errorf("the report was not told to stop; it printed:\n%s", got)
			}
		})
	}
}

const thief = "somebody-else|1"

func steal(t *testing.T, key string) {
	t.Helper()
	redis(t, "SET", key, thief, "PX", "600000")
	t.Cleanup(func() { // the next run on this cluster asks for the same lease
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, stderr, err := tryKubectl(ctx, "", "-n", operatorNamespace, "exec", "deploy/redis", "--", "redis-cli", "DEL", key)
		if err != nil {
			t.Errorf("take the thief's key out: %v\n%s", err, stderr)
		}
	})
}

func remove(t *testing.T, key string) {
	t.Helper()
	redis(t, "DEL", key)
}

// checkStopped waits for the end of a stopped report and compares what the status says with what the runtime saw.
func checkStopped(t *testing.T, name, reason string, death time.Time) *v1alpha1.ReportJob {
	t.Helper()
	ended := waitForPhase(t, name, v1alpha1.PhaseFailed, time.Minute)
	stop, completion := ended.Status.Stop, ended.Status.Completion
	if stop == nil || stop.ConfirmedAt == nil || completion == nil {
		t.Fatalf("status: %+v", ended.Status)
	}
	if stop.Reason != reason || completion.Outcome != v1alpha1.OutcomeStopped || completion.Reason != reason {
		t.Errorf("stop %+v, completion %+v: want reason %s", stop, completion, reason)
	}
	if stop.ConfirmedAt.Time.Before(death) {
		t.Errorf("stop confirmed at %v, and the process was seen alive at %v", stop.ConfirmedAt, death)
	}
	for _, condition := range []string{v1alpha1.ConditionStopRequested, v1alpha1.ConditionStopConfirmed,
		v1alpha1.ConditionFinished} {
		if !meta.IsStatusConditionTrue(ended.Status.Conditions, condition) {
			t.Errorf("condition %s is not True: %+v", condition, ended.Status.Conditions)
		}
	}
	checkEvents(t, name, v1alpha1.EventStopRequested, v1alpha1.EventStopConfirmed)
	return ended
}
