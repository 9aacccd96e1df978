package controller

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// testStore is a Redis that can be taken away.
type testStore struct {
	*redis.Store

	mu   sync.Mutex
	away bool
}

func newTestStore(t *testing.T) *testStore {
	t.Helper()
	store := &testStore{Store: redis.New(redis.Options{Address: startRedis(t)})}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func startRedis(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = listener.Close()
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
			return address
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// setAway makes every request fail before it is sent, or work again.
func (s *testStore) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *testStore) absence() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.away {
		return nil
	}
	return &lease.NotExecutedError{Address: s.Address(), Cause: errors.New("connection refused")}
}

func (s *testStore) Acquire(ctx context.Context, request lease.AcquireRequest) (lease.Grant, error) {
	if err := s.absence(); err != nil {
		return lease.Grant{}, err
	}
	return s.Store.Acquire(ctx, request)
}

func (s *testStore) Release(ctx context.Context, term lease.Term) error {
	if err := s.absence(); err != nil {
		return err
	}
	return s.Store.Release(ctx, term)
}
