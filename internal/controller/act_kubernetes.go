package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
	"github.com/leasehold-dev/leasehold/internal/resources"
)

// refusal is the result of a Job that cannot be, or not now.
func refusal(err error) (plan.Result, error) {
	return plan.JobRefused{Message: err.Error(), MayPass: apierrors.IsForbidden(err) && !isEnding(err)}, nil
}

// isEnding says that the namespace is being deleted: nothing is created in it any more.
func isEnding(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }

// createJob creates the Job of the execution that is written down. Two looks come before it: a live one at the ReportJob,
// since the one that was decided on may be outdated, and one at the engine, since the lease may have gone meanwhile.
func (a *actor) createJob(ctx context.Context, action plan.CreateJob) (plan.Result, error) {
	if err := a.stillWanted(ctx, action); err != nil {
		return nil, err
	}
	job, err := resources.JobFor(a.reportJob, a.reportJob.Status.Execution)
	if err != nil {
		return refusal(err)
	}
	if phase := a.view(a.name, refOf(a.reportJob.Status.Execution)).Phase; phase != plan.LeaseHeld {
		return nil, a.outdated(fmt.Errorf("the lease is %s", phase))
	}
	if !a.Leadership.MayAct() { // the live read took its time
		return nil, errNotLeading
	}
	err = a.Client.Create(ctx, job)
	switch {
	case err == nil:
		return plan.JobCreated{UID: job.UID}, nil
	case apierrors.IsAlreadyExists(err):
		return a.adoptJob(ctx, job)
	case refusedForGood(err):
		return refusal(err)
	default:
		return nil, fmt.Errorf("create Job %s/%s: %w", job.Namespace, job.Name, err)
	}
}

// stillWanted reads the ReportJob live and compares what the creation rests on. Any other change is found by the status write.
func (a *actor) stillWanted(ctx context.Context, action plan.CreateJob) error {
	var live v1alpha1.ReportJob
	if err := a.Live.Get(ctx, a.name, &live); err != nil {
		return fmt.Errorf("read ReportJob %s before its Job is created: %w", a.name, err)
	}
	switch {
	case live.UID != a.reportJob.UID || live.DeletionTimestamp != nil:
		return a.outdated(errors.New("it was deleted"))
	case live.Status.Execution == nil || live.Status.Execution.Job != action.Name:
		return a.outdated(errors.New("its execution is another"))
	case live.Status.Stop != nil || live.Status.Completion != nil:
		return a.outdated(errors.New("its execution is to stop"))
	case live.Generation != a.reportJob.Generation:
		return a.outdated(errors.New("its spec changed"))
	}
	return nil
}

// outdated is the conflict of a decision with what is true by now: the next look decides anew, and nothing went wrong.
func (a *actor) outdated(cause error) error {
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("reportjobs").GroupResource(), a.name.Name, cause)
}

// adoptJob looks at what has the Job's name already.
func (a *actor) adoptJob(ctx context.Context, want *batchv1.Job) (plan.Result, error) {
	var found batchv1.Job
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(want), &found); err != nil {
		return nil, fmt.Errorf("read Job %s/%s, which exists already: %w", want.Namespace, want.Name, err)
	}
	token := found.Labels[v1alpha1.LabelFencingToken]
	if metav1.IsControlledBy(&found, a.reportJob) && token == a.reportJob.Status.Execution.Token {
		return plan.JobCreated{UID: found.UID}, nil
	}
	return plan.JobRefused{Message: fmt.Sprintf(
		"a Job named %s exists and is not this execution's (UID %s, fencing token %q); it was left alone",
		found.Name, found.UID, token)}, nil
}

// refusedForGood says that it is no use to try the same Job again at once: it is invalid, or a policy, a webhook, a quota or the
// end of its namespace forbids it.
func refusedForGood(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}

// deleteJob names the propagation, because the API's default for Jobs leaves the pods alone. Foreground keeps the Job, and so
// the knowledge of it, until its pods are gone; a Job that is being deleted makes no new ones.
func (a *actor) deleteJob(ctx context.Context, action plan.DeleteJob) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: a.name.Namespace, Name: action.Name}}
	err := a.Client.Delete(ctx, job, client.Preconditions{UID: &action.UID},
		client.PropagationPolicy(metav1.DeletePropagationForeground))
	if goneOrAnother(err) {
		return nil
	}
	return wrap(err, "delete Job %s/%s", a.name.Namespace, action.Name)
}

func (a *actor) deletePods(ctx context.Context, action plan.DeletePods) error {
	var errs []error
	for _, ref := range action.Pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.name.Namespace, Name: ref.Name}}
		err := a.Client.Delete(ctx, pod, client.Preconditions{UID: &ref.UID},
			client.GracePeriodSeconds(int64(action.Grace/time.Second)))
		if !goneOrAnother(err) {
			errs = append(errs, wrap(err, "delete pod %s/%s", a.name.Namespace, ref.Name))
		}
	}
	return errors.Join(errs...)
}

// goneOrAnother says that the object with the UID is gone: nothing has its name, or something else has.
func goneOrAnother(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}

// deleteReportJob deletes the very object that was observed: one that was changed meanwhile is looked at again.
func (a *actor) deleteReportJob(ctx context.Context) error {
	preconditions := client.Preconditions{UID: &a.reportJob.UID, ResourceVersion: &a.reportJob.ResourceVersion}
	err := a.Client.Delete(ctx, a.reportJob, preconditions, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return wrap(client.IgnoreNotFound(err), "delete the finished ReportJob %s", a.name)
}

func (a *actor) addFinalizer(ctx context.Context) error {
	before := a.reportJob.DeepCopy()
	if !controllerutil.AddFinalizer(a.reportJob, v1alpha1.Finalizer) {
		return nil
	}
	return a.patchMetadata(ctx, before)
}

func (a *actor) removeFinalizer(ctx context.Context) error {
	before := a.reportJob.DeepCopy()
	a.acted.letGo = before.DeletionTimestamp != nil
	if !controllerutil.RemoveFinalizer(a.reportJob, v1alpha1.Finalizer) {
		return nil
	}
	err := a.patchMetadata(ctx, before)
	a.acted.letGo = a.acted.letGo || apierrors.IsNotFound(err)
	return client.IgnoreNotFound(err)
}

func (a *actor) patchMetadata(ctx context.Context, before *v1alpha1.ReportJob) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, a.reportJob, patch); err != nil {
		return wrap(err, "write the finalizers of ReportJob %s", a.name)
	}
	a.written.note(a.reportJob)
	return nil
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
