package leasetest

import (
	"net"
	"strings"
	"testing"
)

func TestAServerWhosePortIsTakenIsNotCalledReady(t *testing.T) {
	t.Parallel()
	address, _ := StartRedis(t)
	_, taken, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server, output := launch(t, []string{"--port", taken, "--bind", "127.0.0.1", "--save", ""})
	if server != nil || !strings.Contains(output, "Address already in use") {
		t.Errorf("a second server at %s: ready: %t; it said\n%s", address, server != nil, output)
	}
}
