package redis_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		info, err := r.client.Info(t.Context(), "replication").Result()
		r.must(err)
		if strings.Contains(info, "state=online") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no replica follows:\n%s", info)
		}
	}
}
