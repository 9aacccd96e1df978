package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
		if fact := podFact(pod); fact.ProvenDead() {
			words.note(name, spoken{token: "7", pod: fact})
			fact.Deleting = true
			words.note(name, spoken{token: "7", pod: fact})
		}
	}
	for what, tc := range map[string]struct {
		name    types.NamespacedName
		token   string
		present []plan.Pod
		want    []plan.Pod
	}{
		"the dead pod is known, the living one was only alive": {name: name, token: "7", want: []plan.Pod{podFact(dead)}},
		"what it said first stays true while it is there": {
			name: name, token: "7",
			present: []plan.Pod{{UID: dead.UID, Phase: plan.PodSucceeded, Deleting: true}}, want: []plan.Pod{podFact(dead)},
		},
		"who lives speaks for itself": {
			name: name, token: "7", present: []plan.Pod{podFact(alive)}, want: []plan.Pod{podFact(alive), podFact(dead)},
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
}

func TestAReplicaKeepsNoLastWordsThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("report", nil)
	_, pod := f.toRunning("report")
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	f.sawPod(pod)
	if len(f.lastWords.pods) != 1 {
		t.Error("the end of a report under way is not kept")
	}
	f.expect("report", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
	f.waitingFor(t.Context(), f.get("report"))
	f.sawPod(pod)
	if err := f.api.Delete(t.Context(), f.get("report")); err != nil {
		t.Fatal(err)
	}
	f.sawPod(pod)
	if len(f.lastWords.pods) != 0 {
		t.Errorf("kept: %+v", f.lastWords.pods)
	}
	if got := f.ReportJobReconciler.sawPod(t.Context(), podOn("node", corev1.PodStatus{})); got != nil {
		t.Errorf("a pod without the annotation wakes %v", got)
	}
}
