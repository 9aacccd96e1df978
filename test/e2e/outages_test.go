//go:build e2e && outages

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

const (
	// hundred is how many reports run while things go wrong.
	hundred = 100
	// apiAway is how long the API server stands still.
	apiAway = 5 * time.Minute
)

// Reports with the default times, 30s, 5s and 20m, run through the death of the leader, a rollout and five minutes without an API
// server, and none of them notices. One more has its time in the middle of the last one. The test takes the cluster's parts away,
// so it runs alone.

func TestAHundredReportsOutliveTheirOperatorsAndTheAPIServer(t *testing.T) {
	scaleOperator(t)
	applyHundred(t)
	before := waitForHundred(t, "running", func(rj *v1alpha1.ReportJob) bool { return rj.Status.Phase == v1alpha1.PhaseRunning })

	former := leader(t)
	signalContainer(t, former, "SIGKILL")
	killed := time.Now()
	waitForHundred(t, "adopted", adoptedSince(killed))
	t.Logf("adopted_after_sigkill_s %.1f", time.Since(killed).Seconds())
	checkHundred(t, before)

	rolled := time.Now()
	kubectl(t, "-n", operatorNamespace, "rollout", "restart", "deployment/leasehold-controller-manager")
	kubectl(t, "-n", operatorNamespace, "rollout", "status", "deployment/leasehold-controller-manager", "--timeout=180s")
	waitForHundred(t, "adopted", adoptedSince(rolled))
	t.Logf("adopted_after_rollout_s %.1f", time.Since(rolled).Seconds())
	checkHundred(t, before)

	withoutAPIServer(t)
	checkHundred(t, before)
}

// withoutAPIServer freezes the API server while a report has its time.
func withoutAPIServer(t *testing.T) {
	t.Helper()
	apply(t, report{name: "limited", jobID: "limited", timing: "\n  maxRuntime: 60s", script: obedientScript}.manifest())
	limited := waitForPhase(t, "limited", v1alpha1.PhaseRunning, time.Minute)
	process := watchProcess(t, containerID(t, podOf(t, limited)))
	signalPart(t, "kube-apiserver", "STOP")
	frozen := time.Now()
	t.Cleanup(func() { signalPart(t, "kube-apiserver", "CONT") })
	death := process.death(t, 2*time.Minute)
	if lived := death.Sub(limited.Status.Execution.AcquiredAt.Time); lived > 60*time.Second+15*time.Second {
		t.Errorf("without an API server the report lived for %v, with a maxRuntime of 60s and a grace of 10s", lived)
	} else {
		t.Logf("maxruntime_60s_without_api_server_s %.1f", lived.Seconds())
	}
	time.Sleep(apiAway - time.Since(frozen))
	signalPart(t, "kube-apiserver", "CONT")
	back := time.Now()
	ended := waitForPhase(t, "limited", v1alpha1.PhaseFailed, 2*time.Minute)
	if ended.Status.Completion.Reason != v1alpha1.ReasonMaxRuntimeExceeded {
		t.Errorf("completion: %+v", ended.Status.Completion)
	}
	t.Logf("back_at_work_after_api_server_s %.1f", time.Since(back).Seconds())
}

func applyHundred(t *testing.T) {
	t.Helper()
	manifests := make([]string, hundred)
	for i := range manifests {
		name := fmt.Sprintf("outlives-%03d", i)
		manifests[i] = report{name: name, jobID: name, script: "sleep 1080"}.manifest()
	}
	apply(t, strings.Join(manifests, "---\n"))
}

// hundredNow reads the reports in one request.
func hundredNow(t *testing.T) map[string]*v1alpha1.ReportJob {
	t.Helper()
	var list v1alpha1.ReportJobList
	getJSON(t, &list, "reportjobs")
	found := map[string]*v1alpha1.ReportJob{}
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, "outlives-") {
			found[list.Items[i].Name] = &list.Items[i]
		}
	}
	return found
}

func waitForHundred(t *testing.T, what string, ok func(*v1alpha1.ReportJob) bool) map[string]*v1alpha1.ReportJob {
	t.Helper()
	for deadline := time.Now().Add(6 * time.Minute); ; time.Sleep(time.Second) {
		left, all := "", hundredNow(t)
		count := 0
		for name, rj := range all {
			if ok(rj) {
				count++
			} else {
				left = name
			}
		}
		if count == hundred {
			return all
		}
		if time.Now().After(deadline) {
			status, _ := json.Marshal(all[left].Status)
			t.Fatalf("%d of %d are %s; %s: %s", count, hundred, what, left, status)
		}
	}
}

// adoptedSince says that another operator has confirmed the lease since then.
func adoptedSince(instant time.Time) func(*v1alpha1.ReportJob) bool {
	return func(rj *v1alpha1.ReportJob) bool {
		for _, transition := range rj.Status.Transitions {
			if transition.Event == "lease_adopted" && transition.At.After(instant) {
				return true
			}
		}
		return false
	}
}

// checkHundred compares the executions with those at the beginning.
func checkHundred(t *testing.T, before map[string]*v1alpha1.ReportJob) {
	t.Helper()
	lost := 0
	for name, rj := range hundredNow(t) {
		execution := rj.Status.Execution
		if execution == nil || execution.ID != before[name].Status.Execution.ID || rj.Status.Stop != nil ||
			rj.Status.Phase != v1alpha1.PhaseRunning {
			t.Errorf("%s: phase %s (%s), stop %+v", name, rj.Status.Phase, rj.Status.Message, rj.Status.Stop)
			lost++
		}
	}
	t.Logf("reports_lost %d of %d", lost, hundred)
}
