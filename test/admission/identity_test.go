package admission

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/resources"
)

// What is said to those who take our names.
const (
	notOnJobs = "may not set, change or remove labels and annotations of Jobs"
	notOnPods = "may not set, change or remove labels and annotations of pods"
)

// forged is what a tenant may try: names of ours, and one that is his own.
func forged() map[string]string {
	return map[string]string{v1alpha1.LabelReportJobUID: "1", v1alpha1.AnnotationLeaseKey: "2", "team": "finance"}
}

func TestATenantCannotMakeAJobThatLooksLikeAnExecution(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	tenant := newUser(t, namespace, editsReports, edits)
	for name, tc := range map[string]struct {
		forge   func(*batchv1.Job)
		refusal string
	}{
		"by its labels":                     {func(j *batchv1.Job) { j.Labels = forged() }, notOnJobs},
		"by its annotations":                {func(j *batchv1.Job) { j.Annotations = forged() }, notOnJobs},
		"by the labels of its pods":         {func(j *batchv1.Job) { j.Spec.Template.Labels = forged() }, notOnJobs},
		"by the annotations of its pods":    {func(j *batchv1.Job) { j.Spec.Template.Annotations = forged() }, notOnJobs},
		"but a Job like any other":          {func(*batchv1.Job) {}, ""},
		"but one with labels of the tenant": {func(j *batchv1.Job) { j.Labels = map[string]string{"team": "finance"} }, ""},
		"but one with a thousand annotations of the tenant": {func(j *batchv1.Job) {
			j.Annotations = map[string]string{}
			for i := range 1000 {
				j.Annotations[fmt.Sprintf("example.com/annotation-%d", i)] = strings.Repeat("x", 100)
			}
			j.Spec.Template.Annotations = j.Annotations
		}, ""},
		"but one whose label only looks like ours": {func(j *batchv1.Job) {
			j.Labels = map[string]string{"my.leasehold.dev/execution-id": "1"}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := plainJob(namespace)
			tc.forge(job)
			expect(t, tenant.Create(t.Context(), job), jobIdentity, tc.refusal)
		})
	}
}

func TestATenantCannotChangeAJobIntoAnExecutionNorOneIntoAnother(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	tenant := newUser(t, namespace, editsReports, edits)
	for name, tc := range map[string]struct {
		change  func(*batchv1.Job)
		refusal string
	}{
		"by another token":     {func(j *batchv1.Job) { j.Labels[v1alpha1.LabelFencingToken] = "1" }, notOnJobs},
		"by no token":          {func(j *batchv1.Job) { delete(j.Labels, v1alpha1.LabelFencingToken) }, notOnJobs},
		"by no annotations":    {func(j *batchv1.Job) { j.Annotations = nil }, notOnJobs},
		"by an annotation":     {func(j *batchv1.Job) { j.Annotations["leasehold.dev/another"] = "1" }, notOnJobs},
		"but add his own":      {func(j *batchv1.Job) { j.Labels["team"] = "finance" }, ""},
		"but suspend it":       {func(j *batchv1.Job) { j.Spec.Suspend = new(true) }, ""},
		"but add a finalizer":  {func(j *batchv1.Job) { j.Finalizers = []string{"example.com/kept"} }, ""},
		"but change its owner": {func(j *batchv1.Job) { j.OwnerReferences = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := execution(t, namespace)
			tc.change(job)
			expect(t, tenant.Update(t.Context(), job), jobIdentity, tc.refusal)
		})
	}
}

func TestATenantCannotForgeTheTemplateOfASuspendedJob(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	job := plainJob(namespace)
	job.Spec.Suspend = new(true)
	created(t, job)
	job.Spec.Template.Labels[v1alpha1.LabelReportJobUID] = "1"
	expect(t, newUser(t, namespace, editsReports, edits).Update(t.Context(), job), jobIdentity, notOnJobs)
}

func TestATenantMayDeleteTheJobAndThePodOfAnExecution(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	tenant := newUser(t, namespace, editsReports, edits)
	job := execution(t, namespace)
	pod := podOf(t, job)
	expect(t, tenant.Delete(t.Context(), pod), podIdentity, "")
	expect(t, tenant.Delete(t.Context(), job), jobIdentity, "")
}

