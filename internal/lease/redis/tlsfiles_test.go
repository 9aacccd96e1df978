package redis_test

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// TestCertificatesAreReadAnewForEachConnection gives a store first roots that do not sign the server's certificate, and then the
// right ones, in the same file.
func TestCertificatesAreReadAnewForEachConnection(t *testing.T) {
	t.Parallel()
	direct, _, _ := startStore(t)
	address, trusting := startTLS(t, direct.Address())
	roots := filepath.Join(t.TempDir(), "ca.pem")
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(roots, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := newStore(t, redis.Options{Address: address, TLSFiles: &redis.TLSFiles{CA: roots, ServerName: "example.com"}})
	for name, prepare := range map[string]func(){
		"no file":              func() {},
		"a file without roots": func() { write([]byte("nothing")) },
	} {
		prepare()
		if err := acquireErr(t, store, scope); lease.OutcomeOf(err) != lease.NotExecuted {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootOf(t, trusting, address)}))
	err := acquireErr(t, store, scope)
	// The library's pool looks again within a second.
	for until := time.Now().Add(10 * redis.ProbeInterval); lease.OutcomeOf(err) == lease.NotExecuted && time.Now().Before(until); {
		err = acquireErr(t, store, scope)
	}
	if err != nil {
		t.Fatal(err)
	}
	wrong := newStore(t, redis.Options{Address: address, TLSFiles: &redis.TLSFiles{CA: roots, ServerName: "another.example"}})
	if err := acquireErr(t, wrong, "a/b"); lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("a server with another name: %v", err)
	}
}
