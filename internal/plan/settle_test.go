package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// settlement is one case of Settle: an observation, the results of the actions decided on it, and what comes of them.
type settlement struct {
	obs     plan.Observation
	results []plan.Result
	want    view
	// says are parts of the message.
	says []string
}

func checkSettlements(t *testing.T, cases map[string]settlement) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settled := plan.Settle(plan.Decide(tc.obs, noon), tc.results)
			got := settledView(tc.obs, settled)
			if got.Conditions[v1alpha1.ConditionFinished] == "False/NotFinished" {
				delete(got.Conditions, v1alpha1.ConditionFinished)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
			for _, part := range tc.says {
				if !strings.Contains(settled.Status.Message, part) {
					t.Errorf("%q is not in %q", part, settled.Status.Message)
				}
			}
		})
	}
}

func results(r ...plan.Result) []plan.Result { return r }

func TestSettleAcquireLease(t *testing.T) {
	t.Parallel()
	other := plan.LeaseHeldByOther{Owner: "other", Token: "5", ExpiresIn: 3 * time.Second}
	waits := func(reason, store string, after time.Duration, events ...string) view {
		v := view{Phase: "Waiting", Reason: reason, Events: events, After: after}
		if store != "" {
			v.Conditions = map[string]string{"StoreReachable": store}
		}
		return v
	}
	reachable := condition(v1alpha1.ConditionStoreReachable, metav1.ConditionTrue, v1alpha1.ReasonReachable)
	same := fresh(finalizer, waiting(time.Minute), reachable)
	expiring := func(d time.Duration) []plan.Result {
		return results(plan.LeaseHeldByOther{Owner: "other", Token: "5", ExpiresIn: d})
	}
	refused := plan.StoreUnreachable{Address: "r:6379", Message: "connection refused"}
	checkSettlements(t, map[string]settlement{
		"granted": {fresh(), results(plan.LeaseGranted{Owner: "0wner", Token: "7", LeaseKey: "key", Job: "job"}),
			view{Phase: "Starting", Reason: "LeaseAcquired", After: 5 * time.Second,
				Conditions: map[string]string{"LeaseHeld": "True/LeaseAcquired", "StoreReachable": "True/Reachable",
					"Guarded": "False/GuardOff"},
				Events: []string{"lease_acquired/LeaseAcquired", "guard_off/GuardOff"}}, []string{"token 7"}},
		"held by another": {fresh(), results(other),
			waits("LeaseHeldByOther", "True/Reachable", 3*time.Second, "lease_waiting/WaitingForLease"),
			[]string{"other", "token 5", "delete the ReportJob"}},
		"still held by it": {same, expiring(time.Minute), waits("LeaseHeldByOther", "", 5*time.Second),
			[]string{"Execution other holds the lease."}},
		"about to run out": {same, expiring(time.Millisecond), waits("LeaseHeldByOther", "", 250*time.Millisecond), nil},
		"held by a third": {same, results(plan.LeaseHeldByOther{Owner: "third", Token: "6", ExpiresIn: time.Second}),
			waits("LeaseHeldByOther", "", time.Second, "lease_waiting/WaitingForLease"), []string{"third", "token 6"}},
		"Redis cannot be reached": {fresh(finalizer), results(refused),
			waits("StoreUnreachable", "False/StoreUnreachable", 2*time.Second, "store_unreachable/StoreUnreachable"),
			[]string{"r:6379", "connection refused.", "by itself"}},
		"Redis refuses": {fresh(finalizer), results(
			plan.StoreUnreachable{Address: "r:6379", Message: "NOAUTH Authentication required.", Advice: "Give a password"}),
			waits("StoreRefuses", "False/StoreRefuses", 2*time.Second, "store_unreachable/StoreUnreachable"),
			[]string{"refuses the request for the lease: NOAUTH Authentication required. Give a password. Nothing"}},
		"Redis asks back": {fresh(finalizer), results(
			plan.StoreUnreachable{Address: "r:6379", Message: "is the clock wrong?", Advice: "Look."}),
			waits("StoreRefuses", "False/StoreRefuses", 2*time.Second, "store_unreachable/StoreUnreachable"),
			[]string{"is the clock wrong? Look. Nothing"}},
		"Redis may have forgotten": {fresh(), results(plan.LeaseQuarantined{Left: 2500 * time.Millisecond, Why: "It lost data."}),
			waits("LeaseQuarantined", "True/Reachable", 2500*time.Millisecond, "lease_quarantined/WaitingForLease"),
			[]string{"until 2026-11-02T12:00:03Z at the latest: It lost data. A"}},
		"the outcome is unknown": {fresh(finalizer), results(plan.AcquireUnknown{Address: "r:6379", Message: "timeout"}),
			waits("AcquireUnknown", "False/StoreUnreachable", 2*time.Second, "store_unreachable/StoreUnreachable",
				"lease_acquire_unknown/"), []string{"r:6379", "timeout", "runs out"}},
		"it could not be asked for": {fresh(), results(plan.Failed{Message: "conflict"}),
			view{Phase: "Pending", Reason: "Accepted", After: 2 * time.Second}, []string{"conflict"}},
	})
}

func TestAGrantIsWrittenDownInFull(t *testing.T) {
	t.Parallel()
	grant := plan.LeaseGranted{Owner: "0wner", Token: "7", LeaseKey: "key", Job: "job"}
	obs := fresh(finalizer, waiting(time.Minute))
	status := plan.Settle(plan.Decide(obs, noon), results(grant)).Status
	want := &v1alpha1.Execution{ID: "0wner", Attempt: 1, Owner: "0wner", Token: "7", LeaseKey: "key", Job: "job",
		AcquiredAt: metav1.NewMicroTime(noon)}
	if diff := cmp.Diff(want, status.Execution); diff != "" {
		t.Errorf("execution (-want +got):\n%s", diff)
	}
	if status.LastToken != "7" || status.Holder != "job" {
		t.Errorf("lastToken %q, holder %q", status.LastToken, status.Holder)
	}
}

