package histories

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

// server is a real one, and a person who has access to it.
type server struct {
	t       *testing.T
	history *history
	address string
	process *exec.Cmd
}

func startServer(t *testing.T, h *history) *server {
	t.Helper()
	address, process := leasetest.StartRedis(t)
	return &server{t, h, address, process}
}

// restart kills the server and starts one without data in its place.
func (s *server) restart() {
	s.t.Helper()
	s.history.fault("restart without data")
	e := event{kind: restart, call: s.history.now(), answer: ok}
	if err := s.process.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.process.Wait() // it was killed
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	_, s.process = leasetest.StartRedis(s.t, "--port", port)
	e.back = s.history.now()
	s.history.add(e)
}

// remove removes the lease of a scope, whoever holds it.
func (s *server) remove(scope lease.Scope) {
	s.t.Helper()
	s.history.fault("removal of a key")
	e := event{kind: remove, scope: scope, call: s.history.now(), answer: gone}
	value, err := ask(s.address, "GETDEL "+scope.LeaseKey())
	if err != nil {
		s.t.Fatal(err)
	}
	e.back = s.history.now()
	if value != "" {
		e.answer = ok
		e.seen.owner, e.seen.token = lease.SplitValue(value)
	}
	s.history.add(e)
}

// ask sends one command by a connection of its own, and returns the text that comes back; empty for none.
func ask(address, command string) (string, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return "", err
	}
	reply := bufio.NewReader(conn)
	line, err := reply.ReadString('\n')
	if err != nil {
		return "", err
	}
	if line[0] == '-' {
		return "", fmt.Errorf("%s: %s", command, line)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if line[0] != '$' || err != nil || n < 0 {
		return "", nil // a status, a number, or nothing
	}
	text := make([]byte, n)
	_, err = io.ReadFull(reply, text)
	return string(text), err
}
