//go:build e2e

package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

func TestReportRunsUnderItsLeaseAndGivesItBack(t *testing.T) {
	t.Parallel()
	apply(t, report{name: "success", jobID: "success", timing: shortTiming, script: "sleep 4; " + quickScript}.manifest())
	rj := waitForPhase(t, "success", v1alpha1.PhaseRunning, time.Minute)
	execution := rj.Status.Execution
	if got, want := redis(t, "GET", execution.LeaseKey), execution.Owner+"|"+execution.Token; got != want {
		t.Errorf("lease in Redis: got %q, want %q", got, want)
	}
	logs := followLogs(t, execution.Pod)
	checkJob(t, rj)
	kubectl(t, "wait", "--for=condition=Finished", "--timeout=60s", "reportjob/success")
	ended := reportJob(t, "success")
	if ended.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Fatalf("phase %s\n%s", ended.Status.Phase, kubectl(t, "describe", "reportjob", "success"))
	}
	if got := redis(t, "EXISTS", execution.LeaseKey); got != "0" {
		t.Errorf("the lease is still in Redis after the report: EXISTS says %s", got)
	}
	wantEnv := "LEASEHOLD_ATTEMPT=1\nLEASEHOLD_EXECUTION_ID=" + execution.ID + "\nLEASEHOLD_FENCING_TOKEN=" + execution.Token +
		"\nLEASEHOLD_JOB_ID=success\nLEASEHOLD_LEASE_KEY=" + execution.LeaseKey +
		"\nLEASEHOLD_OCCURRENCE=\nLEASEHOLD_RETRY_OF=\nLEASEHOLD_TRIGGER=\ndone\n"
	if diff := cmp.Diff(wantEnv, logs()); diff != "" {
		t.Errorf("what the report could know of its lease (-want +got):\n%s", diff)
	}
	wantEvents := []string{v1alpha1.EventLeaseAcquired, v1alpha1.EventGuardOff, v1alpha1.EventJobCreated,
		v1alpha1.EventReportRunning, v1alpha1.EventReportSucceeded, v1alpha1.EventLeaseReleased}
	checkEvents(t, "success", wantEvents...)
}

// checkJob looks at what the API server stored of the Job.
func checkJob(t *testing.T, rj *v1alpha1.ReportJob) {
	t.Helper()
	var job batchv1.Job
	getJSON(t, &job, "job", rj.Status.Execution.Job)
	spec := job.Spec
	got := []any{*spec.Parallelism, *spec.Completions, *spec.BackoffLimit, string(*spec.PodReplacementPolicy),
		*spec.ActiveDeadlineSeconds, string(spec.Template.Spec.RestartPolicy), *spec.Template.Spec.TerminationGracePeriodSeconds}
	want := []any{int32(1), int32(1), int32(0), "Failed", int64(1202), "Never", int64(4)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("job %s (-want +got):\n%s", job.Name, diff)
	}
	pod := podOf(t, rj)
	for where, annotations := range map[string]map[string]string{"job": job.Annotations, "pod": pod.Annotations} {
		if got := annotations[v1alpha1.AnnotationLeaseKey]; got != rj.Status.Execution.LeaseKey {
			t.Errorf("%s: lease key annotation %q", where, got)
		}
	}
	for where, labels := range map[string]map[string]string{"job": job.Labels, "pod": pod.Labels} {
		if got := labels[v1alpha1.LabelFencingToken]; got != rj.Status.Execution.Token {
			t.Errorf("%s: fencing token label %q", where, got)
		}
	}
}

func checkEvents(t *testing.T, name string, want ...string) {
	t.Helper()
	got := eventReasons(t, name)
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("events of %s: %s is missing in %v", name, w, got)
		}
	}
}

func TestSecondReportOfAJobIDWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	apply(t, report{name: "first", jobID: "shared", timing: shortTiming, script: "sleep 6"}.manifest())
	first := waitForPhase(t, "first", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, first)))
	apply(t, report{name: "second", jobID: "shared", timing: shortTiming, script: "sleep 4"}.manifest())
	waiting := waitForPhase(t, "second", v1alpha1.PhaseWaiting, 30*time.Second)
	if !process.alive() {
		t.Fatal("the first report ended before the second was seen waiting: the test shows nothing")
	}
	if waiting.Status.Reason != v1alpha1.ReasonSiblingAlive ||
		!strings.Contains(waiting.Status.Message, "ReportJob first of the same jobID") ||
		!strings.HasPrefix(waiting.Status.Holder, first.Status.Execution.Owner) {
		t.Errorf("status of the waiting one: %s: %s", waiting.Status.Reason, waiting.Status.Message)
	}
	second := waitForPhase(t, "second", v1alpha1.PhaseRunning, time.Minute)
	if process.alive() {
		t.Error("the second report runs and the container runtime still shows the first")
	}
	if death := process.death(t, time.Second); !death.Before(second.Status.Execution.AcquiredAt.Time) {
		t.Errorf("the first was alive at %v, the second got the lease at %v", death, second.Status.Execution.AcquiredAt)
	}
	if older, newer := token(t, first), token(t, second); newer <= older {
		t.Errorf("tokens do not increase: %d then %d", older, newer)
	}
	waitForPhase(t, "second", v1alpha1.PhaseSucceeded, time.Minute)
	waitForPhase(t, "first", v1alpha1.PhaseSucceeded, time.Second)
	checkEvents(t, "second", v1alpha1.EventWaitingForLease, v1alpha1.EventLeaseAcquired)
}

func token(t *testing.T, rj *v1alpha1.ReportJob) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(rj.Status.Execution.Token, 10, 53)
	if err != nil {
		t.Fatalf("token of %s: %v", rj.Name, err)
	}
	return n
}

func TestDeletedReportJobGoesWhenItsReportIsDead(t *testing.T) {
	t.Parallel()
	apply(t, report{name: "deleted", jobID: "deleted", timing: shortTiming, script: stubbornScript}.manifest())
	rj := waitForPhase(t, "deleted", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, rj)))
	kubectl(t, "delete", "reportjob", "deleted", "--wait", "--timeout=60s")
	if process.alive() {
		t.Error("the ReportJob is gone and the container runtime still shows its report")
	}
	if got := redis(t, "EXISTS", rj.Status.Execution.LeaseKey); got != "0" {
		t.Errorf("the lease is still in Redis: EXISTS says %s", got)
	}
}

func TestReportIsStoppedAtMaxRuntime(t *testing.T) {
	t.Parallel()
	timing := `
  leaseDuration: 6s
  renewalInterval: 500ms
  maxRuntime: 8s
  stopGracePeriod: 1s`
	apply(t, report{name: "long", jobID: "long", timing: timing, script: stubbornScript}.manifest())
	running := waitForPhase(t, "long", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, running)))
	process.death(t, time.Minute)
	ended := waitForPhase(t, "long", v1alpha1.PhaseFailed, 30*time.Second)
	if ended.Status.Completion == nil || ended.Status.Completion.Reason != v1alpha1.ReasonMaxRuntimeExceeded {
		t.Errorf("completion: %+v, want reason %s", ended.Status.Completion, v1alpha1.ReasonMaxRuntimeExceeded)
	}
	if !meta.IsStatusConditionTrue(ended.Status.Conditions, v1alpha1.ConditionStopConfirmed) {
		t.Errorf("conditions: %+v", ended.Status.Conditions)
	}
}
