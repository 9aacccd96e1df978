package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// do carries actions out on the ReportJob "report" as it is now.
func (f *fixture) do(actions ...plan.Action) acted {
	f.t.Helper()
	return f.act(f.t.Context(), &plan.Observation{ReportJob: f.get("report")}, actions)
}

func (f *fixture) doWithout(name string, actions ...plan.Action) acted {
	f.t.Helper()
	reportJob := &v1alpha1.ReportJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.namespace, Name: name, ResourceVersion: "1", Finalizers: []string{v1alpha1.Finalizer}}}
	return f.act(f.t.Context(), &plan.Observation{ReportJob: reportJob}, actions)
}

func TestDeletionsNameTheirObjectsByUID(t *testing.T) {
	t.Parallel()
	const another types.UID = "another"
	f := newFixture(t)
	f.create("report", nil)
	running, pod := f.toRunning("report")
	job := f.job(running)
	for name, actions := range map[string][]plan.Action{
		"objects of another life": {
			plan.DeleteJob{Name: job.Name, UID: another},
			plan.DeletePods{Pods: []plan.PodRef{{Name: pod.Name, UID: another}}, Grace: time.Second},
		},
		"objects that are gone": {
			plan.DeleteJob{Name: "gone", UID: another},
			plan.DeletePods{Pods: []plan.PodRef{{Name: "gone", UID: another}}, Grace: time.Second},
		},
	} {
		acted := f.do(actions...)
		if diff := cmp.Diff([]plan.Result{plan.Done{}, plan.Done{}}, acted.results); diff != "" || acted.err != nil {
			t.Errorf("%s: error %v, results (-want +got):\n%s", name, acted.err, diff)
		}
	}
	for _, object := range []client.Object{job, pod} {
		err := f.api.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		if err != nil || object.GetDeletionTimestamp() != nil {
			t.Errorf("%T %s was deleted: %v", object, object.GetName(), err)
		}
	}
}

func TestDeletePodsGoesOnAfterAFailureAndReportsIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	_, pod := f.toRunning("report")
	acted := f.do(plan.DeletePods{Grace: time.Second, Pods: []plan.PodRef{
		{Name: "no/name", UID: "uid"}, {Name: pod.Name, UID: pod.UID},
	}}, plan.AddFinalizer{})
	if acted.err == nil || len(acted.results) != 1 {
		t.Errorf("error %v, results %v: want one failure and no further action", acted.err, acted.results)
	}
	if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.DeletionTimestamp == nil {
		t.Errorf("the second pod is not being deleted: %v", err)
	}
}

func TestFinalizerComesAndGoesOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	f.do(plan.AddFinalizer{})
	with := f.get("report")
	if diff := cmp.Diff([]string{v1alpha1.Finalizer}, with.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	f.do(plan.AddFinalizer{})
	if again := f.get("report"); again.ResourceVersion != with.ResourceVersion {
		t.Error("the finalizer was written twice")
	}
	if acted := f.do(plan.RemoveFinalizer{}); acted.letGo || len(f.get("report").Finalizers) != 0 {
		t.Errorf("acted %+v, finalizers %v", acted, f.get("report").Finalizers)
	}
	if acted := f.doWithout("gone", plan.RemoveFinalizer{}); acted.err != nil || !acted.letGo {
		t.Errorf("of a ReportJob that is gone: %+v", acted)
	}
}

func TestReleaseSaysWhoseTheLeaseIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const owner, thief = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	scope := lease.Scope("finance/revenue")
	acquire := func(owner lease.Owner) lease.Term {
		grant, err := f.store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: owner, TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return grant.Term
	}
	mine := acquire(owner)
	release := plan.ReleaseLease{Owner: owner, Token: mine.Token.String(), LeaseKey: scope.LeaseKey()}
	result := func() plan.Result { return f.doWithout("report", release).results[0] }

	f.store.All(leasetest.Refuse)
	if got, ok := result().(plan.StoreUnreachable); !ok || got.Address != f.store.Address() {
		t.Errorf("Redis is away: %+v", got)
	}
	f.store.All(leasetest.DropRequest)
	if got, ok := result().(plan.ReleaseUnknown); !ok || got.Address != f.store.Address() {
		t.Errorf("no answer: %+v", got)
	}
	f.store.All(leasetest.None)
	if got := result(); got != (plan.LeaseReleased{}) {
		t.Errorf("the first release: %+v", got)
	}
	if got := result(); got != (plan.LeaseGone{}) {
		t.Errorf("the second release: %+v", got)
	}
	theirs := acquire(thief)
	if got := result(); got != (plan.LeaseOfOther{Owner: thief, Token: theirs.Token.String()}) {
		t.Errorf("a release of another's lease: %+v", got)
	}
}

func TestEngineIsToldAboutTheLeaseThatIsMeantAndNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	execution := f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated).Status.Execution
	phase := func() renewal.Phase { return f.engine.State(subjectOf(f.key("report"))).Phase }
	f.do(plan.HaltRenewal{Owner: execution.Owner, Token: "1", LeaseKey: execution.LeaseKey},
		plan.ForgetLease{Owner: "another", Token: execution.Token, LeaseKey: execution.LeaseKey})
	if phase() != renewal.Held {
		t.Errorf("orders about other leases made it %s", phase())
	}
	f.do(plan.HaltRenewal{Owner: execution.Owner, Token: execution.Token, LeaseKey: execution.LeaseKey})
	if phase() != renewal.Halted {
		t.Errorf("after the halt it is %s", phase())
	}
	f.do(plan.ForgetLease{Owner: execution.Owner, Token: execution.Token, LeaseKey: execution.LeaseKey})
	if phase() != renewal.Untracked {
		t.Errorf("after it was to be forgotten it is %s", phase())
	}
}

func TestOnlyARefusalThatWillBeRepeatedEndsAReport(t *testing.T) {
	t.Parallel()
	jobs := batchv1.Resource("jobs")
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"invalid":                {apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Job").GroupKind(), "job", nil), true},
		"forbidden":              {apierrors.NewForbidden(jobs, "job", errors.New("quota")), true},
		"a bad request":          {apierrors.NewBadRequest("no"), true},
		"too large":              {apierrors.NewRequestEntityTooLargeError("no"), true},
		"too many requests":      {apierrors.NewTooManyRequestsError("later"), false},
		"a webhook that is away": {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		"a timeout":              {apierrors.NewServerTimeout(jobs, "create", 1), false},
		"a broken connection":    {errors.New("connection reset"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := refusedForGood(tc.err); got != tc.want {
				t.Errorf("refusedForGood(%v) = %v", tc.err, got)
			}
		})
	}
}
