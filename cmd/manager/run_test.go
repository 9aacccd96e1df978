package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// startCluster starts an API server with the CRD and returns a kubeconfig and a client.
func startCluster(t *testing.T) (kubeconfig string, api client.WithWatch) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run make test, or " +
			"export KUBEBUILDER_ASSETS=$(hack/cluster/cluster components envtest)")
	}
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true,
		// Several packages start an API server at the same time, on as few as two cores.
		ControlPlaneStartTimeout: time.Minute,
	}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("envtest does not stop: %v", err)
		}
	})
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	if api, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, api
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func TestManagerServesWithoutRedisAndGivesLeadershipBackAtItsEnd(t *testing.T) {
	kubeconfig, api := startCluster(t)
	health, measures := freeAddress(t), freeAddress(t)
	opts, err := parse([]string{
		"--kubeconfig=" + kubeconfig, "--redis-address=127.0.0.1:1", "--leader-elect", "--leader-election-namespace=default",
		"--health-probe-bind-address=" + health, "--metrics-bind-address=" + measures,
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, opts) }()

	createReport(t, api)
	awaitWaiting(ctx, t, api)
	if answer := httpGet(t, "http://"+health+"/readyz"); answer != "ok" {
		t.Errorf("/readyz without Redis: %s", answer)
	}
	page := httpGet(t, "http://"+measures+"/metrics")
	for _, line := range []string{"leasehold_store_reachable 0", `leasehold_build_info{version="dev"} 1`,
		`leasehold_leases{phase="Held"} 0`} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the manager ended with %v", err)
	}
	var leader coordinationv1.Lease
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: leaderElectionID}, &leader); err != nil {
		t.Fatal(err)
	}
	if holder := leader.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("leadership is still with %s", *holder)
	}
}

func createReport(t *testing.T, api client.Client) {
	t.Helper()
	container := corev1.Container{Name: "report", Image: "report:1"}
	err := api.Create(t.Context(), &v1alpha1.ReportJob{
		ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: "default"},
		Spec: v1alpha1.ReportJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitWaiting watches the report until it waits for Redis.
func awaitWaiting(ctx context.Context, t *testing.T, api client.WithWatch) {
	t.Helper()
	watch, err := api.Watch(ctx, &v1alpha1.ReportJobList{}, client.InNamespace("default"))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if report, ok := event.Object.(*v1alpha1.ReportJob); ok && report.Status.Reason == v1alpha1.ReasonUnreachable {
			return
		}
	}
	t.Fatal("the report never said that it waits for Redis")
}

func httpGet(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
