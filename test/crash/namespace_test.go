//go:build crash

package crash

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// makeNamespace makes the trial's namespace, in which pods can be made. It is deleted, without an operator, when the trial ends:
// what a finalizer held would keep it.
func (tr *trial) makeNamespace(t *testing.T) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tr.namespace}}
	if err := tr.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: tr.namespace, Name: "default"}}
	waitUntil(t, patience, func() string { return "the namespace has no service account" }, func() bool {
		return tr.client.Get(t.Context(), client.ObjectKeyFromObject(account), account) == nil
	})
	if tr.life.elected {
		tr.allowElection(t)
	}
	t.Cleanup(func() { tr.deleteNamespace(t, namespace) })
}

// allowElection gives the operator, in the trial's namespace, the rights by which a leader is elected in its own.
func (tr *trial) allowElection(t *testing.T) {
	t.Helper()
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	for object, name := range map[client.Object]string{
		&role: "leasehold-leader-election-role", &binding: "leasehold-leader-election-rolebinding",
	} {
		if err := tr.client.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: name}, object); err != nil {
			t.Fatal(err)
		}
	}
	role.ObjectMeta = metav1.ObjectMeta{Namespace: tr.namespace, Name: role.Name}
	binding.ObjectMeta = metav1.ObjectMeta{Namespace: tr.namespace, Name: binding.Name}
	for _, object := range []client.Object{&role, &binding} {
		if err := tr.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// deleteNamespace runs when the trial's operators are dead, and leaves it to the suite to wait.
func (tr *trial) deleteNamespace(t *testing.T, namespace *corev1.Namespace) {
	t.Helper()
	if t.Failed() { // for who wants to look at it; the next run removes it
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := tr.client.Delete(ctx, namespace); err != nil {
		t.Error(err)
		return
	}
	tr.leaving.Store(tr.namespace, tr.life.name)
}

// waitForNamespaces waits until every namespace that was deleted is gone.
func (s *suite) waitForNamespaces(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.leaving.Range(func(name, life any) bool {
		var namespace corev1.Namespace
		what := func() string { return fmt.Sprintf("something keeps namespace %s of %q", name, life) }
		waitUntil(t, patience, what, func() bool {
			return apierrors.IsNotFound(s.client.Get(ctx, client.ObjectKey{Name: name.(string)}, &namespace))
		})
		return true
	})
}
