package resources

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// JobFor returns the Job that runs one execution of a ReportJob. The execution names it; see JobName. It shares nothing with
// its arguments. The error says which duration of the spec cannot be read; the API server lets no such spec through.
func JobFor(reportJob *v1alpha1.ReportJob, execution *v1alpha1.Execution) (*batchv1.Job, error) {
	maxRuntime, err := seconds("spec.maxRuntime", reportJob.Spec.MaxRuntime)
	if err != nil {
		return nil, err
	}
	grace, err := seconds("spec.stopGracePeriod", reportJob.Spec.StopGracePeriod)
	if err != nil {
		return nil, err
	}
	template := reportJob.Spec.JobTemplate.DeepCopy()
	identity, err := identityOf(reportJob, execution)
	if err != nil {
		return nil, err
	}
	job := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            execution.Job,
			Namespace:       reportJob.Namespace,
			Labels:          merge(template.Labels, identity.labels),
			Annotations:     merge(template.Annotations, identity.annotations),
			OwnerReferences: []metav1.OwnerReference{ownerReference(reportJob)},
		},
		Spec: template.Spec,
	}
	deadline := maxRuntime + deadlineSlack
	forceJob(&job.Spec, deadline)
	forcePod(&job.Spec.Template, deadline, grace)
	if err := tolerateLostNode(&job.Spec.Template.Spec, reportJob.Spec.LeaseDuration); err != nil {
		return nil, err
	}
	identity.mark(&job.Spec.Template)
	return job, nil
}

// deadlineSlack, in seconds, is how much later than the operator the Job controller and the kubelet end a report. They count
// from start times that Kubernetes cuts to whole seconds. Were they first, a report that exits 0 on their SIGTERM would look
// like one that succeeded.
const deadlineSlack = 2

// seconds reads a duration of the spec as whole seconds, rounded up.
func seconds(field string, d v1alpha1.Duration) (int64, error) {
	parsed, err := time.ParseDuration(string(d))
	if err != nil {
		return 0, fmt.Errorf("%s is %q, which is no duration such as 30s or 1m30s: %w", field, d, err)
	}
	return int64(math.Ceil(parsed.Seconds())), nil
}

func ownerReference(reportJob *v1alpha1.ReportJob) metav1.OwnerReference {
	return *metav1.NewControllerRef(reportJob, v1alpha1.GroupVersion.WithKind("ReportJob"))
}

// forceJob sets what the operator owns of the Job. The fields set to nil are refused by the API server in a ReportJob;
// here is the second line.
func forceJob(spec *batchv1.JobSpec, deadline int64) {
	*spec = batchv1.JobSpec{
		Parallelism:           new(int32(1)),
		Completions:           new(int32(1)),
		CompletionMode:        new(batchv1.NonIndexedCompletion),
		BackoffLimit:          new(int32(0)),
		PodReplacementPolicy:  new(batchv1.Failed),
		ActiveDeadlineSeconds: new(deadline),
		Template:              spec.Template,
	}
}

func forcePod(template *corev1.PodTemplateSpec, deadline, grace int64) {
	pod := &template.Spec
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.ActiveDeadlineSeconds = new(deadline)
	pod.TerminationGracePeriodSeconds = new(grace)
	if pod.AutomountServiceAccountToken == nil {
		pod.AutomountServiceAccountToken = new(false)
	}
	for i := range pod.Containers {
		pod.Containers[i].RestartPolicy, pod.Containers[i].RestartPolicyRules = nil, nil
	}
	for i := range pod.InitContainers {
		forceInitContainer(&pod.InitContainers[i])
	}
}

// tolerateLostNode has the control plane delete the pod when its node has not answered for a leaseDuration, where Kubernetes
// waits five minutes; a template that says otherwise is left alone. The deletion is how the operator hears that the node is lost.
func tolerateLostNode(pod *corev1.PodSpec, leaseDuration v1alpha1.Duration) error {
	wait, err := seconds("spec.leaseDuration", leaseDuration)
	if err != nil {
		return err
	}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerated := func(t corev1.Toleration) bool {
			return (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if !slices.ContainsFunc(pod.Tolerations, tolerated) {
			pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
				Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(wait),
			})
		}
	}
	return nil
}

