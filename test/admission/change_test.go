package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Changes of a ReportJob that was created suspended.
var changes = map[string]func(*v1alpha1.ReportJob){
	"resume":        func(r *v1alpha1.ReportJob) { r.Spec.Suspend = false },
	"more attempts": func(r *v1alpha1.ReportJob) { r.Spec.Retry.MaxAttempts = 100 },
	"take over":     func(r *v1alpha1.ReportJob) { r.Spec.LostNode = v1alpha1.LostNodeFenceAndTakeOver },
	"label":         func(r *v1alpha1.ReportJob) { r.Labels = map[string]string{"team": "finance"} },
	"release":       func(r *v1alpha1.ReportJob) { r.Annotations = map[string]string{v1alpha1.AnnotationForceRelease: "42"} },
	"annotate":      func(r *v1alpha1.ReportJob) { r.Annotations = map[string]string{"force-release": "42"} },
	"finalizer":     func(r *v1alpha1.ReportJob) { r.Finalizers = []string{v1alpha1.Finalizer} },
}

// write changes a ReportJob as a user, in one of the ways that there are.
type write func(ctx context.Context, user client.Client, before, after *v1alpha1.ReportJob) error

var writes = map[string]write{
	"by an update": func(ctx context.Context, user client.Client, _, after *v1alpha1.ReportJob) error {
		return user.Update(ctx, after)
	},
	"by a patch": func(ctx context.Context, user client.Client, before, after *v1alpha1.ReportJob) error {
		return user.Patch(ctx, after, client.MergeFrom(before))
	},
}

func TestAChangeAsksForTheRightsToWhatItLeadsTo(t *testing.T) {
	t.Parallel()
	startsPods := []right{createsJobs, createsPods}
	for name, tc := range map[string]struct {
		change  string
		rights  []right
		refusal string
	}{
		"to resume a report starts pods":                       {"resume", nil, noJobs},
		"to resume a report, Jobs without pods are not enough": {"resume", []right{createsJobs}, noPods},
		"whoever may start a report may resume one":            {"resume", startsPods, ""},
		"more attempts are more pods":                          {"more attempts", nil, noJobs},
		"whoever may start a report may have it retried":       {"more attempts", startsPods, ""},
		"to take over from a lost node starts a pod":           {"take over", nil, noJobs},
		"a label starts nothing":                               {"label", nil, ""},
		"an annotation that is not ours starts nothing":        {"annotate", nil, ""},
		"to vouch for an end is as if the pod were deleted":    {"release", nil, noDeletedPods},
		"to vouch for an end takes more than to start pods":    {"release", startsPods, noDeletedPods},
		"whoever may delete the pod may vouch for its end":     {"release", []right{deletesPods}, ""},
	} {
		for way, write := range writes {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				namespace := newNamespace(t)
				user := newUser(t, namespace, append(tc.rights, editsReports)...)
				before := created(t, reportJob(namespace))
				after := before.DeepCopy()
				changes[tc.change](after)
				expect(t, write(t.Context(), user, before, after), requester, in(namespace, tc.refusal))
			})
		}
	}
}

func TestAReportJobIsNotBornWithAForcedRelease(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	report := reportJob(namespace)
	changes["release"](report)
	err := newUser(t, namespace, editsReports, createsJobs, createsPods).Create(t.Context(), report)
	expect(t, err, requester, in(namespace, noDeletedPods))
}

func TestAForcedReleaseThatIsThereStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.ReportJob)
		refusal string
	}{
		"a label may be set beside it": {changes["label"], ""},
		"it may be taken away":         {func(r *v1alpha1.ReportJob) { r.Annotations = nil }, ""},
		"it may not name another token": {func(r *v1alpha1.ReportJob) {
			r.Annotations[v1alpha1.AnnotationForceRelease] = "43"
		}, noDeletedPods},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			user := newUser(t, namespace, editsReports)
			report := reportJob(namespace)
			changes["release"](report)
			created(t, report)
			tc.change(report)
			expect(t, user.Update(t.Context(), report), requester, in(namespace, tc.refusal))
		})
	}
}

func TestAReportOfAnySizeIsJudged(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	user := newUser(t, namespace, editsReports, createsJobs, createsPods)
	report := reportJob(namespace)
	container := &report.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	for i := range 200 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: strings.Repeat("x", 4000)})
	}
	expect(t, user.Create(t.Context(), report), requester, "")
	changes["resume"](report)
	expect(t, user.Update(t.Context(), report), requester, "")
}

func TestAnEditorMayAlwaysEndAReport(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	report := created(t, reportJob(namespace))
	expect(t, newUser(t, namespace, editsReports).Delete(t.Context(), report), requester, "")
}

func TestTheStatusIsWrittenOnlyByThoseWhoMayDoWhatItLeadsTo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rights  []right
		refusal string
	}{
		"the right to the status alone is not enough":         {nil, noJobs},
		"all rights but that to delete Jobs are not enough":   {[]right{createsJobs, deletesPods}, noDeletedJobs},
		"all rights but that to delete pods are not enough":   {[]right{createsJobs, deletesJobs}, noDeletedPods},
		"all rights but that to create Jobs are not enough":   {[]right{deletesJobs, deletesPods}, noJobs},
		"all rights that the operator uses for it are enough": {[]right{createsJobs, deletesJobs, deletesPods}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			user := newUser(t, namespace, append(tc.rights, writesStatus)...)
			expect(t, pretendToWait(t, user, namespace), requester, in(namespace, tc.refusal))
		})
	}
}

func TestAnEditorMayNotWriteTheStatusAtAll(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	err := pretendToWait(t, newUser(t, namespace, editsReports, edits), namespace)
	if !apierrors.IsForbidden(err) || deniedBy(err, requester) {
		t.Errorf("got %v, want the refusal of the roles", err)
	}
}

func TestTheOperatorDoesItsWorkWithItsOwnRole(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	user := as(t, operator)
	expect(t, pretendToWait(t, user, namespace), requester, "")
	before := created(t, reportJob(namespace))
	after := before.DeepCopy()
	changes["finalizer"](after)
	expect(t, user.Patch(t.Context(), after, client.MergeFrom(before)), requester, "")
	before = after.DeepCopy()
	after.Finalizers = nil
	expect(t, user.Patch(t.Context(), after, client.MergeFrom(before)), requester, "")
	expect(t, user.Delete(t.Context(), after), requester, "")
}

// pretendToWait writes the status of a new ReportJob.
func pretendToWait(t *testing.T, user client.Client, namespace string) error {
	t.Helper()
	before := created(t, reportJob(namespace))
	after := before.DeepCopy()
	after.Status.Phase = v1alpha1.PhaseWaiting
	return user.Status().Patch(t.Context(), after, client.MergeFrom(before))
}

// in names the namespace at the end of a refusal; none is none.
func in(namespace, refusal string) string {
	if refusal == "" {
		return ""
	}
	return refusal + namespace
}
