package leasetest

import (
	"bufio"
	"cmp"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const (
	// startLimit bounds the start of a redis-server, which takes some 10 ms.
	startLimit = 20 * time.Second
	// portAttempts bounds how often a port is drawn anew because another program took it first.
	portAttempts = 10
)

// serverProgram is the redis-server of PATH, or the one that LEASEHOLD_REDIS_SERVER names: a Redis of another version, or a
// Valkey.
func serverProgram() string { return cmp.Or(os.Getenv("LEASEHOLD_REDIS_SERVER"), "redis-server") }

// StartRedis starts a redis-server of its own on a free loopback port, without persistence, and returns its address and its
// process. It ends with the test. More arguments are given to the server.
func StartRedis(t testing.TB, args ...string) (address string, server *exec.Cmd) {
	t.Helper()
	var output string
	for range portAttempts {
		port := freePort(t)
		// The other port is used in a Cluster only, where it would be 10000 above the first, which there need not be.
		server, output = launch(t, append([]string{"--port", port, "--cluster-port", freePort(t), "--bind", "127.0.0.1",
			"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", t.TempDir()}, args...))
		if server != nil {
			return net.JoinHostPort("127.0.0.1", port), server
		}
		if !strings.Contains(output, "Address already in use") {
			break
		}
	}
	t.Fatalf("redis-server did not start:\n%s", output)
	return "", nil
}

// launch starts a server and waits until it says itself that it is ready: what answers at the port could be another one. If it
// ends instead, launch returns nil and what the server said.
func launch(t testing.TB, args []string) (server *exec.Cmd, output string) {
	t.Helper()
	server = exec.Command(serverProgram(), args...)
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = server.Stdout
	if err := server.Start(); err != nil {
		t.Fatalf("this test needs a redis-server: %v\nmake test installs Debian's", err)
	}
	end := func() {
		_ = server.Process.Kill() // it may have ended
		_ = server.Wait()         // and then says how
	}
	limit := time.AfterFunc(startLimit, func() { _ = server.Process.Kill() })
	defer limit.Stop()
	output, ready := readUntilReady(stdout)
	if !ready {
		end()
		return nil, output
	}
	t.Cleanup(end)
	go func() { _, _ = io.Copy(io.Discard, stdout) }() // a full pipe would stop the server
	return server, output
}

func readUntilReady(stdout io.Reader) (output string, ready bool) {
	var said strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return said.String(), true
		}
	}
	return said.String(), false
}

func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
