package controller

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// observe gathers what one decision may know, from the cache.
func (r *ReportJobReconciler) observe(ctx context.Context, reportJob *v1alpha1.ReportJob) (*plan.Observation, error) {
	observation, err := r.observeWith(ctx, childReader{reader: r.Client}, reportJob)
	if err != nil {
		return nil, err
	}
	return observation, r.observeOthers(ctx, observation)
}

// observeLive reads the ReportJob and all that belongs to it from the API server, pods last: a pod that is absent then was
// absent after its Job was seen. It returns nil and no error when there is no ReportJob.
func (r *ReportJobReconciler) observeLive(ctx context.Context, name types.NamespacedName) (*plan.Observation, error) {
	reportJob, err := r.read(ctx, r.Live, name)
	if reportJob == nil {
		return nil, err
	}
	observation, err := r.observeWith(ctx, childReader{reader: r.Live, live: true}, reportJob)
	if err != nil {
		return nil, err
	}
	observation.Live = true
	if err := r.observeOthers(ctx, observation); err != nil {
		return nil, err
	}
	return observation, nil
}

func (r *ReportJobReconciler) observeWith(
	ctx context.Context, read childReader, reportJob *v1alpha1.ReportJob,
) (observation *plan.Observation, err error) {
	observation = &plan.Observation{ReportJob: reportJob}
	read.reportJob, read.execution = reportJob, reportJob.Status.Execution
	if observation.Job, err = read.job(ctx); err != nil {
		return nil, err
	}
	if observation.Strays, err = read.strays(ctx); err != nil {
		return nil, err
	}
	if observation.Pods, err = read.pods(ctx, observation.Job); err != nil {
		return nil, err
	}
	name := client.ObjectKeyFromObject(reportJob)
	switch {
	case isFinished(reportJob):
		r.lastWords.drop(name)
	case read.execution != nil:
		observation.Pods = r.lastWords.complete(name, read.execution.Token, observation.Pods)
	}
	if read.execution != nil {
		observation.Lease = r.view(name, refOf(read.execution))
	}
	return observation, nil
}

// childReader reads the Jobs and pods of one ReportJob.
type childReader struct {
	reader client.Reader
	// live says that the reader has no cache.
	live      bool
	reportJob *v1alpha1.ReportJob
	execution *v1alpha1.Execution
}

// job reads the Job of the execution, by name: a Job of another that took the name must be seen too.
func (c childReader) job(ctx context.Context) (*plan.Job, error) {
	if c.execution == nil {
		return nil, nil
	}
	var job batchv1.Job
	name := types.NamespacedName{Namespace: c.reportJob.Namespace, Name: c.execution.Job}
	err := c.reader.Get(ctx, name, &job)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Job %s: %w", name, err)
	}
	fact := c.jobFact(&job)
	return &fact, nil
}

func (c childReader) strays(ctx context.Context) ([]plan.Job, error) {
	var jobs batchv1.JobList
	err := c.reader.List(ctx, &jobs, client.InNamespace(c.reportJob.Namespace),
		client.MatchingLabels{v1alpha1.LabelReportJobUID: string(c.reportJob.UID)})
	if err != nil {
		return nil, fmt.Errorf("list the Jobs of ReportJob %s/%s: %w", c.reportJob.Namespace, c.reportJob.Name, err)
	}
	var strays []plan.Job
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, c.reportJob) && !c.hasToken(job) {
			strays = append(strays, c.jobFact(job))
		}
	}
	return strays, nil
}

// pods reads the pods of the execution. Those that lost our labels are found by those that the Job controller gave them, and the
// recorded one by its name; the cache holds neither, so these are found by a live read only.
func (c childReader) pods(ctx context.Context, job *plan.Job) ([]plan.Pod, error) {
	if c.execution == nil {
		return nil, nil
	}
	found, err := c.list(ctx, nil, client.MatchingLabels{
		v1alpha1.LabelReportJobUID: string(c.reportJob.UID),
		v1alpha1.LabelFencingToken: c.execution.Token,
	})
	if uid := c.jobUID(job); err == nil && c.live && uid != "" {
		found, err = c.list(ctx, found, client.MatchingLabels{batchv1.ControllerUidLabel: string(uid)})
	}
	if recorded := c.execution.PodUID; err == nil && c.live && recorded != "" {
		found, err = c.recorded(ctx, found, recorded)
	}
	return found, err
}

// recorded adds the pod that the status names, if it is there and not found yet.
func (c childReader) recorded(ctx context.Context, found []plan.Pod, uid types.UID) ([]plan.Pod, error) {
	if hasPod(found, uid) {
		return found, nil
	}
	named, err := c.list(ctx, nil, client.MatchingFields{"metadata.name": c.execution.Pod})
	if err != nil || !hasPod(named, uid) {
		return found, err
	}
	return append(found, named...), nil
}

// list adds the pods of the namespace that an option selects to those that were found.
func (c childReader) list(ctx context.Context, found []plan.Pod, selected client.ListOption) ([]plan.Pod, error) {
	var pods corev1.PodList
	if err := c.reader.List(ctx, &pods, client.InNamespace(c.reportJob.Namespace), selected); err != nil {
		return nil, fmt.Errorf("list the pods of ReportJob %s/%s: %w", c.reportJob.Namespace, c.reportJob.Name, err)
	}
	for i := range pods.Items {
		if !hasPod(found, pods.Items[i].UID) {
			found = append(found, podFact(&pods.Items[i]))
		}
	}
	return found, nil
}

func hasPod(pods []plan.Pod, uid types.UID) bool {
	return slices.ContainsFunc(pods, func(pod plan.Pod) bool { return pod.UID == uid })
}

// jobUID is the UID of the execution's Job; empty while none is known.
func (c childReader) jobUID(job *plan.Job) types.UID {
	if job != nil && job.Ours {
		return job.UID
	}
	return c.execution.JobUID
}

func (c childReader) hasToken(object client.Object) bool {
	return c.execution != nil && object.GetLabels()[v1alpha1.LabelFencingToken] == c.execution.Token
}

func (c childReader) jobFact(job *batchv1.Job) plan.Job {
	return plan.Job{
		Name:      job.Name,
		UID:       job.UID,
		Ours:      c.isOurs(job),
		Deleting:  job.DeletionTimestamp != nil,
		Suspended: job.Spec.Suspend != nil && *job.Spec.Suspend,
		Ended:     jobEnd(job),
	}
}

// isOurs knows the Job that was created by its UID, whatever was done to its owner references since, and one that was created
// and not written down yet by its owner and token.
func (c childReader) isOurs(job *batchv1.Job) bool {
	if c.execution != nil && c.execution.JobUID != "" {
		return job.UID == c.execution.JobUID
	}
	return metav1.IsControlledBy(job, c.reportJob) && c.hasToken(job)
}

// jobEnd reads the terminal condition. Counters and the earlier signals FailureTarget and SuccessCriteriaMet do not count:
// they appear while the pod still runs.
func jobEnd(job *batchv1.Job) *plan.JobEnd {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete, batchv1.JobFailed:
			return &plan.JobEnd{
				Complete: condition.Type == batchv1.JobComplete,
				Reason:   condition.Reason,
				Message:  condition.Message,
			}
		default:
		}
	}
	return nil
}
