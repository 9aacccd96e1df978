package controller

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// lastWords keeps what the kubelet said at the end of a pod. Of a pod that is deleted the kubelet reports the end of every
// container and then removes it, often before anybody reads: the watch has seen the proof, and a later read finds nothing.
// What was said once stays true, so it stands in for a pod that is gone. The zero value is ready.
type lastWords struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]map[types.UID]spoken
}

// spoken is the end of one pod.
type spoken struct {
	token string
	pod   plan.Pod
}

// sawPod notes the end of a pod and names its ReportJob. The label may be cut; the annotation has the whole name.
func (l *lastWords) sawPod(_ context.Context, object client.Object) []reconcile.Request {
	name := types.NamespacedName{
		Namespace: object.GetNamespace(), Name: object.GetAnnotations()[v1alpha1.AnnotationReportJob],
	}
	if name.Name == "" {
		return nil
	}
	if fact := podFact(object.(*corev1.Pod)); fact.ProvenDead() {
		l.note(name, spoken{token: object.GetLabels()[v1alpha1.LabelFencingToken], pod: fact})
	}
	return []reconcile.Request{{NamespacedName: name}}
}

func (l *lastWords) note(name types.NamespacedName, words spoken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pods == nil {
		l.pods = map[types.NamespacedName]map[types.UID]spoken{}
	}
	if l.pods[name] == nil {
		l.pods[name] = map[types.UID]spoken{}
	}
	l.pods[name][words.pod.UID] = words
}

// complete adds the pods of the token that ended and are not there any more to those that are.
func (l *lastWords) complete(name types.NamespacedName, token string, present []plan.Pod) []plan.Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(l.pods[name])) {
		words := l.pods[name][uid]
		isThere := slices.ContainsFunc(present, func(pod plan.Pod) bool { return pod.UID == uid })
		if words.token == token && !isThere {
			present = append(present, words.pod)
		}
	}
	return present
}

func (l *lastWords) drop(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pods, name)
}
