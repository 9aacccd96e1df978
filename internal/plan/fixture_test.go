package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

var (
	// granted is when the lease of the fixtures was granted, noon when they are looked at.
	granted = time.Date(2026, 11, 2, 11, 59, 0, 0, time.UTC)
	noon    = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

	aDone    = []plan.Action{plan.ForgetLease{Owner: "0wner", Token: "7", LeaseKey: "key"}}
	aAdopt   = plan.AdoptLease{Owner: "0wner", Token: "7", LeaseKey: "key"}
	aHalt    = plan.HaltRenewal{Owner: "0wner", Token: "7", LeaseKey: "key"}
	aForget  = plan.ForgetLease{Owner: "0wner", Token: "7", LeaseKey: "key"}
	aRelease = plan.ReleaseLease{Owner: "0wner", Token: "7", LeaseKey: "key"}
	aOnce    = plan.ReleaseLease{Owner: "0wner", Token: "7", LeaseKey: "key", Once: true}
	aJob     = plan.DeleteJob{Name: "revenue-7", UID: "job-uid"}
	aPod     = plan.DeletePods{Pods: []plan.PodRef{{Name: "pod", UID: "pod-uid"}}, Grace: 10 * time.Second}
	held     = plan.LeaseView{Phase: plan.LeaseHeld}
)

// with changes an observation; the fixtures below are made of such changes.
type with func(*plan.Observation)

// fresh is a ReportJob that the operator sees for the first time, read live.
func fresh(changes ...with) plan.Observation {
	obs := plan.Observation{Live: true, ReportJob: &v1alpha1.ReportJob{
		ObjectMeta: metav1.ObjectMeta{Name: "revenue", Namespace: "finance", UID: "uid", Generation: 3},
		Spec: v1alpha1.ReportJobSpec{
			StopGracePeriod: "10s", MaxRuntime: "20m", Contention: v1alpha1.Contention{Timeout: "1h"},
			Retry: v1alpha1.Retry{MaxAttempts: 1, Backoff: "10s"},
		},
	}}
	for _, change := range changes {
		change(&obs)
	}
	return obs
}

// running is a ReportJob whose Job and pod exist under a held lease, read live.
func running(changes ...with) plan.Observation {
	obs := fresh(finalizer, execution, job, pod)
	obs.Lease = held
	for _, change := range changes {
		change(&obs)
	}
	return obs
}

func finalizer(o *plan.Observation) { o.ReportJob.Finalizers = []string{v1alpha1.Finalizer} }

func execution(o *plan.Observation) {
	o.ReportJob.Status.Execution = &v1alpha1.Execution{
		ID: "0wner", Attempt: 1, Owner: "0wner", Token: "7", LeaseKey: "key", Job: "revenue-7",
		AcquiredAt: metav1.NewMicroTime(granted), JobUID: "job-uid",
	}
	o.ReportJob.Status.Phase = v1alpha1.PhaseStarting
	condition(v1alpha1.ConditionLeaseHeld, metav1.ConditionTrue, v1alpha1.ReasonLeaseAcquired)(o)
}

func job(o *plan.Observation) { o.Job = &plan.Job{Name: "revenue-7", UID: "job-uid", Ours: true} }

func pod(o *plan.Observation) {
	o.Pods = []plan.Pod{{Name: "pod", UID: "pod-uid", Node: "node", Phase: plan.PodRunning, Started: true, Ready: true}}
}

func noFinalizer(o *plan.Observation) { o.ReportJob.Finalizers = nil }
func noPod(o *plan.Observation)       { o.Pods = nil }
func noJob(o *plan.Observation)       { o.Job = nil }
func cached(o *plan.Observation)      { o.Live = false }
func podSeen(o *plan.Observation) {
	o.ReportJob.Status.Execution.Pod, o.ReportJob.Status.Execution.PodUID = "pod", "pod-uid"
}

func deleted(o *plan.Observation) {
	at := metav1.NewTime(noon)
	o.ReportJob.DeletionTimestamp = &at
}

func stray(o *plan.Observation) {
	o.Strays = append(o.Strays, plan.Job{Name: "stray", UID: "stray-uid"})
}

func jobDeleting(o *plan.Observation) { o.Job.Deleting = true }

func lease(phase plan.LeasePhase) with { return func(o *plan.Observation) { o.Lease.Phase = phase } }

