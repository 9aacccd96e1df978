package leasetest

import (
	"bytes"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// startLimit bounds the start of a redis-server, which takes some 10 ms.
const startLimit = 20 * time.Second

// StartRedis starts a redis-server of its own on a free loopback port, without persistence, and returns its address and its
// process. It ends with the test. More arguments are given to the server.
func StartRedis(t testing.TB, args ...string) (address string, server *exec.Cmd) {
	t.Helper()
	port := freePort(t)
	args = append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--maxmemory-policy", "noeviction", "--dir", t.TempDir()}, args...)
	server = exec.Command("redis-server", args...)
	var output bytes.Buffer
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatalf("this test needs a redis-server: %v\nmake test installs Debian's", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have ended
		_ = server.Wait()         // and then says how
	})
	address = net.JoinHostPort("127.0.0.1", port)
	for deadline := time.Now().Add(startLimit); !answers(address); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = server.Process.Kill()
			_ = server.Wait()
			t.Fatalf("redis-server does not answer at %s:\n%s", address, output.String())
		}
	}
	return address, server
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

func answers(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	reply := make([]byte, 64)
	n, err := conn.Read(reply)
	// A server that wants a password answers too.
	return err == nil && (strings.HasPrefix(string(reply[:n]), "+PONG") || strings.Contains(string(reply[:n]), "NOAUTH"))
}
