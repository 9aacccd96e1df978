package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/internal/plan"
)

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, ContainerID: "containerd://" + name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
}

func ended(name string, code int32, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, ContainerID: "containerd://" + name,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, StartedAt: metav1.NewTime(noon),
		}},
	}
}

// neverRan is how the kubelet reports the end of a container that it could not start.
func neverRan(name string, startedAt metav1.Time) corev1.ContainerStatus {
	status := ended(name, 137, "ContainerStatusUnknown")
	status.State.Terminated.StartedAt = startedAt
	return status
}

func waiting(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
	}
}

// podOn is a pod on a node with one init container, one sidecar and one report container.
func podOn(node string, status corev1.PodStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "uid"},
		Spec: corev1.PodSpec{
			NodeName: node,
			InitContainers: []corev1.Container{
				{Name: "fetch"}, {Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			},
			Containers: []corev1.Container{{Name: "report"}},
		},
		Status: status,
	}
}

type podFactCase struct {
	node   string
	status corev1.PodStatus
	want   plan.Pod
}

var podFactCases = map[string]podFactCase{
	"a pod that nobody took up runs nothing": {
		status: corev1.PodStatus{Phase: corev1.PodPending},
		want:   plan.Pod{Phase: plan.PodPending},
	},
	"a running pod": {
		node: "node", status: corev1.PodStatus{
			Phase:                 corev1.PodRunning,
			InitContainerStatuses: []corev1.ContainerStatus{ended("fetch", 0, "Completed"), running("sidecar")},
			ContainerStatuses:     []corev1.ContainerStatus{running("report")},
			Conditions:            []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
		want: plan.Pod{Phase: plan.PodRunning, Started: true, Ready: true},
	},
	"success": {
		node: "node", status: corev1.PodStatus{
			Phase:                 corev1.PodSucceeded,
			InitContainerStatuses: []corev1.ContainerStatus{ended("fetch", 0, "Completed"), ended("sidecar", 143, "Error")},
			ContainerStatuses:     []corev1.ContainerStatus{ended("report", 0, "Completed")},
		},
		want: plan.Pod{
			Phase: plan.PodSucceeded, Started: true, Terminated: true, ExitCode: new(int32(0)), ContainerReason: "Completed",
		},
	},
	"an image that cannot be pulled": {
		node: "node", status: corev1.PodStatus{
			Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{neverRan("report", metav1.Time{})},
		},
		want: plan.Pod{
			Phase: plan.PodFailed, Terminated: true, ExitCode: new(int32(137)), ContainerReason: "ContainerStatusUnknown",
		},
	},
	"a command that is not there": {
		node: "node", status: corev1.PodStatus{
			Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{neverRan("report", metav1.Unix(0, 0))},
		},
		want: plan.Pod{
			Phase: plan.PodFailed, Terminated: true, ExitCode: new(int32(137)), ContainerReason: "ContainerStatusUnknown",
		},
	},
	"out of memory": {
		node: "node", status: corev1.PodStatus{
			Phase:             corev1.PodFailed,
			ContainerStatuses: []corev1.ContainerStatus{ended("report", 137, "OOMKilled")},
		},
		want: plan.Pod{
			Phase: plan.PodFailed, Started: true, Terminated: true, ExitCode: new(int32(137)), ContainerReason: "OOMKilled",
		},
	},
	"an init container failed, so the report never began": {
		node: "node", status: corev1.PodStatus{
			Phase:                 corev1.PodFailed,
			InitContainerStatuses: []corev1.ContainerStatus{ended("fetch", 3, "Error"), waiting("sidecar")},
			ContainerStatuses:     []corev1.ContainerStatus{waiting("report")},
		},
		want: plan.Pod{
			Phase: plan.PodFailed, Started: true, Terminated: true, ExitCode: new(int32(3)), ContainerReason: "Error",
		},
	},
	"written off while its container runs, so nothing is proven": {
		node: "node", status: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "NodeLost",
			ContainerStatuses: []corev1.ContainerStatus{running("report")},
			Conditions: []corev1.PodCondition{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: plan.DisruptedByPodGC},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse},
			},
		},
		want: plan.Pod{
			Phase: plan.PodFailed, Reason: "NodeLost", Started: true, Disruption: plan.DisruptedByPodGC,
		},
	},
	"failed and silent on a node, so nothing is proven": {
		node: "node", status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu"},
		want: plan.Pod{Phase: plan.PodFailed, Reason: "OutOfcpu"},
	},
	"failed before it had a node": {
		status: corev1.PodStatus{Phase: corev1.PodFailed},
		want:   plan.Pod{Phase: plan.PodFailed, Terminated: true},
	},
}

func TestPodFactTellsWhatTheKubeletSaid(t *testing.T) {
	t.Parallel()
	for name, tc := range podFactCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.Name, tc.want.UID, tc.want.Node = "pod", "uid", tc.node
			if diff := cmp.Diff(tc.want, podFact(podOn(tc.node, tc.status))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodSaysWhatKeepsItFromRunning(t *testing.T) {
	t.Parallel()
	waits := func(reason string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"nothing": {corev1.PodStatus{}, ""},
		"no node that has room": {corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: "PodScheduled", Status: "False", Reason: "Unschedulable"}}}, "Unschedulable"},
		"the usual way":              {corev1.PodStatus{ContainerStatuses: waits("ContainerCreating")}, ""},
		"an image that is no name":   {corev1.PodStatus{ContainerStatuses: waits("InvalidImageName")}, "InvalidImageName"},
		"an image that is not there": {corev1.PodStatus{ContainerStatuses: waits("ImagePullBackOff")}, "ErrImagePull"},
		"what an init container waits for": {corev1.PodStatus{InitContainerStatuses: waits("CreateContainerConfigError"),
			ContainerStatuses: waits("PodInitializing")}, "CreateContainerConfigError"},
		"nothing, when it runs": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running("report")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := podFact(podOn("node", tc.status)).Waiting; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
