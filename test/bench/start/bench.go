package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
)

const namespace = "leasehold-bench"

// limit bounds one start; a start that takes longer is an error and not a figure.
const limit = time.Minute

// bench makes things with kubectl, as a user does, and watches pods with a client of its own.
type bench struct {
	environ []string
	client  kubernetes.Interface
}

func newBench(ctx context.Context) (*bench, error) {
	script := `eval "$(hack/cluster/cluster env)" && printf '%s\n%s' "$PATH" "$KUBECONFIG"`
	out, err := exec.CommandContext(ctx, "bash", "-c", script).Output()
	if err != nil {
		return nil, fmt.Errorf("hack/cluster/cluster env: %w", err)
	}
	path, kubeconfig, _ := strings.Cut(string(out), "\n")
	for name, value := range map[string]string{"PATH": path, "KUBECONFIG": kubeconfig} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	b := &bench{environ: os.Environ(), client: client}
	if err := b.cleanUp(ctx); err != nil {
		return nil, err
	}
	return b, b.kubectl(ctx, "", "create", "namespace", namespace)
}

func (b *bench) cleanUp(ctx context.Context) error {
	return b.kubectl(ctx, "", "delete", "namespace", namespace, "--ignore-not-found", "--wait")
}

func (b *bench) kubectl(ctx context.Context, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	cmd.Env, cmd.Stdin = b.environ, strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// pairs measures runs plain Jobs and runs ReportJobs, changing which comes first, after one pair that is thrown away.
func (b *bench) pairs(ctx context.Context, runs int) (plain, leased []time.Duration, err error) {
	for i := range runs + 1 {
		measured := map[bool]time.Duration{}
		for _, isReport := range []bool{i%2 == 0, i%2 != 0} {
			if measured[isReport], err = b.start(ctx, i, isReport); err != nil {
				return nil, nil, err
			}
		}
		if i > 0 {
			plain, leased = append(plain, measured[false]), append(leased, measured[true])
			fmt.Fprintf(os.Stderr, "run %d: plain Job %v, ReportJob %v\n", i, measured[false], measured[true])
		}
	}
	return plain, leased, nil
}

// start applies one Job or ReportJob and waits until its pod runs; then it removes it.
func (b *bench) start(ctx context.Context, run int, isReport bool) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	name := fmt.Sprintf("plain-%d", run)
	manifest := fmt.Sprintf(plainJob, name, name, pod)
	if isReport {
		name = fmt.Sprintf("report-%d", run)
		manifest = fmt.Sprintf(reportJob, name, name, indent(strings.ReplaceAll(pod, grace, "")))
	}
	running, err := b.watchRunning(ctx, name)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := b.kubectl(ctx, manifest, "-n", namespace, "apply", "-f", "-"); err != nil {
		return 0, err
	}
	select {
	case at := <-running:
		return at.Sub(begun), b.kubectl(ctx, manifest, "-n", namespace, "delete", "--wait", "-f", "-")
	case <-ctx.Done():
		return 0, fmt.Errorf("%s: its pod did not run within %v", name, limit)
	}
}

// watchRunning reports the instant at which a pod labelled bench=name shows a running container.
func (b *bench) watchRunning(ctx context.Context, name string) (<-chan time.Time, error) {
	watch, err := b.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{
		LabelSelector: "bench=" + name})
	if err != nil {
		return nil, err
	}
	running := make(chan time.Time, 1)
	go func() {
		defer watch.Stop()
		for event := range watch.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if ok && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].State.Running != nil {
				running <- time.Now()
				return
			}
		}
	}()
	return running, nil
}

func indent(text string) string {
	return strings.ReplaceAll(text, "\n", "\n    ")
}

const (
	// grace stands in the plain Job only: a ReportJob says stopGracePeriod instead.
	grace = "          terminationGracePeriodSeconds: 1\n"

	pod = `
        spec:
          restartPolicy: Never
` + grace + `          automountServiceAccountToken: false
          containers:
          - name: report
            image: docker.io/local/busybox:1
            command: ["/bin/sleep", "300"]`

	plainJob = `apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
      backoffLimit: 0
      template:
        metadata: {labels: {bench: %s}}%s
`
	reportJob = `apiVersion: leasehold.dev/v1alpha1
kind: ReportJob
metadata: {name: %s}
spec:
  stopGracePeriod: 1s
  jobTemplate:
    spec:
          template:
            metadata: {labels: {bench: %s}}%s
`
)
