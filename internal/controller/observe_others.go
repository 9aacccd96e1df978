package controller

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// observeOthers gathers what others of the jobID say to a ReportJob that needs a lease, or has one and no Job yet.
func (r *ReportJobReconciler) observeOthers(ctx context.Context, observation *plan.Observation) error {
	reportJob := observation.ReportJob
	execution := reportJob.Status.Execution
	if isFinished(reportJob) || (execution != nil && (execution.JobUID != "" || observation.Job != nil)) {
		return nil
	}
	k := kin{ReportJobReconciler: r, of: reportJob}
	if err := k.read(ctx, observation.Live && execution != nil); err != nil {
		return err
	}
	if execution == nil {
		observation.Floor, observation.Longest = k.floor(), k.longest()
		observation.Ahead = plan.Ahead(reportJob, k.others)
		observation.LeaseKeyDenied = !r.SharedLeaseKeys.Allow(reportJob.Namespace, reportJob.Spec.LeaseKey)
	}
	traces, err := k.traces(ctx)
	if err != nil {
		return err
	}
	observation.Siblings = plan.SiblingsOf(reportJob, k.others, traces)
	return nil
}

// kin are the ReportJobs that share one lease: those of one jobID in a namespace, or of one leaseKey anywhere.
type kin struct {
	*ReportJobReconciler
	of *v1alpha1.ReportJob
	// others are all of them that are known, the one in question included.
	others []*v1alpha1.ReportJob
}

// read lists the ReportJobs. Those of the cache will do, with this process's own writes: who asks for a lease too early is told
// apart before its Job is created. For that a live observation looks also for executions that the cache does not show yet.
func (k *kin) read(ctx context.Context, live bool) error {
	var all v1alpha1.ReportJobList
	err := k.Client.List(ctx, &all, client.InNamespace(k.namespace()), client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the ReportJobs that share lease %s: %w", leaseOf(k.of), err)
	}
	for i := range all.Items {
		if err := k.add(ctx, &all.Items[i]); err != nil {
			return err
		}
	}
	if live {
		return k.readLive(ctx)
	}
	return nil
}

// namespace is where they are; empty for everywhere.
func (k *kin) namespace() string {
	if k.of.Spec.LeaseKey != "" {
		return ""
	}
	return k.of.Namespace
}

// counts says that what is in a namespace can have the lease. Where a leaseKey is not allowed, nothing ever gets it, and whatever
// claims to have it there is somebody's attempt to stand in the way.
func (k *kin) counts(namespace string) bool {
	return k.SharedLeaseKeys.Allow(namespace, k.of.Spec.LeaseKey)
}

func (k *kin) add(ctx context.Context, found *v1alpha1.ReportJob) error {
	if !plan.SharesLease(found, k.of) || !k.counts(found.Namespace) {
		return nil
	}
	if k.written.isOlder(found) {
		live, err := k.ReportJobReconciler.read(ctx, k.Live, client.ObjectKeyFromObject(found))
		if err != nil {
			return err
		}
		if live == nil {
			return nil
		}
		found = live
	}
	k.others = append(k.others, found)
	return nil
}

// readLive replaces what the cache says of executions by what the API server says.
func (k *kin) readLive(ctx context.Context) error {
	var live v1alpha1.ReportJobList
	err := k.Live.List(ctx, &live, client.InNamespace(k.namespace()), client.MatchingFieldsSelector{Selector: fields.AndSelectors(
		fields.OneTermEqualSelector("status.execution.leaseKey", k.of.Status.Execution.LeaseKey),
		fields.OneTermNotEqualSelector("status.phase", string(v1alpha1.PhaseSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(v1alpha1.PhaseFailed)),
	)})
	if err != nil {
		return fmt.Errorf("list the executions under lease %s: %w", leaseOf(k.of), err)
	}
	known := k.others
	k.others = nil
	for i := range live.Items {
		if k.counts(live.Items[i].Namespace) {
			k.others = append(k.others, &live.Items[i])
		}
	}
	for _, other := range known {
		if !plan.HoldsLease(other) {
			k.others = append(k.others, other)
		}
	}
	return nil
}

// floor is the highest token that is written down for the jobID.
func (k *kin) floor() string {
	var floor lease.Token
	for _, other := range k.others {
		// What is no token was not written by an operator.
		if token, err := lease.ParseToken(other.Status.LastToken); err == nil {
			floor = max(floor, token)
		}
	}
	return tokenText(floor)
}

// longest is the longest lease that any ReportJob of the jobID may hold.
func (k *kin) longest() time.Duration {
	var longest time.Duration
	for _, other := range k.others {
		if timing, err := timingOf(&other.Spec); err == nil {
			longest = max(longest, timing.LeaseDuration)
		}
	}
	return longest
}

// traces finds the Jobs of the jobID that may start a pod, and the pods that have not ended, from the cache: those of an
// execution that is not finished are known by its status.
func (k *kin) traces(ctx context.Context) ([]plan.Trace, error) {
	var pods corev1.PodList
	ours := client.HasLabels{v1alpha1.LabelReportJobUID}
	if err := k.Client.List(ctx, &pods, client.InNamespace(k.namespace()), ours, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the pods under lease %s: %w", leaseOf(k.of), err)
	}
	var jobs batchv1.JobList
	if err := k.Client.List(ctx, &jobs, client.InNamespace(k.namespace()), ours, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Jobs under lease %s: %w", leaseOf(k.of), err)
	}
	traces, ended := k.podTraces(pods.Items)
	for i := range jobs.Items {
		if job := &jobs.Items[i]; k.isKin(job) && mayStartPods(job) && !ended[executionOf(job)] {
			traces = append(traces, k.trace(job))
		}
	}
	return traces, nil
}

// podTraces finds the pods that have not ended, and the executions of which one has: their Jobs start no second one.
func (k *kin) podTraces(pods []corev1.Pod) (traces []plan.Trace, ended map[string]bool) {
	ended = map[string]bool{}
	for i := range pods {
		pod := &pods[i]
		switch {
		case !k.isKin(pod):
		case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
			ended[executionOf(pod)] = true
		default:
			trace := k.trace(pod)
			trace.Pod, trace.Node = pod.Name, pod.Spec.NodeName
			traces = append(traces, trace)
		}
	}
	return traces, ended
}

func mayStartPods(job *batchv1.Job) bool { return job.DeletionTimestamp == nil && jobEnd(job) == nil }

func (k *kin) isKin(object client.Object) bool {
	return object.GetAnnotations()[v1alpha1.AnnotationLeaseKey] == leaseOf(k.of).LeaseKey() && k.counts(object.GetNamespace())
}

func (k *kin) trace(object client.Object) plan.Trace {
	labels := object.GetLabels()
	trace := plan.Trace{
		ReportJob: object.GetAnnotations()[v1alpha1.AnnotationReportJob],
		UID:       types.UID(labels[v1alpha1.LabelReportJobUID]),
		Owner:     labels[v1alpha1.LabelExecutionID],
		Token:     labels[v1alpha1.LabelFencingToken],
		Deleting:  object.GetDeletionTimestamp() != nil,
		Gone:      true,
	}
	for _, other := range k.others {
		trace.Gone = trace.Gone && other.UID != trace.UID
	}
	return trace
}

// executionOf tells executions apart by their labels.
func executionOf(object client.Object) string {
	labels := object.GetLabels()
	return labels[v1alpha1.LabelReportJobUID] + "|" + labels[v1alpha1.LabelFencingToken]
}
