//go:build topologies

package topologies

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	leaseredis "github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// nodeTimeout is after how long of silence the nodes of a Cluster hold one to be down.
const nodeTimeout = time.Second

// cluster is a Redis Cluster of three primaries, each with a replica if wanted. Clients come to each node by a gate, and the
// nodes to each other without.
type cluster struct {
	t       *testing.T
	nodes   []*server // the primaries, then their replicas in the same order
	gates   []*gate
	ids     []string
	options leaseredis.Options
	client  *redis.ClusterClient
}

func startCluster(t *testing.T, replicas bool) *cluster {
	t.Helper()
	c := &cluster{t: t}
	count := 3
	if replicas {
		count = 6
	}
	for range count {
		c.startNode()
	}
	for i, slots := range [][2]int{{0, 5460}, {5461, 10922}, {10923, 16383}} {
		c.nodes[i].do("cluster", "addslotsrange", slots[0], slots[1])
		c.options.Cluster = append(c.options.Cluster, c.gates[i].address)
	}
	c.join()
	for i := 3; i < count; i++ {
		c.nodes[i].do("cluster", "replicate", c.ids[i-3])
	}
	c.agree()
	c.client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.options.Cluster, DisableIdentity: true})
	t.Cleanup(func() { _ = c.client.Close() }) // nodes may be gone
	return c
}

func (c *cluster) startNode() {
	c.t.Helper()
	gate := newGate(c.t)
	_, port, _ := net.SplitHostPort(gate.address)
	node := startServer(c.t, "--cluster-enabled", "yes", "--cluster-port", freePort(c.t), "--cluster-announce-port", port,
		"--cluster-node-timeout", fmt.Sprint(nodeTimeout.Milliseconds()), "--cluster-replica-validity-factor", "0",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
	gate.leadTo(node.address)
	c.gates = append(c.gates, gate)
	c.nodes = append(c.nodes, node)
	id, _ := node.do("cluster", "myid").Text()
	c.ids = append(c.ids, id)
	node.do("cluster", "set-config-epoch", len(c.nodes))
}

// join lets all nodes meet, and waits until each knows all.
func (c *cluster) join() {
	c.t.Helper()
	for _, node := range c.nodes[1:] {
		bus, err := node.client.ConfigGet(context.Background(), "cluster-port").Result()
		if err != nil {
			c.t.Fatal(err)
		}
		c.nodes[0].do("cluster", "meet", "127.0.0.1", node.port(), bus["cluster-port"])
	}
	for _, node := range c.nodes {
		eventually(c.t, node.address+" knows all nodes", func() bool {
			known, err := node.client.ClusterNodes(context.Background()).Result()
			return err == nil && strings.Count(known, "connected") == len(c.nodes) && !strings.Contains(known, "handshake")
		})
	}
}

// agree waits until all nodes know the Cluster to be whole, and its replicas to follow.
func (c *cluster) agree() {
	c.t.Helper()
	for i, node := range c.nodes {
		eventually(c.t, node.address+" finds the Cluster whole", func() bool {
			shards, err := node.client.ClusterShards(context.Background()).Result()
			if err != nil || len(shards) != 3 || i >= 3 && node.info("master_link_status") != "up" {
				return false
			}
			state, err := node.client.ClusterInfo(context.Background()).Result()
			partial := slices.ContainsFunc(shards, func(s redis.ClusterShard) bool {
				return len(s.Slots) == 0 || len(s.Nodes) != len(c.nodes)/3
			})
			return err == nil && !partial && strings.Contains(state, "cluster_state:ok")
		})
	}
}

// scopeAt returns a scope whose slot the i-th primary had at first.
func (c *cluster) scopeAt(i int, name string) (lease.Scope, int) {
	for n := 0; ; n++ {
		scope := lease.Scope(fmt.Sprintf("%s/%d", name, n))
		slot, err := c.nodes[0].client.ClusterKeySlot(context.Background(), scope.LeaseKey()).Result()
		if err != nil {
			c.t.Fatal(err)
		}
		if int(slot)/5461 == i {
			return scope, int(slot)
		}
	}
}

// migrateKeys begins to move a slot and moves its keys; given is called when none and when all have been moved.
func (c *cluster) migrate(slot, from, to int, given func(stage string)) {
	c.t.Helper()
	c.nodes[to].do("cluster", "setslot", slot, "importing", c.ids[from])
	c.nodes[from].do("cluster", "setslot", slot, "migrating", c.ids[to])
	given("no key is moved")
	keys, err := c.nodes[from].client.ClusterGetKeysInSlot(context.Background(), slot, 1000).Result()
	if err != nil {
		c.t.Fatal(err)
	}
	for i, key := range keys {
		c.nodes[from].do("migrate", "127.0.0.1", c.nodes[to].port(), key, 0, 1000)
		if i == 0 {
			given("one key is moved")
		}
	}
	given("all keys are moved")
	for _, at := range []int{to, from} {
		c.nodes[at].do("cluster", "setslot", slot, "node", c.ids[to])
	}
	given("the slot is moved")
}