func TestTheControllersOfKubernetesWorkOnWhatIsOursAndForgeNothingForOthers(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	job := execution(t, namespace)
	pod := podOf(t, job)
	forgedJob, forgedPod := plainJob(namespace), plainPod(namespace)
	forgedJob.Labels, forgedPod.Labels = forged(), forged()
	job.Annotations["batch.kubernetes.io/counted"], pod.Finalizers = "1", []string{"example.com/kept"}
	controller := as(t, jobController)
	expect(t, controller.Update(t.Context(), job), jobIdentity, "")
	expect(t, controller.Patch(t.Context(), pod, client.Merge), podIdentity, "")
	expect(t, as(t, cronJobController).Create(t.Context(), forgedJob), jobIdentity, cronJobController+" "+notOnJobs)
	expect(t, as(t, replicaSets).Create(t.Context(), forgedPod), podIdentity, replicaSets+" "+notOnPods)
}

func TestATenantCannotMakeAPodThatLooksLikeAnExecution(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	tenant := newUser(t, namespace, editsReports, edits)
	for name, tc := range map[string]struct {
		forge   func(*corev1.Pod)
		refusal string
	}{
		"by its labels":         {func(p *corev1.Pod) { p.Labels = forged() }, notOnPods},
		"but a pod of his own":  {func(p *corev1.Pod) { p.Labels = map[string]string{"team": "finance"} }, ""},
		"but one like no other": {func(*corev1.Pod) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := plainPod(namespace)
			tc.forge(pod)
			expect(t, tenant.Create(t.Context(), pod), podIdentity, tc.refusal)
		})
	}
}

func TestATenantCannotChangeAPodIntoAnExecutionNorOneIntoAnother(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	tenant := newUser(t, namespace, editsReports, edits)
	for name, tc := range map[string]struct {
		ours    bool
		change  func(*corev1.Pod)
		refusal string
	}{
		"by another token":      {true, func(p *corev1.Pod) { p.Labels[v1alpha1.LabelFencingToken] = "1" }, notOnPods},
		"by another lease":      {true, func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationLeaseKey] = "1" }, notOnPods},
		"by no labels":          {true, func(p *corev1.Pod) { p.Labels = nil }, notOnPods},
		"but add his own label": {true, func(p *corev1.Pod) { p.Labels["team"] = "finance" }, ""},
		"by ours on one of his": {false, func(p *corev1.Pod) { p.Labels = forged() }, notOnPods},
		"but by his on his":     {false, func(p *corev1.Pod) { p.Labels = map[string]string{"team": "finance"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := plainPod(namespace)
			if tc.ours {
				pod = podOf(t, execution(t, namespace))
			} else {
				created(t, pod)
			}
			tc.change(pod)
			expect(t, tenant.Update(t.Context(), pod), podIdentity, tc.refusal)
		})
	}
}

// execution makes a Job as the operator does, with the operator's rights.
func execution(t *testing.T, namespace string) *batchv1.Job {
	t.Helper()
	report := created(t, reportJob(namespace))
	const id = "0123456789abcdef0123456789abcdef"
	job, err := resources.JobFor(report, &v1alpha1.Execution{
		ID: id, Owner: id, Attempt: 1, Token: "42", LeaseKey: "leasehold:{finance/revenue}:lease",
		Job: resources.JobName(report.Name, "42", id),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := as(t, operator).Create(t.Context(), job); err != nil {
		t.Fatalf("the operator cannot create its Job: %v", err)
	}
	return job
}

// podOf makes the pod of a Job as the Job controller does, with the Job controller's rights.
func podOf(t *testing.T, job *batchv1.Job) *corev1.Pod {
	t.Helper()
	pod := plainPod(job.Namespace)
	pod.Labels, pod.Annotations = job.Spec.Template.Labels, job.Spec.Template.Annotations
	if err := as(t, jobController).Create(t.Context(), pod); err != nil {
		t.Fatalf("the Job controller cannot create the pod: %v", err)
	}
	return pod
}
