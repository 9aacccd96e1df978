package admission

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// The policies, by the names under which they are installed.
const (
	requester   = "leasehold-reportjob-requester"
	jobIdentity = "leasehold-job-identity"
	podIdentity = "leasehold-pod-identity"
)

// Those who are no tenants, and have the roles that the installer and the API server give them.
const (
	operator          = "system:serviceaccount:leasehold-system:leasehold-controller-manager"
	jobController     = "system:serviceaccount:kube-system:job-controller"
	cronJobController = "system:serviceaccount:kube-system:cronjob-controller"
	replicaSets       = "system:serviceaccount:kube-system:replicaset-controller"
)

// editor is the ClusterRole for those who start and end reports, which the installer brings.
const editor = "leasehold-reportjob-editor-role"

// edit is what Kubernetes gathers in its ClusterRole edit; nobody gathers here.
const edit = "system:aggregate-to-edit"

// Numbers of what the tests make, for names of their own.
var users, namespaces, bindings atomic.Int64

// newNamespace is a namespace of the test's own. There is nobody who would remove it.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := fmt.Sprintf("tenant-%d", namespaces.Add(1))
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	return namespace
}

// as acts as somebody who is there already.
func as(t *testing.T, name string) client.Client {
	t.Helper()
	user, err := impersonate(name)
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// newUser is a user with some rights in a namespace, and none elsewhere.
func newUser(t *testing.T, namespace string, rights ...right) client.Client {
	t.Helper()
	user, err := grant(t.Context(), namespace, rights...)
	if err != nil {
		t.Fatal(err)
	}
	return user
}

func impersonate(name string) (client.Client, error) {
	config := rest.CopyConfig(apiServer)
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	return client.New(config, client.Options{Scheme: admin.Scheme(), Mapper: admin.RESTMapper()})
}

// right is a verb on a resource, or all of a ClusterRole that holds this one.
type right struct {
	role                               string
	verb, group, resource, subresource string
}

// may is a right to a resource; a subresource is written resource/subresource.
func may(verb, group, resource string) right {
	resource, subresource, _ := strings.Cut(resource, "/")
	return right{verb: verb, group: group, resource: resource, subresource: subresource}
}

// with adds to a right that it comes with a ClusterRole.
func (r right) with(role string) right {
	r.role = role
	return r
}

// The rights of editors of ReportJobs, and of those who have the ClusterRole edit of Kubernetes.
var (
	editsReports = may("update", "leasehold.dev", "reportjobs").with(editor)
	edits        = may("create", "batch", "jobs").with(edit)
)

// grant makes a user with rights in a namespace.
func grant(ctx context.Context, namespace string, rights ...right) (client.Client, error) {
	name := fmt.Sprintf("user-%d", users.Add(1))
	for _, right := range rights {
		if err := grantTo(ctx, name, namespace, right); err != nil {
			return nil, err
		}
	}
	return impersonate(name)
}

// grantTo gives a user a right in a namespace, and waits until the API server heeds it.
func grantTo(ctx context.Context, name, namespace string, r right) error {
	if err := bind(ctx, r, rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, bindings.Add(1))},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}); err != nil {
		return err
	}
	granted := func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: name, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: r.verb, Group: r.group, Resource: r.resource, Subresource: r.subresource,
			},
		}}
		err := admin.Create(ctx, review)
		return review.Status.Allowed, err
	}
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, bound, true, granted); err != nil {
		return fmt.Errorf("%s is not granted %+v in %s: %w", name, r, namespace, err)
	}
	return nil
}

// bind gives a right to whom a binding names, with a Role of the binding's name if it is of no ClusterRole.
func bind(ctx context.Context, r right, binding rbacv1.RoleBinding) error {
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.role}
	if r.role == "" {
		binding.RoleRef.Kind, binding.RoleRef.Name = "Role", binding.Name
		resource := strings.TrimSuffix(r.resource+"/"+r.subresource, "/")
		role := &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: binding.Namespace, Name: binding.Name},
			Rules: []rbacv1.PolicyRule{{
				Verbs: []string{r.verb}, APIGroups: []string{r.group}, Resources: []string{resource},
			}},
		}
		if err := admin.Create(ctx, role); err != nil {
			return err
		}
	}
	return admin.Create(ctx, &binding)
}

// deniedBy says that a policy refused a request.
func deniedBy(err error, policy string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'")
}

// expect compares an answer with what it should be: nil if words is empty, else a refusal by the policy with these words.
func expect(t *testing.T, err error, policy, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Errorf("refused: %v", err)
	case words == "":
	case err == nil:
		t.Errorf("allowed, want a refusal by %s: ...%s...", policy, words)
	case !deniedBy(err, policy) || !strings.Contains(err.Error(), words):
		t.Errorf("got %v, want a refusal by %s: ...%s...", err, policy, words)
	}
}

// podSpec is the least that a pod needs.
func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "report", Image: "report:1"}},
	}
}

func reportJob(namespace string) *v1alpha1.ReportJob {
	return &v1alpha1.ReportJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "report-"},
		Spec: v1alpha1.ReportJobSpec{Suspend: true, JobTemplate: batchv1.JobTemplateSpec{
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: podSpec()}},
		}},
	}
}

func plainJob(namespace string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "job-"},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: podSpec()}},
	}
}

func plainPod(namespace string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "pod-"}, Spec: podSpec()}
}

// created lets the admin create an object.
func created[T client.Object](t *testing.T, object T) T {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}
