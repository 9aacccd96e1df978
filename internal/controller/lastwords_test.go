package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestLastWordsStandInForAPodThatIsGone(t *testing.T) {
	t.Parallel()
	name := types.NamespacedName{Namespace: "finance", Name: "revenue"}
	dead := podOn("node", corev1.PodStatus{
		Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{ended("report", 143, "Error")},
	})
	alive := podOn("node", corev1.PodStatus{
		Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running("report")},
	})
	alive.UID = "another"
	var words lastWords
	for _, pod := range []*corev1.Pod{dead, alive} {
		pod.Namespace = name.Namespace
		pod.Annotations = map[string]string{v1alpha1.AnnotationReportJob: name.Name}
		pod.Labels = map[string]string{v1alpha1.LabelFencingToken: "7"}
		want := []reconcile.Request{{NamespacedName: name}}
		if diff := cmp.Diff(want, words.sawPod(t.Context(), pod)); diff != "" {
			t.Errorf("who is to be reconciled (-want +got):\n%s", diff)
		}
	}
	for what, tc := range map[string]struct {
		name    types.NamespacedName
		token   string
		present []plan.Pod
		want    []plan.Pod
	}{
		"the dead pod is known, the living one was only alive": {name: name, token: "7", want: []plan.Pod{podFact(dead)}},
		"what is there speaks for itself": {
			name: name, token: "7",
			present: []plan.Pod{{UID: dead.UID, Phase: plan.PodFailed}}, want: []plan.Pod{{UID: dead.UID, Phase: plan.PodFailed}},
		},
		"another token": {name: name, token: "8"},
		"another ReportJob": {
			name: types.NamespacedName{Namespace: "finance", Name: "other"}, token: "7",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, words.complete(tc.name, tc.token, tc.present)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLastWordsForgetADroppedReportJobAndPodsOfNobody(t *testing.T) {
	t.Parallel()
	var words lastWords
	name := types.NamespacedName{Namespace: "finance", Name: "revenue"}
	words.note(name, spoken{token: "7", pod: plan.Pod{UID: "uid"}})
	words.drop(name)
	if got := words.complete(name, "7", nil); got != nil {
		t.Errorf("after the drop: %v", got)
	}
	if got := words.sawPod(t.Context(), podOn("node", corev1.PodStatus{})); got != nil {
		t.Errorf("a pod without the annotation wakes %v", got)
	}
}
