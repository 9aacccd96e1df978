//go:build topologies

package topologies

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

const (
	masterName = "leases"
	// downAfter is after how long of silence a Sentinel holds a server to be down.
	downAfter = 700 * time.Millisecond
)

// trio is a primary with two replicas, and three Sentinels. The Sentinels and the replicas come to the first primary by a gate,
// and so do clients that ask the Sentinels for it.
type trio struct {
	t         *testing.T
	nodes     []*server // the first is the primary at first
	gate      *gate
	sentinels []*server
}

// startTrio starts it. More arguments are given to the servers.
func startTrio(t *testing.T, args ...string) *trio {
	t.Helper()
	x := &trio{t: t, gate: newGate(t)}
	args = append([]string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", "--repl-timeout", "5"}, args...)
	x.nodes = append(x.nodes, startServer(t, args...))
	x.gate.leadTo(x.nodes[0].address)
	host, port, _ := net.SplitHostPort(x.gate.address)
	for range 2 {
		x.nodes = append(x.nodes, startServer(t, append(args, "--replicaof", host, port)...))
	}
	for range 3 {
		x.sentinels = append(x.sentinels, startSentinel(t, host, port))
	}
	for _, node := range x.nodes[1:] {
		eventually(t, node.address+" follows the primary", func() bool { return node.info("master_link_status") == "up" })
	}
	for _, s := range x.sentinels {
		eventually(t, s.address+" knows all others", func() bool { return x.knowsAll(s) })
	}
	return x
}

// startSentinel starts a Sentinel that watches a primary.
func startSentinel(t *testing.T, host, port string) *server {
	t.Helper()
	own := freePort(t)
	config := fmt.Sprintf(`port %s
bind 127.0.0.1
protected-mode no
dir %s
sentinel monitor %s %s %s 2
sentinel down-after-milliseconds %[3]s %[6]d
sentinel failover-timeout %[3]s 4000
sentinel parallel-syncs %[3]s 2
`, own, t.TempDir(), masterName, host, port, downAfter.Milliseconds())
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	process := exec.Command(cmp.Or(os.Getenv("LEASEHOLD_REDIS_SERVER"), "redis-server"), file, "--sentinel")
	process.Stdout, process.Stderr = &output, &output
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill() // it may have ended
		_ = process.Wait()         // and says how
		if t.Failed() {
			t.Logf("Sentinel %s:\n%s", own, output.String())
		}
	})
	s := &server{t, net.JoinHostPort("127.0.0.1", own), process, nil}
	s.client = newClient(t, s.address)
	eventually(t, "Sentinel "+s.address+" answers", func() bool { return s.client.Ping(context.Background()).Err() == nil })
	return s
}

func freePort(t *testing.T) string {
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

// knowsAll says whether a Sentinel knows both replicas and both other Sentinels.
func (x *trio) knowsAll(s *server) bool {
	facts := map[string]string{}
	reply, err := s.client.Do(context.Background(), "sentinel", "master", masterName).StringSlice()
	if err != nil {
		return false
	}
	for i := 0; i+1 < len(reply); i += 2 {
		facts[reply[i]] = reply[i+1]
	}
	return facts["num-slaves"] == "2" && facts["num-other-sentinels"] == "2" && facts["flags"] == "master"
}

// options are those of a client that asks the Sentinels.
func (x *trio) options() redis.Options {
	addresses := make([]string, len(x.sentinels))
	for i, s := range x.sentinels {
		addresses[i] = s.address
	}
	return redis.Options{Sentinel: &redis.Sentinel{Master: masterName, Addresses: addresses}}
}

// successor waits until every Sentinel names another primary than the first, and returns it.
func (x *trio) successor() *server {
	x.t.Helper()
	var found *server
	eventually(x.t, "a replica was promoted", func() bool {
		for _, s := range x.sentinels {
			at, err := s.client.Do(context.Background(), "sentinel", "get-master-addr-by-name", masterName).StringSlice()
			if err != nil || len(at) != 2 {
				return false
			}
			found = x.at(net.JoinHostPort(at[0], at[1]))
			if found == nil || found.info("role") != "master" {
				return false
			}
		}
		return true
	})
	return found
}

// at returns the replica with an address; nil for the first primary.
func (x *trio) at(address string) *server {
	for _, node := range x.nodes[1:] {
		if node.address == address {
			return node
		}
	}
	return nil
}

// settle waits until all that was written has reached the replicas.
func (x *trio) settle() {
	x.t.Helper()
	offset := x.nodes[0].number("master_repl_offset")
	for _, node := range x.nodes[1:] {
		eventually(x.t, node.address+" has all", func() bool { return node.number("slave_repl_offset") >= offset })
	}
}
