package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// apiServer is a real API server and etcd, started by the first test that needs them. There is no Job controller, no
// garbage collector and no kubelet: the tests play them.
var apiServer struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if apiServer.env != nil {
		if err := apiServer.env.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "envtest does not stop: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

func restConfig(t *testing.T) *rest.Config {
	t.Helper()
	apiServer.once.Do(startAPIServer)
	if apiServer.err != nil {
		t.Fatal(apiServer.err)
	}
	return apiServer.config
}

func startAPIServer() {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		apiServer.err = fmt.Errorf("KUBEBUILDER_ASSETS is not set: run make test, or " +
			"export KUBEBUILDER_ASSETS=$(hack/cluster/cluster components envtest)")
		return
	}
	apiServer.env = &envtest.Environment{
		CRDDirectoryPaths:     []string{"../../config/crd/bases"},
		ErrorIfCRDPathMissing: true,
		// Several packages start an API server at the same time, on as few as two cores.
		ControlPlaneStartTimeout: time.Minute,
	}
	apiServer.config, apiServer.err = apiServer.env.Start()
}

// operator is a user of the API server with the rights of config/rbac/role.yaml and no others.
var operator struct {
	once   sync.Once
	config *rest.Config
	err    error
}

func operatorConfig(t *testing.T) *rest.Config {
	t.Helper()
	admin := restConfig(t)
	operator.once.Do(func() { operator.config, operator.err = addOperator(t.Context(), admin) })
	if operator.err != nil {
		t.Fatal(operator.err)
	}
	return operator.config
}

func addOperator(ctx context.Context, admin *rest.Config) (*rest.Config, error) {
	manifest, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(manifest, &role); err != nil {
		return nil, err
	}
	api, err := client.New(admin, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
	}
	if err := errors.Join(api.Create(ctx, &role), api.Create(ctx, binding)); err != nil {
		return nil, err
	}
	user, err := apiServer.env.AddUser(envtest.User{Name: "operator"}, nil)
	if err != nil {
		return nil, err
	}
	config := user.Config()
	config.QPS = -1 // as the operator: the API server's own fairness bounds it
	return config, nil
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// newNamespace returns a client that reads and writes without a cache, and a namespace of the test's own.
func newNamespace(t *testing.T) (client.WithWatch, string) {
	t.Helper()
	api, err := client.NewWithWatch(restConfig(t), client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := api.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return api, namespace.Name
}
