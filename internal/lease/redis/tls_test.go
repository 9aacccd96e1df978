package redis_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// startTLS ends TLS in front of a server, and returns its address and a client configuration that trusts it.
func startTLS(t *testing.T, server string) (string, *tls.Config) {
	t.Helper()
	issuer := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(issuer.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: issuer.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			down, err := listener.Accept()
			if err != nil {
				return
			}
			go join(down, server)
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(issuer.Certificate())
	return listener.Addr().String(), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// rootOf is the certificate that a server shows, which signs itself.
func rootOf(t *testing.T, config *tls.Config, address string) []byte {
	t.Helper()
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Raw
}

// join passes bytes both ways until either side ends.
func join(down net.Conn, server string) {
	defer down.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		_, _ = io.Copy(up, down)
		up.Close()
	}()
	_, _ = io.Copy(down, up)
}

func TestLeasesAreKeptOverTLS(t *testing.T) {
	t.Parallel()
	direct, _, _ := startStore(t)
	address, trusting := startTLS(t, direct.Address())
	store := newStore(t, redis.Options{Address: address, TLS: trusting})
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	if err := store.Renew(t.Context(), leasetest.Renewals(ttl, grant.Term))[0]; err != nil {
		t.Errorf("renew: %v", err)
	}
	if err := store.Release(t.Context(), grant.Term); err != nil {
		t.Errorf("release: %v", err)
	}
	for name, config := range map[string]*tls.Config{
		"a certificate of nobody known": {MinVersion: tls.VersionTLS12},
		"another server's certificate":  {RootCAs: trusting.RootCAs, ServerName: "other.test", MinVersion: tls.VersionTLS12},
	} {
		wary := newStore(t, redis.Options{Address: address, TLS: config})
		if err := acquireErr(t, wary, scope); lease.OutcomeOf(err) != lease.NotExecuted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAHandshakeThatNeverEndsIsGivenUpAndSentNothing(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	store := newStore(t, redis.Options{Address: silent.Addr().String(), TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	term := lease.Term{Scope: scope, Owner: leasetest.NewOwner(t), Token: 1}
	begun := time.Now()
	err = store.Renew(t.Context(), leasetest.Renewals(ttl, term))[0]
	if took := time.Since(begun); lease.OutcomeOf(err) != lease.NotExecuted || took > 3*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}