// exited makes the pod end by the kubelet's word.
func exited(code int32) with {
	return func(o *plan.Observation) {
		p := &o.Pods[0]
		p.Phase, p.Terminated, p.Ready, p.ExitCode = plan.PodSucceeded, true, false, &code
		if code != 0 {
			p.Phase, p.ContainerReason = plan.PodFailed, "Error"
		}
	}
}

func stopped(reason string) with {
	return func(o *plan.Observation) {
		o.ReportJob.Status.Stop = &v1alpha1.Stop{
			Reason: reason, Message: "Because.", RequestedAt: metav1.NewMicroTime(noon.Add(-time.Second)),
		}
		o.ReportJob.Status.Phase = v1alpha1.PhaseStopping
	}
}

func completed(outcome v1alpha1.Outcome, reason string, processEnded bool) with {
	return func(o *plan.Observation) {
		o.ReportJob.Status.Completion = &v1alpha1.Completion{
			Outcome: outcome, Reason: reason, Message: "It ended.", Token: "7", At: metav1.NewMicroTime(noon),
			ProcessEnded: processEnded,
		}
	}
}

func condition(conditionType string, status metav1.ConditionStatus, reason string) with {
	return func(o *plan.Observation) {
		o.ReportJob.Status.Conditions = append(o.ReportJob.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: reason, Message: "As before.",
		})
	}
}

func over(phase v1alpha1.Phase) with {
	return func(o *plan.Observation) {
		o.ReportJob.Status.Phase = phase
		condition(v1alpha1.ConditionFinished, metav1.ConditionTrue, "Over")(o)
	}
}

// view is what a test compares of a decision or a settlement: all but the wording.
type view struct {
	Rule     string
	ReadLive bool
	Actions  []plan.Action
	Phase    v1alpha1.Phase
	Reason   string
	// Conditions are those that differ from the observation's, as Status/Reason.
	Conditions map[string]string
	// Stop is the reason of a new stop, Completion outcome, reason and whether the processes ended, of a new one.
	Stop, Completion string
	// Events are the transitions, each with the reason of its Kubernetes event.
	Events []string
	After  time.Duration
}

func viewOf(obs plan.Observation, d plan.Decision) view {
	v := settledView(obs, plan.Settled{Status: d.Status, Transitions: d.Transitions, RequeueAfter: d.RequeueAfter})
	v.Rule, v.ReadLive, v.Actions = d.Rule, d.ReadLive, d.Actions
	return v
}

func settledView(obs plan.Observation, s plan.Settled) view {
	before := &obs.ReportJob.Status
	v := view{Phase: s.Status.Phase, Reason: s.Status.Reason, Conditions: map[string]string{}, After: s.RequeueAfter}
	was := map[string]string{}
	for _, c := range before.Conditions {
		was[c.Type] = string(c.Status) + "/" + c.Reason
	}
	for _, c := range s.Status.Conditions {
		if now := string(c.Status) + "/" + c.Reason; now != was[c.Type] {
			v.Conditions[c.Type] = now
		}
	}
	if s.Status.Stop != nil && before.Stop == nil {
		v.Stop = s.Status.Stop.Reason
	}
	if completion := s.Status.Completion; completion != nil && before.Completion == nil {
		v.Completion = string(completion.Outcome) + "/" + completion.Reason
		if completion.ProcessEnded {
			v.Completion += "/ended"
		}
	}
	for _, t := range s.Transitions {
		v.Events = append(v.Events, t.Event+"/"+t.Notice.Reason)
	}
	return v
}

// decision is one case of a rule: an observation and what is decided on it at noon.
type decision struct {
	obs  plan.Observation
	want view
}

// checkDecisions runs a table. The condition Finished=False, which every first decision sets, is left out of the tables.
func checkDecisions(t *testing.T, cases map[string]decision) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tc.obs.ReportJob.DeepCopy()
			got := viewOf(tc.obs, plan.Decide(tc.obs, noon))
			if got.Conditions[v1alpha1.ConditionFinished] == "False/NotFinished" {
				delete(got.Conditions, v1alpha1.ConditionFinished)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.obs.ReportJob); diff != "" {
				t.Errorf("the observation was changed (-before +after):\n%s", diff)
			}
		})
	}
}
