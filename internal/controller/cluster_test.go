package controller

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// The tests play what is not there: the Job controller, the kubelet and the garbage collector.

// job reads the Job of the execution; nil if there is none.
func (f *fixture) job(reportJob *v1alpha1.ReportJob) *batchv1.Job {
	f.t.Helper()
	var job batchv1.Job
	err := f.api.Get(f.t.Context(), f.key(reportJob.Status.Execution.Job), &job)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return &job
}

// startPod makes the Job's pod as the Job controller would, on a node, with its container running.
func (f *fixture) startPod(reportJob *v1alpha1.ReportJob) *corev1.Pod {
	f.t.Helper()
	job := f.job(reportJob)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: job.Name + "-", Namespace: f.namespace,
			Labels: job.Spec.Template.Labels, Annotations: job.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: job.Spec.Template.Spec,
	}
	pod.Spec.NodeName = "node-1"
	if err := f.api.Create(f.t.Context(), pod); err != nil {
		f.t.Fatal(err)
	}
	f.kubeletSays(pod, corev1.PodRunning, running("report"))
	return pod
}

// kubeletSays writes a pod's status.
func (f *fixture) kubeletSays(pod *corev1.Pod, phase corev1.PodPhase, container corev1.ContainerStatus) {
	f.t.Helper()
	pod.Status.Phase, pod.Status.ContainerStatuses = phase, []corev1.ContainerStatus{container}
	if err := f.api.Status().Update(f.t.Context(), pod); err != nil {
		f.t.Fatal(err)
	}
}

// killPod does what a kubelet does with a pod that is being deleted: it reports the end and removes the object.
func (f *fixture) killPod(pod *corev1.Pod) {
	f.t.Helper()
	if err := f.api.Get(f.t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		f.t.Fatal(err)
	}
	f.kubeletSays(pod, corev1.PodFailed, ended("report", 143, "Error"))
	if err := f.api.Delete(f.t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		f.t.Fatal(err)
	}
}

// collectJob does what the garbage collector does with a Job that was deleted in the foreground and has no pods left.
func (f *fixture) collectJob(job *batchv1.Job) {
	f.t.Helper()
	if !slices.Contains(job.Finalizers, metav1.FinalizerDeleteDependents) {
		f.t.Fatalf("Job %s was not deleted in the foreground: %v", job.Name, job.Finalizers)
	}
	job.Finalizers = nil
	if err := f.api.Update(f.t.Context(), job); err != nil {
		f.t.Fatal(err)
	}
}

// toRunning takes a ReportJob to the phase Running.
func (f *fixture) toRunning(name string) (*v1alpha1.ReportJob, *corev1.Pod) {
	f.t.Helper()
	starting := f.expect(name, v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
	pod := f.startPod(starting)
	return f.expect(name, v1alpha1.PhaseRunning, v1alpha1.ReasonPodRunning), pod
}

// sawPod is the operator's watch.
func (f *fixture) sawPod(pod *corev1.Pod) {
	f.t.Helper()
	if requests := f.ReportJobReconciler.sawPod(f.t.Context(), pod); len(requests) != 1 {
		f.t.Fatalf("pod %s wakes %v", pod.Name, requests)
	}
}

// vanish takes the finalizer off a ReportJob and deletes it, as a person may.
func (f *fixture) vanish(reportJob *v1alpha1.ReportJob) {
	f.t.Helper()
	reportJob.Finalizers = nil
	if err := f.api.Update(f.t.Context(), reportJob); err != nil {
		f.t.Fatal(err)
	}
	if err := f.api.Delete(f.t.Context(), reportJob); err != nil {
		f.t.Fatal(err)
	}
}

// collect does what the garbage collector does with a Job without its owner, and leaves the pod for later.
func (f *fixture) collect(job *batchv1.Job) {
	f.t.Helper()
	if err := f.api.Delete(f.t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		f.t.Fatal(err)
	}
}
