package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// clusterReload is how often the client of a Cluster asks for the map of its slots besides, in case no redirect tells.
const clusterReload = 10 * time.Second

// Sentinel says how to find a primary that Redis Sentinel watches.
type Sentinel struct {
	// Master is the name by which the Sentinels know the primary.
	Master string
	// Addresses are those of the Sentinels, host:port.
	Addresses []string
	// Username and PasswordFile are for the Sentinels themselves; both may be empty. The file is read once.
	Username, PasswordFile string
}

// Validate refuses options that name no Redis, or more than one.
func (o Options) Validate() error {
	addresses := []string{o.Address}
	var err error
	switch {
	case o.Sentinel != nil && len(o.Cluster) > 0:
		return errors.New("a Redis is found through Sentinel or is a Cluster, not both")
	case o.Sentinel != nil:
		addresses, err = o.Sentinel.Addresses, o.Sentinel.validate()
	case len(o.Cluster) > 0:
		addresses = o.Cluster
		if o.DB != 0 {
			return fmt.Errorf("database %d is asked for: a Redis Cluster has database 0 only", o.DB)
		}
	}
	_, tlsErr := o.tls()
	return errors.Join(err, validateAddresses(addresses), tlsErr, o.Replication.validate())
}

func (s Sentinel) validate() error {
	if s.Master == "" {
		return errors.New("the name of the primary, by which the Sentinels know it, is missing")
	}
	_, err := readPassword(s.PasswordFile)
	return err
}

func validateAddresses(addresses []string) error {
	if len(addresses) == 0 {
		return errors.New("no address of a Redis is given")
	}
	for _, address := range addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("the address %q is not host:port: %w", address, err)
		}
	}
	return nil
}

// name is what the Redis is called in errors and in a status.
func (o Options) name() string {
	switch {
	case o.Sentinel != nil:
		return fmt.Sprintf("%s (Sentinel %s)", o.Sentinel.Master, strings.Join(o.Sentinel.Addresses, ","))
	case len(o.Cluster) > 0:
		return strings.Join(o.Cluster, ",")
	}
	return o.Address
}

// connect makes the library's client of the topology. All have one profile.
func (o Options) connect(conns *connections) goredis.UniversalClient {
	profile := o.profile(conns.connect)
	profile.OnConnect = verifyPrimary
	switch {
	case o.Sentinel != nil:
		return goredis.NewFailoverClient(o.failover(profile))
	case len(o.Cluster) > 0:
		return goredis.NewClusterClient(o.cluster(profile))
	}
	return goredis.NewClient(profile)
}

// own is a copy for one client of the library, which appends to the addresses that it is given: several clients would write into
// the same memory.
func own(addresses []string) []string { return slices.Clip(slices.Clone(addresses)) }

// failover is the profile for a primary behind Sentinels. The library asks them for its address with each new connection.
func (o Options) failover(p *goredis.Options) *goredis.FailoverOptions {
	password, _ := readPassword(o.Sentinel.PasswordFile) // Validate tells of a file that cannot be read
	return &goredis.FailoverOptions{
		MasterName: o.Sentinel.Master, SentinelAddrs: own(o.Sentinel.Addresses),
		SentinelUsername: o.Sentinel.Username, SentinelPassword: password,
		Dialer: p.Dialer, OnConnect: p.OnConnect, CredentialsProviderContext: p.CredentialsProviderContext,
		DB: p.DB, Protocol: p.Protocol, MaxRetries: p.MaxRetries, DialTimeout: p.DialTimeout, DialerRetries: p.DialerRetries,
		ReadTimeout: p.ReadTimeout, WriteTimeout: p.WriteTimeout, ContextTimeoutEnabled: p.ContextTimeoutEnabled,
		PoolSize: p.PoolSize, MinIdleConns: p.MinIdleConns, PipelinePoolSize: p.PipelinePoolSize, PoolTimeout: p.PoolTimeout,
		ConnMaxIdleTime: p.ConnMaxIdleTime, ConnMaxLifetime: p.ConnMaxLifetime, ConnMaxLifetimeJitter: p.ConnMaxLifetimeJitter,
		DisableIdentity: p.DisableIdentity,
	}
}

// cluster is the profile for a Cluster. Redirects are followed, as the node that redirects ran nothing; what may have run is
// not sent again, because every call forbids it. Replicas are never asked, so no connection to them is kept ready.
// A connection to a replica is no mistake either: it answers every script with a redirect, it tells the map of the slots as well
// as any node, and it may be the only one whose address is known.
func (o Options) cluster(p *goredis.Options) *goredis.ClusterOptions {
	return &goredis.ClusterOptions{
		Addrs:  own(o.Cluster),
		Dialer: p.Dialer, CredentialsProviderContext: p.CredentialsProviderContext,
		Protocol: p.Protocol, MaxRetries: p.MaxRetries, DialTimeout: p.DialTimeout, DialerRetries: p.DialerRetries,
		ReadTimeout: p.ReadTimeout, WriteTimeout: p.WriteTimeout, ContextTimeoutEnabled: p.ContextTimeoutEnabled,
		PoolSize: p.PoolSize, PipelinePoolSize: p.PipelinePoolSize, PoolTimeout: p.PoolTimeout,
		ConnMaxIdleTime: p.ConnMaxIdleTime, ConnMaxLifetime: p.ConnMaxLifetime, ConnMaxLifetimeJitter: p.ConnMaxLifetimeJitter,
		DisableIdentity: p.DisableIdentity, MaintNotificationsConfig: p.MaintNotificationsConfig,
		ClusterStateReloadInterval: clusterReload,
	}
}

// verifyPrimary refuses a new connection to a server that is no primary: Sentinel may name one that was demoted. A server or a
// proxy that does not tell its role is taken as it is; the scripts are refused by a replica anyway.
func verifyPrimary(ctx context.Context, conn *goredis.Conn) error {
	reply, err := conn.Do(ctx, "role").Slice()
	switch {
	case err != nil && (lacks(err) || missesCommand(err)):
		return nil
	case err != nil:
		return notConnected(fmt.Errorf("the server does not tell its role: %w", err))
	case len(reply) >= 3 && reply[0] == "slave":
		return notConnected(fmt.Errorf("%w of %v:%v: connect to the primary", errReplica, reply[1], reply[2]))
	}
	return nil
}

// errReplica marks a connection that was closed because the server at its other end is no primary.
var errReplica = errors.New("the server is a replica")

// notConnected is the error of a connection that was refused before any request was sent on it. The library takes the outermost
// wrapping off.
func notConnected(cause error) error { return errors.Join(&dialError{cause}) }

// node returns the client of the node that has the scope's slot.
func (c *client) node(ctx context.Context, scope lease.Scope) (*goredis.Client, error) {
	if cluster, ok := c.rdb.(*goredis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, scope.LeaseKey())
	}
	return c.rdb.(*goredis.Client), nil
}

func (c *client) isCluster() bool {
	_, is := c.rdb.(*goredis.ClusterClient)
	return is
}

// primaries returns the clients of all nodes that have slots.
func (c *client) primaries(ctx context.Context) ([]*goredis.Client, error) {
	cluster, is := c.rdb.(*goredis.ClusterClient)
	if !is {
		return []*goredis.Client{c.rdb.(*goredis.Client)}, nil
	}
	var mu sync.Mutex
	var nodes []*goredis.Client
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *goredis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, node)
		return nil
	})
	return nodes, err
}
