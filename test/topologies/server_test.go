//go:build topologies

package topologies

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

// patience bounds every wait for something that servers do by themselves, such as a failover.
const patience = 30 * time.Second

// server is one redis-server.
type server struct {
	t       *testing.T
	address string
	process *exec.Cmd
	client  *goredis.Client
}

func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	address, process := leasetest.StartRedis(t, args...)
	return &server{t, address, process, newClient(t, address)}
}

// newClient is a client for the test itself, which asks once and gives up soon.
func newClient(t *testing.T, address string) *goredis.Client {
	client := goredis.NewClient(&goredis.Options{
		Addr: address, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 2 * time.Second,
	})
	t.Cleanup(func() { _ = client.Close() }) // the server may be gone
	return client
}

func (s *server) port() string { return s.address[strings.LastIndex(s.address, ":")+1:] }

// do sends one command that must succeed.
func (s *server) do(args ...any) *goredis.Cmd {
	s.t.Helper()
	cmd := s.client.Do(context.Background(), args...)
	if err := cmd.Err(); err != nil {
		s.t.Fatalf("%s: %v: %v", s.address, args, err)
	}
	return cmd
}

// info returns one field of INFO; empty if the server does not answer.
func (s *server) info(field string) string {
	text, err := s.client.Info(context.Background(), "everything").Result()
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(text, "\n"+field+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// number is a field of INFO that is a number; 0 if it is missing.
func (s *server) number(field string) int {
	n, err := strconv.Atoi(s.info(field))
	if err != nil {
		return 0
	}
	return n
}

// calls is how often the server ran a command, inside scripts or outside, since its statistics were reset.
func (s *server) calls(command string) int {
	ran, _, _ := strings.Cut(strings.TrimPrefix(s.info("cmdstat_"+command), "calls="), ",")
	n, err := strconv.Atoi(ran)
	if err != nil {
		return 0
	}
	return n
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.t.Fatalf("%s: %v", s.address, err)
	}
}

func (s *server) kill()   { s.signal(syscall.SIGKILL) }
func (s *server) stop()   { s.signal(syscall.SIGSTOP) }
func (s *server) resume() { s.signal(syscall.SIGCONT) }

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for limit := time.Now().Add(patience); !holds(); <-ticks.C {
		if time.Now().After(limit) {
			t.Fatalf("after %v it is not so that %s", patience, what)
		}
	}
}