func TestWaitingBeginsOnceAndNamesTheHolder(t *testing.T) {
	t.Parallel()
	obs := fresh(finalizer)
	for _, at := range []time.Time{noon, noon.Add(time.Second), noon.Add(2 * time.Second)} {
		decision := plan.Decide(obs, at)
		settled := plan.Settle(decision, results(plan.LeaseHeldByOther{Owner: "other", Token: "5", ExpiresIn: time.Second}))
		if at != noon {
			if diff := cmp.Diff(obs.ReportJob.Status, settled.Status); diff != "" {
				t.Errorf("waiting on (-want +got):\n%s", diff)
			}
		}
		obs.ReportJob.Status = settled.Status
	}
	status := obs.ReportJob.Status
	if !status.WaitingSince.Time.Equal(noon) || status.Holder != "other|5" {
		t.Errorf("waiting since %v for %q", status.WaitingSince, status.Holder)
	}
}

func TestSettleCreateJob(t *testing.T) {
	t.Parallel()
	obs := running(noJob, noPod, noJobYet)
	checkSettlements(t, map[string]settlement{
		"created": {obs, results(plan.JobCreated{UID: "job-uid"}), view{Phase: "Starting", Reason: "JobCreated",
			Events: []string{"job_created/JobCreated"}, After: 5 * time.Second}, []string{"revenue-7"}},
		"refused": {obs, results(plan.JobRefused{Message: "no such volume"}), view{Phase: "Completing", Reason: "JobRefused",
			Completion: "Failed/JobRefused/ended", Events: []string{"job_refused/", "report_failed/ReportFailed"},
			After: 5 * time.Second}, []string{"no such volume", "spec.jobTemplate"}},
		"to be tried again": {obs, results(plan.Failed{Message: "the API server did not answer"}), view{Phase: "Starting",
			Reason: "LeaseAcquired", After: 2 * time.Second}, []string{"did not answer"}},
	})
	created := plan.Settle(plan.Decide(obs, noon), results(plan.JobCreated{UID: "new"})).Status
	if created.Execution.JobUID != "new" || created.Holder != "revenue-7" {
		t.Errorf("execution %+v, holder %q", created.Execution, created.Holder)
	}
}

func TestSettleReleaseLease(t *testing.T) {
	t.Parallel()
	success := running(exited(0), podSeen, ended)
	stop := running(noJob, noPod, completed("Stopped", "Deleted", true))
	over := func(phase v1alpha1.Phase, reason, held string, events ...string) view {
		return view{Phase: phase, Reason: reason, Events: append(events, "report_finished/"), Conditions: map[string]string{
			"Finished": "True/" + reason, "LeaseHeld": "False/" + held, "StoreReachable": "True/Reachable"}}
	}
	away := map[string]string{"StoreReachable": "False/StoreUnreachable"}
	tries := view{Phase: "Completing", Reason: "StoreUnreachable", Conditions: away, After: 2 * time.Second,
		Events: []string{"store_unreachable/StoreUnreachable"}}
	lapses := over("Failed", "Deleted", "LeaseLapses", "store_unreachable/StoreUnreachable", "lease_lapses/LeaseLapses")
	lapses.Conditions["StoreReachable"] = "False/StoreUnreachable"
	refused := plan.StoreUnreachable{Address: "r:6379", Message: "connection refused"}
	unknown := plan.ReleaseUnknown{Address: "r:6379", Message: "timeout"}
	checkSettlements(t, map[string]settlement{
		"released": {success, results(plan.Done{}, plan.LeaseReleased{}),
			over("Succeeded", "PodSucceeded", "LeaseReleased", "lease_released/LeaseReleased"), nil},
		"free already": {success, results(plan.Done{}, plan.LeaseGone{}),
			over("Succeeded", "PodSucceeded", "LeaseLapses", "lease_lapses/LeaseLapses"), nil},
		"taken over": {success, results(plan.Done{}, plan.LeaseOfOther{Owner: "other", Token: "9"}),
			over("Succeeded", "PodSucceeded", "LeaseLapses", "lease_lapses/LeaseLapses"), nil},
		"a stopped one, released": {stop, results(plan.Done{}, plan.LeaseReleased{}),
			over("Failed", "Deleted", "LeaseReleased", "lease_released/LeaseReleased"), nil},
		"a success waits for Redis":       {success, results(plan.Done{}, refused), tries, []string{"r:6379", "Trying again"}},
		"a success waits for an answer":   {success, results(plan.Done{}, unknown), tries, []string{"timeout"}},
		"a stop does not wait for Redis":  {stop, results(plan.Done{}, refused), lapses, nil},
		"a stop does not wait for answer": {stop, results(plan.Done{}, unknown), lapses, nil},
	})
}

func TestSettleTakesResultsAsFarAsTheyGo(t *testing.T) {
	t.Parallel()
	decision := plan.Decide(running(exited(0), podSeen, ended), noon)
	for name, given := range map[string][]plan.Result{
		"none":     nil,
		"one":      results(plan.Done{}),
		"too many": results(plan.Done{}, plan.ReleaseUnknown{Address: "r"}, plan.LeaseReleased{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settled := plan.Settle(decision, given)
			if settled.Status.Phase != v1alpha1.PhaseCompleting || settled.RequeueAfter != 2*time.Second {
				t.Errorf("phase %s, again after %v", settled.Status.Phase, settled.RequeueAfter)
			}
		})
	}
}
