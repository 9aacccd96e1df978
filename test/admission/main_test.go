package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// admin talks to the API server as a superuser does.
var admin client.Client

// apiServer is how the API server is reached.
var apiServer *rest.Config

// bound is how long anything may take that the API server does by itself: to heed a policy or a role.
const bound = time.Minute

func TestMain(m *testing.M) {
	code, err := withPolicies(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "admission:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func withPolicies(m *testing.M) (int, error) {
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
	if err := install(context.Background()); err != nil {
		return 1, errors.Join(err, env.Stop())
	}
	code := m.Run()
	return code, env.Stop()
}

// install applies what the installer applies, and waits until the API server heeds the policies.
func install(ctx context.Context) error {
	if err := v1alpha1.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	var err error
	if admin, err = client.New(apiServer, client.Options{Scheme: scheme.Scheme}); err != nil {
		return err
	}
	manifests, err := exec.CommandContext(ctx, "../../hack/kustomize", "build", "../../config/default").Output()
	if err != nil {
		return fmt.Errorf("hack/kustomize build config/default: %w", err)
	}
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		if err := apply(ctx, document); err != nil {
			return err
		}
	}
	return heeded(ctx)
}

// apply creates one object of the installer. The CRD is there already.
func apply(ctx context.Context, document []byte) error {
	var object unstructured.Unstructured
	if err := yaml.Unmarshal(document, &object.Object); err != nil {
		return fmt.Errorf("what kustomize wrote is no YAML: %w", err)
	}
	if err := admin.Create(ctx, &object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// heeded waits until each policy refuses what it is there to refuse.
func heeded(ctx context.Context) error {
	suspect, err := grant(ctx, "default", may("create", "leasehold.dev", "reportjobs"), may("create", "batch", "jobs"),
		may("create", "", "pods"))
	if err != nil {
		return err
	}
	marked := map[string]string{v1alpha1.LabelReportJobUID: "1", v1alpha1.AnnotationForceRelease: "1"}
	report, job, pod := reportJob("default"), plainJob("default"), plainPod("default")
	report.SetAnnotations(marked)
	job.SetLabels(marked)
	pod.SetLabels(marked)
	for policy, object := range map[string]client.Object{requester: report, jobIdentity: job, podIdentity: pod} {
		refused := func(ctx context.Context) (bool, error) {
			err := suspect.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
			return deniedBy(err, policy), nil
		}
		if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, bound, true, refused); err != nil {
			return fmt.Errorf("%s refuses nothing: %w", policy, err)
		}
	}
	return nil
}