// forceInitContainer leaves an init container the one restart policy that makes it a sidecar. Any other would restart it,
// or the pod, under the pod's policy Never.
func forceInitContainer(container *corev1.Container) {
	if container.RestartPolicy != nil && *container.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		container.RestartPolicy = nil
	}
	container.RestartPolicyRules = nil
}

// identity is how an execution is known on its Job, on its pod and inside its containers.
type identity struct {
	labels      map[string]string
	annotations map[string]string
	env         []corev1.EnvVar
}

func identityOf(reportJob *v1alpha1.ReportJob, execution *v1alpha1.Execution) (identity, error) {
	trigger, err := triggerText(execution.Trigger)
	if err != nil {
		return identity{}, err
	}
	id := identity{
		labels: map[string]string{
			v1alpha1.LabelReportJob:    labelValue(reportJob.Name),
			v1alpha1.LabelReportJobUID: string(reportJob.UID),
			v1alpha1.LabelExecutionID:  execution.ID,
			v1alpha1.LabelFencingToken: execution.Token,
			v1alpha1.LabelAttempt:      strconv.Itoa(int(execution.Attempt)),
		},
		annotations: map[string]string{
			v1alpha1.AnnotationReportJob:    reportJob.Name,
			v1alpha1.AnnotationJobID:        reportJob.JobID(),
			v1alpha1.AnnotationExecutionID:  execution.ID,
			v1alpha1.AnnotationFencingToken: execution.Token,
			v1alpha1.AnnotationLeaseKey:     execution.LeaseKey,
		},
		env: []corev1.EnvVar{
			{Name: v1alpha1.EnvJobID, Value: reportJob.JobID()},
			{Name: v1alpha1.EnvExecutionID, Value: execution.ID},
			{Name: v1alpha1.EnvOccurrence, Value: reportJob.Spec.Occurrence},
			{Name: v1alpha1.EnvFencingToken, Value: execution.Token},
			{Name: v1alpha1.EnvLeaseKey, Value: execution.LeaseKey},
			{Name: v1alpha1.EnvAttempt, Value: strconv.Itoa(int(execution.Attempt))},
			{Name: v1alpha1.EnvTrigger, Value: trigger},
			{Name: v1alpha1.EnvRetryOf, Value: execution.RetryOf},
		},
	}
	for name, value := range map[string]string{
		v1alpha1.AnnotationOccurrence: reportJob.Spec.Occurrence,
		v1alpha1.AnnotationTrigger:    trigger,
		v1alpha1.AnnotationRetryOf:    execution.RetryOf,
	} {
		if value != "" {
			id.annotations[name] = value
		}
	}
	return id, nil
}

// triggerText is a trigger as JSON; empty for none.
func triggerText(trigger *v1alpha1.Trigger) (string, error) {
	if trigger == nil {
		return "", nil
	}
	text, err := json.Marshal(trigger)
	if err != nil {
		return "", fmt.Errorf("write spec.trigger as JSON: %w", err)
	}
	return string(text), nil
}

// mark puts the identity on the pod template and into every container, init containers included.
func (id identity) mark(template *corev1.PodTemplateSpec) {
	template.Labels = merge(template.Labels, id.labels)
	template.Annotations = merge(template.Annotations, id.annotations)
	for i := range template.Spec.InitContainers {
		id.tell(&template.Spec.InitContainers[i])
	}
	for i := range template.Spec.Containers {
		id.tell(&template.Spec.Containers[i])
	}
}

// tell puts the identity first into the environment of a container, so that the user's variables can refer to it, and
// drops variables of the same names.
func (id identity) tell(container *corev1.Container) {
	env := make([]corev1.EnvVar, 0, len(id.env)+len(container.Env))
	ours := make(map[string]bool, len(id.env))
	for _, variable := range id.env {
		ours[variable.Name] = true
		env = append(env, corev1.EnvVar{Name: variable.Name, Value: escape(variable.Value)})
	}
	for _, variable := range container.Env {
		if !ours[variable.Name] {
			env = append(env, variable)
		}
	}
	container.Env = env
}

// escape keeps the kubelet from reading $(NAME) in a value as a reference to another variable.
func escape(value string) string {
	return strings.ReplaceAll(value, "$", "$$")
}

// merge returns the entries of both maps; those of forced win.
func merge(template, forced map[string]string) map[string]string {
	merged := make(map[string]string, len(template)+len(forced))
	maps.Copy(merged, template)
	maps.Copy(merged, forced)
	return merged
}
