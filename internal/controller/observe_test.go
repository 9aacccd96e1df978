package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// ownedJob is the Job "job" of a ReportJob, with fencing token 7.
func ownedJob(owner *v1alpha1.ReportJob, edit func(*batchv1.Job)) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: "job", UID: "job-uid", Labels: map[string]string{v1alpha1.LabelFencingToken: "7"},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("ReportJob")),
		},
	}}
	if edit != nil {
		edit(job)
	}
	return job
}

func says(conditionType batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
	return batchv1.JobCondition{Type: conditionType, Status: status, Reason: "Why", Message: "What"}
}

func TestJobFactTellsOursFromOthersAndTheEndFromItsSigns(t *testing.T) {
	t.Parallel()
	owner := &v1alpha1.ReportJob{ObjectMeta: metav1.ObjectMeta{Name: "report", UID: "owner"}}
	execution := &v1alpha1.Execution{Token: "7"}
	for name, tc := range map[string]struct {
		edit func(*batchv1.Job)
		want plan.Job
	}{
		"ours":                 {nil, plan.Job{Ours: true}},
		"another token's":      {func(j *batchv1.Job) { j.Labels[v1alpha1.LabelFencingToken] = "6" }, plan.Job{}},
		"another's":            {func(j *batchv1.Job) { j.OwnerReferences[0].UID = "another" }, plan.Job{}},
		"ours by garbage only": {func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil }, plan.Job{}},
		"suspended":            {func(j *batchv1.Job) { j.Spec.Suspend = new(true) }, plan.Job{Ours: true, Suspended: true}},
		"not suspended":        {func(j *batchv1.Job) { j.Spec.Suspend = new(false) }, plan.Job{Ours: true}},
		"being deleted": {
			func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: noon} }, plan.Job{Ours: true, Deleting: true},
		},
		"about to end": {func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{
				says(batchv1.JobFailureTarget, corev1.ConditionTrue), says(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue),
				says(batchv1.JobComplete, corev1.ConditionFalse),
			}
		}, plan.Job{Ours: true}},
		"complete": {func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{says(batchv1.JobComplete, corev1.ConditionTrue)}
		}, plan.Job{Ours: true, Ended: &plan.JobEnd{Complete: true, Reason: "Why", Message: "What"}}},
		"failed": {func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{says(batchv1.JobFailed, corev1.ConditionTrue)}
		}, plan.Job{Ours: true, Ended: &plan.JobEnd{Reason: "Why", Message: "What"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.Name, tc.want.UID = "job", "job-uid"
			got := childReader{reportJob: owner, execution: execution}.jobFact(ownedJob(owner, tc.edit))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimingIsReadFromTheSpecOrRefusedByField(t *testing.T) {
	t.Parallel()
	good := v1alpha1.ReportJobSpec{LeaseDuration: "30s", RenewalInterval: "5s", StopGracePeriod: "10s"}
	for name, tc := range map[string]struct {
		edit func(*v1alpha1.ReportJobSpec)
		want lease.Timing
		says string
	}{
		"the defaults": {
			edit: func(*v1alpha1.ReportJobSpec) {},
			want: lease.Timing{LeaseDuration: 30 * time.Second, RenewalInterval: 5 * time.Second, StopGracePeriod: 10 * time.Second},
		},
		"with a renewalTimeout": {
			edit: func(s *v1alpha1.ReportJobSpec) { s.RenewalTimeout = new(v1alpha1.Duration("1s")) },
			want: lease.Timing{LeaseDuration: 30 * time.Second, RenewalInterval: 5 * time.Second, StopGracePeriod: 10 * time.Second,
				RenewalTimeout: time.Second},
		},
		"no duration":  {edit: func(s *v1alpha1.ReportJobSpec) { s.RenewalInterval = "1d" }, says: "spec.renewalInterval"},
		"no fit":       {edit: func(s *v1alpha1.ReportJobSpec) { s.StopGracePeriod = "29s" }, says: "stopGracePeriod"},
		"nothing said": {edit: func(s *v1alpha1.ReportJobSpec) { s.LeaseDuration = "" }, says: "spec.leaseDuration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := good
			tc.edit(&spec)
			got, err := timingOf(&spec)
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error %v does not name %s", err, tc.says)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
