//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// kubectl runs kubectl in the tests' namespace and returns its standard output.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, stderr, err := tryKubectl(t.Context(), "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return out
}

func tryKubectl(ctx context.Context, stdin string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"-n", namespace}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// apply creates a ReportJob and deletes it when the test ends.
func apply(t *testing.T, manifest string) {
	t.Helper()
	if _, stderr, err := tryKubectl(t.Context(), manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s\n%s", err, stderr, manifest)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, stderr, err := tryKubectl(ctx, manifest, "delete", "--ignore-not-found", "--wait", "-f", "-"); err != nil {
			t.Errorf("kubectl delete: %v\n%s", err, stderr)
		}
	})
}

// refused applies a manifest that must be refused and returns what kubectl said.
func refused(t *testing.T, manifest string) string {
	t.Helper()
	_, stderr, err := tryKubectl(t.Context(), manifest, "apply", "-f", "-")
	if err == nil {
		t.Fatalf("kubectl apply accepted what it must refuse:\n%s", manifest)
	}
	return stderr
}

func getJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	out := kubectl(t, append(append([]string{"get"}, args...), "-o", "json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("kubectl get %v: %v", args, err)
	}
}

func reportJob(t *testing.T, name string) *v1alpha1.ReportJob {
	t.Helper()
	var rj v1alpha1.ReportJob
	getJSON(t, &rj, "reportjob", name)
	return &rj
}

// state is what a test waits for.
type state struct {
	what  string
	limit time.Duration
	ok    func(*v1alpha1.ReportJob) bool
}

// waitFor polls a ReportJob until it is as wanted, and fails with its whole description when that takes too long.
func waitFor(t *testing.T, name string, want state) *v1alpha1.ReportJob {
	t.Helper()
	for deadline := time.Now().Add(want.limit); ; time.Sleep(100 * time.Millisecond) {
		rj := reportJob(t, name)
		if want.ok(rj) {
			return rj
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not %s within %v\n%s", name, want.what, want.limit, kubectl(t, "describe", "reportjob", name))
		}
	}
}

func waitForPhase(t *testing.T, name string, phase v1alpha1.Phase, limit time.Duration) *v1alpha1.ReportJob {
	t.Helper()
	return waitFor(t, name, state{"in phase " + string(phase), limit,
		func(rj *v1alpha1.ReportJob) bool { return rj.Status.Phase == phase }})
}

// podOf returns the pod of the ReportJob's execution.
func podOf(t *testing.T, rj *v1alpha1.ReportJob) *corev1.Pod {
	t.Helper()
	if rj.Status.Execution == nil || rj.Status.Execution.Pod == "" {
		t.Fatalf("%s: status names no pod: %+v", rj.Name, rj.Status)
	}
	var pod corev1.Pod
	getJSON(t, &pod, "pod", rj.Status.Execution.Pod)
	return &pod
}

// redis runs one command on the Redis that the operator uses.
func redis(t *testing.T, args ...string) string {
	t.Helper()
	return strings.TrimSpace(kubectl(t, append([]string{"-n", operatorNamespace, "exec", "deploy/redis", "--", "redis-cli"},
		args...)...))
}

// eventReasons returns the reasons of the events about a ReportJob, oldest first.
func eventReasons(t *testing.T, name string) []string {
	t.Helper()
	out := kubectl(t, "get", "events", "--sort-by=.metadata.creationTimestamp", "-o", "jsonpath={.items[*].reason}",
		"--field-selector", "involvedObject.kind=ReportJob,involvedObject.name="+name)
	return strings.Fields(out)
}
