package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

func TestReportWaitsWhileRedisIsAwayAndProceedsByItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.store.All(leasetest.Refuse)
	f.create("report", nil)
	waiting := f.expect("report", v1alpha1.PhaseWaiting, v1alpha1.ReasonUnreachable)
	reachable := meta.FindStatusCondition(waiting.Status.Conditions, v1alpha1.ConditionStoreReachable)
	if reachable == nil || reachable.Status != metav1.ConditionFalse || !strings.Contains(reachable.Message, f.store.Address()) {
		t.Errorf("StoreReachable: %+v", reachable)
	}
	if waiting.Status.Execution != nil {
		t.Errorf("an execution without a lease: %+v", waiting.Status.Execution)
	}
	result := f.reconcile("report")
	if result.RequeueAfter <= 0 {
		t.Error("nothing makes the operator look again")
	}
	f.store.All(leasetest.None)
	f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
}

func TestStatusNamesTheAddressOfRedisAndNeverThePassword(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ address, reason string }{
		"nobody listens":            {"127.0.0.1:1", v1alpha1.ReasonUnreachable},
		"a Redis with no such user": {"", v1alpha1.ReasonStoreRefuses},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			address := tc.address
			if address == "" {
				address = f.store.Address()
			}
			store := redis.New(redis.Options{Address: address, Username: "nobody", PasswordFile: file})
			defer func() { _ = store.Close() }()
			f.Store = store
			f.create("report", nil)
			waiting := f.expect("report", v1alpha1.PhaseWaiting, tc.reason)
			if !strings.Contains(waiting.Status.Message, address) {
				t.Errorf("the message does not name %s: %s", address, waiting.Status.Message)
			}
			said := fmt.Sprint(waiting.Status, f.told.events, f.told.lines)
			if strings.Contains(said, secret) {
				t.Errorf("the password is out: %s", said)
			}
		})
	}
}

// intercepted lets the operator, and not the test, go through an interceptor.
func (f *fixture) intercepted(funcs interceptor.Funcs) {
	f.Client = interceptor.NewClient(f.api, funcs)
}

// statusPatch intercepts the writes of the status.
func statusPatch(do func(write func() error, object client.Object) error) interceptor.Funcs {
	return interceptor.Funcs{SubResourcePatch: func(ctx context.Context, api client.Client, sub string, object client.Object,
		patch client.Patch, options ...client.SubResourcePatchOption,
	) error {
		return do(func() error { return api.SubResource(sub).Patch(ctx, object, patch, options...) }, object)
	}}
}

func TestGrantThatCannotBeWrittenDownIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	var granted renewal.State
	f.intercepted(statusPatch(func(write func() error, _ client.Object) error {
		granted = f.engine.State(subjectOf(f.key("report")))
		other := f.get("report")
		other.Annotations = map[string]string{"somebody": "was faster"}
		if err := f.api.Update(t.Context(), other); err != nil {
			t.Error(err)
		}
		return write()
	}))
	result := f.reconcile("report")
	if granted.Phase != renewal.Held || result.RequeueAfter != soon {
		t.Fatalf("the engine said %s before the write; the result is %+v", granted.Phase, result)
	}
	if !f.isFree(granted.Term) || f.engine.State(subjectOf(f.key("report"))).Phase != renewal.Untracked {
		t.Error("a grant that nobody knows of is still held or renewed")
	}
	if status := f.get("report").Status; status.Execution != nil || len(f.told.events)+len(f.told.lines) != 0 {
		t.Errorf("announced what was not written: %v, %v; status %+v", f.told.events, f.told.lines, status)
	}
	f.Client = f.api
	f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
}

func TestGrantOfWhichNobodyKnowsWhetherItIsWrittenIsAdoptedOrLapses(t *testing.T) {
	t.Parallel()
	for name, isWritten := range map[string]bool{"it was written": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			var granted renewal.State
			f.intercepted(statusPatch(func(write func() error, _ client.Object) error {
				granted = f.engine.State(subjectOf(f.key("report")))
				if isWritten {
					if err := write(); err != nil {
						t.Error(err)
					}
				}
				return errors.New("connection reset by peer")
			}))
			_, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: f.key("report")})
			if err == nil || f.isFree(granted.Term) {
				t.Fatalf("error %v; the lease was given back although a Job may start under it", err)
			}
			f.Client = f.api
			f.reconcile("report")
			if !isWritten {
				f.expect("report", v1alpha1.PhaseWaiting, v1alpha1.ReasonLeaseHeldByOther)
				return
			}
			state := f.engine.State(subjectOf(f.key("report")))
			if state.Phase != renewal.Adopting || state.Term != granted.Term {
				t.Errorf("the engine has %+v, want %+v to be adopted", state, granted.Term)
			}
		})
	}
}

// jobCreate intercepts the creation of Jobs.
func jobCreate(do func(write func() error, job *batchv1.Job) error) interceptor.Funcs {
	return interceptor.Funcs{Create: func(ctx context.Context, api client.WithWatch, object client.Object,
		options ...client.CreateOption,
	) error {
		return do(func() error { return api.Create(ctx, object, options...) }, object.(*batchv1.Job))
	}}
}

