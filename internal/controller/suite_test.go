package controller

import (
	"fmt"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

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
	}
	apiServer.config, apiServer.err = apiServer.env.Start()
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
