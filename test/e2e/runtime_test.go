//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// taskRunning asks the node's container runtime, not Kubernetes, whether the process of a container lives.
func taskRunning(ctx context.Context, containerID string) (bool, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(root, "hack/cluster/cluster"), "ctr", "tasks", "ls").Output()
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == containerID {
			return fields[2] == "RUNNING", nil
		}
	}
	return false, nil
}

// containerID returns the runtime's name of the pod's first container.
func containerID(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	if len(pod.Status.ContainerStatuses) == 0 {
		t.Fatalf("pod %s shows no container: %+v", pod.Name, pod.Status)
	}
	_, id, found := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	if !found {
		t.Fatalf("pod %s: container ID %q", pod.Name, pod.Status.ContainerStatuses[0].ContainerID)
	}
	return id
}

// witness watches one process in the container runtime from the moment it is made until the process is gone.
type witness struct {
	mu       sync.Mutex
	lastSeen time.Time
	err      error
	gone     chan struct{}
}

// watchProcess starts a witness for a container that must be running now.
func watchProcess(t *testing.T, id string) *witness {
	t.Helper()
	if running, err := taskRunning(t.Context(), id); err != nil || !running {
		t.Fatalf("the container runtime does not run container %s (error: %v)", id, err)
	}
	w := &witness{lastSeen: time.Now(), gone: make(chan struct{})}
	go w.watch(t.Context(), id)
	return w
}

func (w *witness) watch(ctx context.Context, id string) {
	defer close(w.gone)
	for {
		asked := time.Now()
		running, err := taskRunning(ctx, id)
		if err != nil || !running {
			w.mu.Lock()
			w.err = err
			w.mu.Unlock()
			return
		}
		w.mu.Lock()
		w.lastSeen = asked
		w.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
}

// death waits until the process is gone and returns the instant at which it was last seen alive.
func (w *witness) death(t *testing.T, limit time.Duration) time.Time {
	t.Helper()
	select {
	case <-w.gone:
	case <-time.After(limit):
		t.Fatalf("the process still runs after %v", limit)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		t.Fatalf("the container runtime could not be asked: %v", w.err)
	}
	return w.lastSeen
}

// alive says whether the process was there when the witness last looked.
func (w *witness) alive() bool {
	select {
	case <-w.gone:
		return false
	default:
		return true
	}
}

// followLogs collects what the pod prints until it ends; the pod's log is gone with the pod.
func followLogs(t *testing.T, pod string) func() string {
	t.Helper()
	type result struct{ out, stderr string }
	done := make(chan result, 1)
	go func() {
		out, stderr, _ := tryKubectl(t.Context(), "", "logs", "-f", pod)
		done <- result{out, stderr}
	}()
	return sync.OnceValue(func() string {
		select {
		case r := <-done:
			return r.out + r.stderr
		case <-time.After(30 * time.Second):
			return "the log of pod " + pod + " did not end"
		}
	})
}
