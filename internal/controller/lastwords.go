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

// sawPod notes the end of a pod and names its ReportJob. The label may be cut; the annotation has the whole name. A replica that
// does not lead hears of every pod as well, so what nobody will ask for is not kept.
func (r *ReportJobReconciler) sawPod(ctx context.Context, object client.Object) []reconcile.Request {
	name := types.NamespacedName{
		Namespace: object.GetNamespace(), Name: object.GetAnnotations()[v1alpha1.AnnotationReportJob],
	}
	if name.Name == "" {
		return nil
	}
	if fact := podFact(object.(*corev1.Pod)); fact.ProvenDead() && r.isAwaited(ctx, name) {
		r.lastWords.note(name, spoken{token: object.GetLabels()[v1alpha1.LabelFencingToken], pod: fact})
	}
	return []reconcile.Request{{NamespacedName: name}}
}

// isAwaited says that the end of an execution of the ReportJob is still to be recorded, or may be.
func (r *ReportJobReconciler) isAwaited(ctx context.Context, name types.NamespacedName) bool {
	var reportJob v1alpha1.ReportJob
	err := r.Client.Get(ctx, name, &reportJob)
	return err == nil && !isFinished(&reportJob)
}

// note keeps the first words of a pod: what it said when it ended, not what was made of it since.
func (l *lastWords) note(name types.NamespacedName, words spoken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pods == nil {
		l.pods = map[types.NamespacedName]map[types.UID]spoken{}
	}
	if l.pods[name] == nil {
		l.pods[name] = map[types.UID]spoken{}
	}
	if _, told := l.pods[name][words.pod.UID]; !told {
		l.pods[name][words.pod.UID] = words
	}
}

// complete adds the pods of the token that ended and are not there any more to those that are, and lets those that ended say
// what they said first.
func (l *lastWords) complete(name types.NamespacedName, token string, present []plan.Pod) []plan.Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(l.pods[name])) {
		words := l.pods[name][uid]
		at := slices.IndexFunc(present, func(pod plan.Pod) bool { return pod.UID == uid })
		switch {
		case words.token != token:
		case at < 0:
			present = append(present, words.pod)
		default:
			present[at] = words.pod
		}
	}
	return present
}

func (l *lastWords) drop(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pods, name)
}
