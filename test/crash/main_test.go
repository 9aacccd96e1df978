//go:build crash

package crash

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
)

const operatorNamespace = "leasehold-system"

var (
	// root is the folder of the checkout.
	root string
	// programs is the folder with the operator, built from this checkout as manager, and with the report.
	programs string
	// cluster is the way to the API server, with every right.
	cluster *rest.Config
	// table collects what the trials came to.
	table matrix

	matrixFile = flag.String("matrix", "", "file to write the matrix to, as Markdown")
)

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "crash: %v\n", err)
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (int, error) {
	var err error
	if root, err = filepath.Abs("../.."); err != nil {
		return 1, err
	}
	if programs, err = os.MkdirTemp("", "leasehold-crash-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(programs) }()
	if err := prepare(); err != nil {
		return 1, err
	}
	code := m.Run()
	fmt.Fprint(os.Stdout, table.markdown())
	if *matrixFile != "" && code == 0 {
		return code, os.WriteFile(*matrixFile, []byte(introduction+table.markdown()), 0o644)
	}
	return code, nil
}

// install brings the CRD and the roles, and no operator: a ReportJob is to have the one that its trial starts. What a run that
// failed or was interrupted left has no operator either, so its finalizers are taken off by hand.
const install = `set -e
eval "$(hack/cluster/cluster env)"
kubectl apply -f dist/install.yaml
kubectl -n ` + operatorNamespace + ` scale deployment/leasehold-controller-manager --replicas=0
kubectl -n ` + operatorNamespace + ` wait --for=delete pod -l app.kubernetes.io/name=leasehold --timeout=60s
for left in $(kubectl get namespaces -o name | sed -n 's|^namespace/\(` + namespacePrefix + `.*\)|\1|p'); do
	kubectl delete namespace --wait=false "$left"
	kubectl -n "$left" patch reportjob report --type=merge --patch '{"metadata": {"finalizers": null}}' || true
	kubectl wait --for=delete --timeout=60s "namespace/$left"
done
CGO_ENABLED=0 go build -o "$1" ./cmd/manager ./test/crash/report`

func prepare() error {
	cmd := exec.Command("bash", "-c", install, "bash", programs)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("install the CRD and the roles, and build the operator: %w", err)
	}
	path, err := exec.Command(filepath.Join(root, "hack/cluster/cluster"), "kubeconfig").Output()
	if err != nil {
		return fmt.Errorf("hack/cluster/cluster kubeconfig: %w (is the cluster up? make cluster-up)", err)
	}
	cluster, err = clientcmd.BuildConfigFromFlags("", string(bytes.TrimSpace(path)))
	if err == nil {
		cluster.QPS = -1
	}
	return err
}
