package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/leasehold-dev/leasehold/internal/plan"
)

func podFact(pod *corev1.Pod) plan.Pod {
	fact := plan.Pod{
		Name:     pod.Name,
		UID:      pod.UID,
		Node:     pod.Spec.NodeName,
		Phase:    plan.PodPhase(pod.Status.Phase),
		Reason:   pod.Status.Reason,
		Message:  pod.Status.Message,
		Deleting: pod.DeletionTimestamp != nil,
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case corev1.PodReady:
			fact.Ready = true
		case corev1.DisruptionTarget:
			fact.Disruption = condition.Reason
		default:
		}
	}
	containers := containersOf(pod)
	fact.Waiting = waitingFor(pod)
	fact.Started = containers.started()
	fact.Terminated = fact.Terminal() && containers.allEnded()
	fact.ExitCode, fact.ContainerReason = containers.exit()
	return fact
}

// waitingFor says what keeps a pod from running; empty while it makes its way. A pull that is repeated alternates between two
// reasons, which are told as one.
func waitingFor(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Reason
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Waiting == nil {
			continue
		}
		switch reason := status.State.Waiting.Reason; reason {
		case "", "ContainerCreating", "PodInitializing":
		case "ImagePullBackOff":
			return "ErrImagePull"
		default:
			return reason
		}
	}
	return ""
}

// containers is what the kubelet reported of a pod's containers.
type containers struct {
	// all are the reported containers in the order in which they start: init containers first, sidecars among them.
	all []reported
	// unreported counts the regular containers of which the kubelet said nothing.
	unreported int
	// unbound says that the pod never had a node.
	unbound bool
}

type reported struct {
	corev1.ContainerStatus
	// sidecar says that the container is an init container that runs along; how it exits says nothing about the report.
	sidecar bool
}

func containersOf(pod *corev1.Pod) containers {
	sidecars := map[string]bool{}
	for _, container := range pod.Spec.InitContainers {
		sidecars[container.Name] = container.RestartPolicy != nil &&
			*container.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	result := containers{
		unreported: len(pod.Spec.Containers) - len(pod.Status.ContainerStatuses),
		unbound:    pod.Spec.NodeName == "",
	}
	for _, status := range pod.Status.InitContainerStatuses {
		result.all = append(result.all, reported{ContainerStatus: status, sidecar: sidecars[status.Name]})
	}
	for _, status := range pod.Status.ContainerStatuses {
		result.all = append(result.all, reported{ContainerStatus: status})
	}
	return result
}

// neverStarted says that the runtime never made the container, as after the failure of an init container.
func (r reported) neverStarted() bool {
	return r.State.Running == nil && r.State.Terminated == nil && r.LastTerminationState.Terminated == nil &&
		r.ContainerID == ""
}

// hasRun says that a container that ended ran before. Of one that was never started, for want of its image or a Secret, or since
// its command is not there, the kubelet reports an end without a beginning: none, or 1970.
func (r reported) hasRun() bool {
	return r.State.Terminated != nil && r.State.Terminated.StartedAt.Unix() > 0
}

func (c containers) started() bool {
	for _, container := range c.all {
		if container.State.Running != nil || container.hasRun() {
			return true
		}
	}
	return false
}

// allEnded says that no process of the pod is left, by the kubelet's word. Silence is no such word, except for a pod that no
// kubelet ever had.
func (c containers) allEnded() bool {
	if c.unbound && len(c.all) == 0 {
		return true
	}
	if c.unreported > 0 {
		return false
	}
	for _, container := range c.all {
		if container.State.Terminated == nil && !container.neverStarted() {
			return false
		}
	}
	return true
}

// exit returns the exit code and reason of the first container that did not end with 0, else of the last one, or nil while
// not every container has ended.
func (c containers) exit() (code *int32, reason string) {
	if !c.allEnded() {
		return nil, ""
	}
	for _, container := range c.all {
		ended := container.State.Terminated
		if ended == nil || container.sidecar {
			continue
		}
		code, reason = &ended.ExitCode, ended.Reason
		if ended.ExitCode != 0 {
			break
		}
	}
	return code, reason
}
