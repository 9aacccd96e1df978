//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	operatorNamespace = "leasehold-system"
	namespace         = "leasehold-e2e"
)

// root is the folder of the checkout.
var root string

func TestMain(m *testing.M) {
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (int, error) {
	var err error
	if root, err = filepath.Abs("../.."); err != nil {
		return 1, err
	}
	if err := useCluster(); err != nil {
		return 1, err
	}
	if err := stream("hack/deploy-local"); err != nil {
		return 1, fmt.Errorf("the operator could not be deployed: %w", err)
	}
	if err := freshNamespace(); err != nil {
		return 1, err
	}
	code := m.Run()
	if code != 0 {
		_ = stream("hack/dump", namespace)
	}
	return code, nil
}

// useCluster points kubectl at the cluster: KUBECONFIG and, for the local cluster, the kubectl that was compiled for it.
func useCluster() error {
	out, err := exec.Command(filepath.Join(root, "hack/cluster/cluster"), "env").Output()
	if err != nil {
		return fmt.Errorf("hack/cluster/cluster env: %w (is the cluster up? make cluster-up)", err)
	}
	script := string(out) + "\nprintf '%s\\n%s' \"$PATH\" \"$KUBECONFIG\""
	set, err := exec.Command("bash", "-c", script).Output()
	if err != nil {
		return fmt.Errorf("the output of hack/cluster/cluster env is no shell: %w", err)
	}
	path, kubeconfig, _ := strings.Cut(string(set), "\n")
	if err := os.Setenv("PATH", path); err != nil {
		return err
	}
	return os.Setenv("KUBECONFIG", kubeconfig)
}

// freshNamespace removes what an earlier run left and makes the namespace under the restricted Pod Security standard.
func freshNamespace() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	script := fmt.Sprintf(`kubectl delete namespace %[1]s --ignore-not-found --wait &&
kubectl create namespace %[1]s && kubectl label namespace %[1]s pod-security.kubernetes.io/enforce=restricted`, namespace)
	out, err := exec.CommandContext(ctx, "bash", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("namespace %s: %w\n%s", namespace, err, out)
	}
	return nil
}

// stream runs a program of the checkout with its output on ours.
func stream(program string, args ...string) error {
	cmd := exec.Command(filepath.Join(root, program), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
	return cmd.Run()
}
