package controller

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// freeze makes the operator's cache show a ReportJob as it is now, for ever.
func (f *fixture) freeze(frozen *v1alpha1.ReportJob) {
	f.intercepted(interceptor.Funcs{Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey,
		object client.Object, options ...client.GetOption,
	) error {
		if reportJob, ok := object.(*v1alpha1.ReportJob); ok {
			frozen.DeepCopyInto(reportJob)
			return nil
		}
		return api.Get(ctx, key, object, options...)
	}})
}

func TestOperatorNeverActsOnAnObjectOlderThanItsOwnLastWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	f.freeze(f.get("report"))
	f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
}

// outdating is a change of the world by another operator.
type outdating func(f *fixture, reportJob *v1alpha1.ReportJob) error

var outdatings = map[string]outdating{
	"the ReportJob was deleted": func(f *fixture, reportJob *v1alpha1.ReportJob) error {
		return f.api.Delete(f.t.Context(), reportJob)
	},
	"a stop was recorded": func(f *fixture, reportJob *v1alpha1.ReportJob) error {
		reportJob.Status.Stop = &v1alpha1.Stop{Reason: v1alpha1.ReasonDeleted, RequestedAt: reportJob.Status.Execution.AcquiredAt}
		return f.api.Status().Update(f.t.Context(), reportJob)
	},
	"the execution is another": func(f *fixture, reportJob *v1alpha1.ReportJob) error {
		reportJob.Status.Execution.Job = "another"
		return f.api.Status().Update(f.t.Context(), reportJob)
	},
	"the lease is held no longer": func(f *fixture, reportJob *v1alpha1.ReportJob) error {
		f.engine.Halt(subjectOf(client.ObjectKeyFromObject(reportJob)))
		return nil
	},
}

// beforeLiveRead does something before the nth live read of a ReportJob and returns the number of those reads.
func (f *fixture) beforeLiveRead(nth int, do func() error) *int {
	reads := 0
	f.Live = interceptor.NewClient(f.api, interceptor.Funcs{Get: func(ctx context.Context, api client.WithWatch,
		key client.ObjectKey, object client.Object, options ...client.GetOption,
	) error {
		if _, ok := object.(*v1alpha1.ReportJob); !ok {
			return api.Get(ctx, key, object, options...)
		}
		reads++
		if reads != nth {
			return api.Get(ctx, key, object, options...)
		}
		return errors.Join(do(), api.Get(ctx, key, object, options...))
	}})
	return &reads
}

func TestStaleOperatorCreatesNoJob(t *testing.T) {
	t.Parallel()
	for name, change := range outdatings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("report", nil)
			f.reconcile("report")
			before := f.get("report")
			// The first live read is the one that is decided on, the second comes before the creation.
			reads := f.beforeLiveRead(2, func() error { return change(f, f.get("report")) })
			told := len(f.told.lines)
			result := f.reconcile("report")
			if *reads < 2 {
				t.Fatalf("%d live reads: the test shows nothing", *reads)
			}
			if job := f.job(before); job != nil {
				t.Errorf("Job %s was created", job.Name)
			}
			message := f.get("report").Status.Message
			if message != before.Status.Message || len(f.told.lines) != told || result.RequeueAfter != soon {
				t.Errorf("status says %q, %d lines are new, looks again after %v: want nothing told and another look at once",
					message, len(f.told.lines)-told, result.RequeueAfter)
			}
		})
	}
}

func TestWriteIsRefusedForCertainOnlyByAnAnswerThatSaysSo(t *testing.T) {
	t.Parallel()
	resource := v1alpha1.GroupVersion.WithResource("reportjobs").GroupResource()
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a conflict":                  {wrap(apierrors.NewConflict(resource, "x", errors.New("changed")), "write"), true},
		"gone":                        {apierrors.NewNotFound(resource, "x"), true},
		"too many requests":           {apierrors.NewTooManyRequestsError("later"), true},
		"an error of the server":      {apierrors.NewInternalError(errors.New("etcd")), false},
		"a timeout in the server":     {apierrors.NewTimeoutError("etcd", 1), false},
		"a timeout of the request":    {&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusRequestTimeout}}, false},
		"a connection that broke off": {io.ErrUnexpectedEOF, false},
		"a deadline":                  {context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := certainlyRefused(tc.err); got != tc.want {
				t.Errorf("certainlyRefused(%v) = %v", tc.err, got)
			}
		})
	}
}

func TestGrantsAreReadBackFromTheStatusOrNotAtAll(t *testing.T) {
	t.Parallel()
	const owner, key = "0123456789abcdef0123456789abcdef", "leasehold:{finance/revenue}:lease"
	for name, tc := range map[string]struct {
		ref  grantRef
		want bool
	}{
		"what the operator writes":   {grantRef{owner, "7", key}, true},
		"a token that is none":       {grantRef{owner, "seven", key}, false},
		"the key of something else":  {grantRef{owner, "7", "leasehold:{finance/revenue}:fence"}, false},
		"a key without a scope":      {grantRef{owner, "7", "revenue"}, false},
		"a key of two pairs of them": {grantRef{owner, "7", "leasehold:{a}{b}:lease"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term, err := tc.ref.term()
			if (err == nil) != tc.want {
				t.Fatalf("term() = %+v, %v", term, err)
			}
			if err == nil && (term.Scope.LeaseKey() != key || string(term.Owner) != owner || term.Token != 7) {
				t.Errorf("term() = %+v", term)
			}
		})
	}
}

func TestSubjectsNameTheirReportJobs(t *testing.T) {
	t.Parallel()
	name := types.NamespacedName{Namespace: "finance", Name: "revenue.2026-11"}
	if got := nameOf(subjectOf(name)); got != name {
		t.Errorf("got %v, want %v", got, name)
	}
	for _, phase := range append(renewalPhases, renewal.Untracked) {
		want := plan.LeasePhase(phase)
		if phase == renewal.Acquiring {
			want = plan.LeaseUntracked
		}
		if leasePhases[phase] != want {
			t.Errorf("the engine's %s is the plan's %q", phase, leasePhases[phase])
		}
	}
}
