package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

func twice(reportJob *v1alpha1.ReportJob) { reportJob.Spec.Retry.MaxAttempts = 2 }

// edit changes the ReportJob "report" as a person does.
func (f *fixture) edit(change func(*v1alpha1.ReportJob)) {
	f.t.Helper()
	reportJob := f.get("report")
	change(reportJob)
	if err := f.api.Update(f.t.Context(), reportJob); err != nil {
		f.t.Fatal(err)
	}
}

func TestAFailedAttemptIsFollowedByAnotherUnderAHigherToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kafka := &v1alpha1.Trigger{Kind: v1alpha1.TriggerKafka,
		Kafka: &v1alpha1.KafkaTrigger{Topic: "reports", Partition: 3, Offset: 991, MessageID: "m-17"}}
	f.create("report", func(r *v1alpha1.ReportJob) { twice(r); r.Spec.Trigger = kafka })
	first, pod := f.toRunning("report")
	f.kubeletSays(pod, corev1.PodFailed, ended("report", 1, "Error"))
	backingOff := f.expect("report", v1alpha1.PhasePending, v1alpha1.ReasonBackOff)
	if !f.isFree(termIn(t, first)) || backingOff.Status.Execution != nil {
		t.Errorf("the lease is free: %v; execution %+v", f.isFree(termIn(t, first)), backingOff.Status.Execution)
	}
	if after := f.reconcile("report").RequeueAfter; after.Round(time.Second) != 10*time.Second {
		t.Errorf("the next attempt is looked for after %v, want 10s", after)
	}
	f.failJob(first)
	f.clock.SetTime(noon.Add(time.Minute))
	second := f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
	f.expectRepeats(second, first)
	f.expectTrigger(second, kafka)
	if job := f.job(first); job == nil || job.DeletionTimestamp != nil {
		t.Error("the Job of the first attempt, with its logs, is gone")
	}
}

// expectRepeats compares an attempt with the one before.
func (f *fixture) expectRepeats(second, first *v1alpha1.ReportJob) {
	f.t.Helper()
	if older, newer := termIn(f.t, first).Token, termIn(f.t, second).Token; newer <= older {
		f.t.Errorf("tokens: %d, then %d", older, newer)
	}
	execution, before := second.Status.Execution, first.Status.Execution
	if execution.Attempt != 2 || execution.RetryOf != before.ID || execution.ID == before.ID {
		f.t.Errorf("the second attempt: %+v", execution)
	}
}

// failJob gives the Job of an execution its end, as the Job controller does when the pod has failed.
func (f *fixture) failJob(reportJob *v1alpha1.ReportJob) {
	f.t.Helper()
	job, now := f.job(reportJob), metav1.Now()
	job.Status.StartTime = &now
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonBackoffLimitExceeded, LastTransitionTime: now,
		})
	}
	if err := f.api.Status().Update(f.t.Context(), job); err != nil {
		f.t.Fatal(err)
	}
}

// expectTrigger looks for the trigger in the Job and its environment.
func (f *fixture) expectTrigger(reportJob *v1alpha1.ReportJob, want *v1alpha1.Trigger) {
	f.t.Helper()
	job := f.job(reportJob)
	told := map[string]string{"annotation": job.Annotations[v1alpha1.AnnotationTrigger]}
	for _, variable := range job.Spec.Template.Spec.Containers[0].Env {
		if variable.Name == v1alpha1.EnvTrigger {
			told["variable"] = variable.Value
		}
	}
	for where, text := range told {
		var got v1alpha1.Trigger
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			f.t.Errorf("the %s is %q: %v", where, text, err)
		}
		if diff := cmp.Diff(want, &got); diff != "" {
			f.t.Errorf("trigger in the %s (-want +got):\n%s", where, diff)
		}
	}
	if retryOf := job.Annotations[v1alpha1.AnnotationRetryOf]; retryOf != reportJob.Status.Execution.RetryOf {
		f.t.Errorf("the Job repeats %q", retryOf)
	}
}

func TestAReportWhoseLastAttemptFailsHasFailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", twice)
	for attempt, phase := range []v1alpha1.Phase{v1alpha1.PhasePending, v1alpha1.PhaseFailed} {
		f.clock.SetTime(noon.Add(time.Duration(attempt) * time.Minute))
		running, pod := f.toRunning("report")
		f.failJob(running)
		f.kubeletSays(pod, corev1.PodFailed, ended("report", 1, "Error"))
		if status := f.settle("report").Status; status.Phase != phase {
			t.Fatalf("attempt %d: phase %s (%s)", attempt+1, status.Phase, status.Message)
		}
	}
	if message := f.get("report").Status.Message; !strings.HasPrefix(message, "All 2 attempts failed. Last: ") {
		t.Errorf("message %q", message)
	}
}
