package redis_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

// passwordFile writes a password where a store finds it.
func passwordFile(t *testing.T, password string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	writePassword(t, file, password)
	return file
}

// waitForReplica waits until the server has a replica that follows.
func waitForReplica(t *testing.T, r raw) {
	t.Helper()
	waitForInfo(t, r, "replication", "state=online")
}

// waitForInfo waits until a section of INFO has a text.
func waitForInfo(t *testing.T, r raw, section, text string) {
	t.Helper()
	waitForReply(t, text, func() (string, error) { return r.client.Info(t.Context(), section).Result() })
}

// waitForReply asks until the answer has a text.
func waitForReply(t *testing.T, text string, ask func() (string, error)) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		answer, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(answer, text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s in\n%s", text, answer)
		}
	}
}

// kill ends a server at once.
func kill(t *testing.T, server *exec.Cmd) {
	t.Helper()
	signal(t, server, syscall.SIGKILL)
}

// waitForLease waits until a lease has reached a server.
func waitForLease(t *testing.T, b leasetest.Backend, term lease.Term) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); b.Raw.Get(term.Scope) != term.Value(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the lease %s holds %q, want %q", term.Scope, b.Raw.Get(term.Scope), term.Value())
		}
	}
}
