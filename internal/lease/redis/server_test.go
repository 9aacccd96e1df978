package redis_test

import (
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// calls returns how often the server ran a command, inside scripts or outside, since its statistics were reset.
func calls(t *testing.T, r raw, command string) int {
	t.Helper()
	info, err := r.client.Info(t.Context(), "commandstats").Result()
	r.must(err)
	found := regexp.MustCompile(`cmdstat_` + command + `:calls=(\d+)`).FindStringSubmatch(info)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func waitForCalls(t *testing.T, r raw, command string, want int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); calls(t, r, command) < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s ran %d times, want %d", command, calls(t, r, command), want)
		}
	}
}

func stop(t *testing.T, server *exec.Cmd)   { signal(t, server, syscall.SIGSTOP) }
func resume(t *testing.T, server *exec.Cmd) { signal(t, server, syscall.SIGCONT) }

func signal(t *testing.T, server *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := server.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