func TestJobThatExistsAlreadyIsAdoptedIfItIsOurs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	f.intercepted(jobCreate(func(write func() error, job *batchv1.Job) error {
		if err := f.api.Create(t.Context(), job.DeepCopy()); err != nil {
			t.Error(err)
		}
		err := write()
		if !apierrors.IsAlreadyExists(err) {
			t.Errorf("the second creation: %v", err)
		}
		return err
	}))
	starting := f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
	if got, want := starting.Status.Execution.JobUID, f.job(starting).UID; got != want {
		t.Errorf("jobUID %s, want %s", got, want)
	}
}

func TestJobOfAnotherUnderOurNameIsNeverTakenForOurs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		takeIt func(*batchv1.Job)
		// stays says that the Job is none of our business; one that we own and that has another token is removed.
		stays bool
	}{
		"it has no owner":              {func(job *batchv1.Job) { job.OwnerReferences = nil }, true},
		"its owner has another UID":    {func(job *batchv1.Job) { job.OwnerReferences[0].UID = "another" }, true},
		"its fencing token is another": {func(job *batchv1.Job) { job.Labels[v1alpha1.LabelFencingToken] = "1" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			f.intercepted(jobCreate(func(write func() error, job *batchv1.Job) error {
				foreign := job.DeepCopy()
				tc.takeIt(foreign)
				if err := f.api.Create(t.Context(), foreign); err != nil {
					t.Error(err)
				}
				return write()
			}))
			failed := f.expect("report", v1alpha1.PhaseFailed, v1alpha1.ReasonJobRefused)
			if !f.isFree(termIn(t, failed)) {
				t.Error("nothing ran, and the lease is not given back")
			}
			if job := f.job(failed); job == nil || (job.DeletionTimestamp == nil) != tc.stays {
				t.Errorf("the Job under our name: %+v", job)
			}
		})
	}
}

func TestJobThatTheAPIServerRefusesEndsTheReport(t *testing.T) {
	t.Parallel()
	jobs := batchv1.Resource("jobs")
	ending := apierrors.NewForbidden(jobs, "job", errors.New("exceeded quota: jobs"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		refusal error
		reason  string
	}{
		"a quota, for now": {apierrors.NewForbidden(jobs, "job", errors.New("exceeded quota: jobs")),
			v1alpha1.ReasonJobForbidden},
		"the end of the namespace, for good": {ending, v1alpha1.ReasonJobRefused},
		"a validation, for good": {apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(),
			"exceeded quota: jobs", nil), v1alpha1.ReasonJobRefused},
		"a webhook, for good": {apierrors.NewBadRequest("exceeded quota: jobs"), v1alpha1.ReasonJobRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			f.intercepted(jobCreate(func(func() error, *batchv1.Job) error { return tc.refusal }))
			failed := f.expect("report", v1alpha1.PhaseFailed, tc.reason)
			if !strings.Contains(failed.Status.Message, "exceeded quota: jobs") || !f.isFree(termIn(t, failed)) {
				t.Errorf("message %q, lease free: %v", failed.Status.Message, f.isFree(termIn(t, failed)))
			}
		})
	}
}

func TestRequestOfUnknownOutcomeIsWithdrawnAndRepeated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// faults are those of the acquisition and of its withdrawal.
		faults []leasetest.Fault
		// reason is that of the status after the operator asked again.
		reason string
	}{
		"the withdrawal works":   {[]leasetest.Fault{leasetest.DropReply, leasetest.None}, v1alpha1.ReasonJobCreated},
		"the withdrawal is lost": {[]leasetest.Fault{leasetest.DropReply, leasetest.DropRequest}, v1alpha1.ReasonLeaseHeldByOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			faults := tc.faults
			f.store.Inject(func(lease.Scope) leasetest.Fault {
				if len(faults) == 0 {
					return leasetest.None
				}
				fault := faults[0]
				faults = faults[1:]
				return fault
			})
			f.reconcile("report")
			if status := f.get("report").Status; status.Reason != v1alpha1.ReasonAcquireUnknown || status.Execution != nil {
				t.Errorf("after the request: %+v", status)
			}
			if status := f.settle("report").Status; status.Reason != tc.reason {
				t.Errorf("after the next request: %s: %s; want %s", status.Reason, status.Message, tc.reason)
			}
		})
	}
}

func TestReportThatEndedWhileRedisIsAwayStaysCompleting(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]leasetest.Fault{
		"Redis is away": leasetest.Refuse, "its answer is lost": leasetest.DropReply,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			running, pod := f.toRunning("report")
			f.store.All(fault)
			f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
			completing := f.settle("report")
			if completing.Status.Phase != v1alpha1.PhaseCompleting || isFinished(completing) {
				t.Errorf("status: %+v", completing.Status)
			}
			f.store.All(leasetest.None)
			f.expect("report", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
			if !f.isFree(termIn(t, running)) {
				t.Error("the lease is not given back")
			}
		})
	}
}
