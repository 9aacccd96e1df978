package v1alpha1_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// apiServer is how the API server is reached.
var apiServer *rest.Config

// reportJobs talks to a real API server with our CRD, as kubectl does: with strict field validation.
var reportJobs dynamic.ResourceInterface

func TestMain(m *testing.M) {
	code, err := withAPIServer(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func withAPIServer(m *testing.M) (int, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("these tests need a real API server: run make test, or " +
			`export KUBEBUILDER_ASSETS="$(hack/cluster/cluster components envtest)"`)
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	config, err := env.Start()
	if err != nil {
		return 1, errors.Join(fmt.Errorf("the API server did not start: %w", err), env.Stop())
	}
	config.QPS = -1
	apiServer = config
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return 1, errors.Join(err, env.Stop())
	}
	resource := schema.GroupVersionResource{Group: "leasehold.dev", Version: "v1alpha1", Resource: "reportjobs"}
	reportJobs = client.Resource(resource).Namespace("default")
	code := m.Run()
	return code, env.Stop()
}

// object is a ReportJob as a user writes it.
func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	var content map[string]any
	if err := yaml.UnmarshalStrict([]byte(manifest), &content); err != nil {
		t.Fatalf("the manifest of the test is no YAML: %v\n%s", err, manifest)
	}
	return &unstructured.Unstructured{Object: content}
}

// create asks the API server to take a manifest and takes it out again when the test ends.
func create(t *testing.T, manifest string) (*unstructured.Unstructured, error) {
	t.Helper()
	created, err := reportJobs.Create(t.Context(), object(t, manifest), metav1.CreateOptions{FieldValidation: "Strict"})
	if err == nil {
		t.Cleanup(func() {
			if err := reportJobs.Delete(context.Background(), created.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Errorf("clean-up: %v", err)
			}
		})
	}
	return created, err
}
