package redis

import (
	"cmp"
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// SelfTest finds out now whether every node is fit to keep leases: it runs all scripts on scopes of its own, and looks at rights,
// role, version and settings. What it finds stands in the way of ACQUIRE as Options.Unsafe says, until a further test finds
// otherwise. Acquire runs it by itself: before the first request, when the server may be another one, and once a minute. An
// error, a *lease.NotExecutedError, says which nodes could not be tested; the report has the others.
func (s *Store) SelfTest(ctx context.Context) (Report, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	nodes, err := s.nodes(ctx)
	if err != nil {
		return Report{}, err
	}
	return s.health.testAll(ctx, nodes)
}

// Health returns what is known of the servers, without asking them.
func (s *Store) Health() Health {
	return Health{
		Nodes: s.health.look(), NonceMismatches: s.control.shifted.Load() + s.renewal.shifted.Load(),
		Unreplicated: s.unreplicated.Load(),
	}
}

// nodeOf is the node that has the scope's slot.
func (s *Store) nodeOf(ctx context.Context, scope lease.Scope) (node, error) {
	rdb, err := s.control.node(ctx, scope)
	if err != nil {
		return node{}, &lease.NotExecutedError{Address: s.address, Cause: fmt.Errorf(
			"which node of the Cluster keeps %s cannot be found out: %w", scope.LeaseKey(), err)}
	}
	return s.nodeAt(rdb), nil
}

func (s *Store) nodes(ctx context.Context) ([]node, error) {
	clients, err := s.control.primaries(ctx)
	if err != nil {
		return nil, &lease.NotExecutedError{Address: s.address, Cause: fmt.Errorf("the nodes of the Cluster are not known: %w", err)}
	}
	nodes := make([]node, len(clients))
	for i, rdb := range clients {
		nodes[i] = s.nodeAt(rdb)
	}
	return nodes, nil
}

// nodeAt is the node that a client of the library is for. A primary behind Sentinels has their name for it, as its address may
// change with every connection.
func (s *Store) nodeAt(rdb *goredis.Client) node {
	n := node{
		address: s.address, rdb: rdb, cluster: s.control.isCluster(), user: cmp.Or(s.options.Username, "default"),
		nonces: s.control.nonces, draw: func(ctx context.Context) lease.Scope { return s.scratchAt(ctx, rdb) },
	}
	if n.cluster {
		n.address = rdb.Options().Addr
	}
	return n
}

// scratchAt draws a scope in one of the node's slots. If chance gives none, the self-test says that the slot is elsewhere.
func (s *Store) scratchAt(ctx context.Context, rdb *goredis.Client) lease.Scope {
	for range 256 {
		scope := newScratch()
		if at, err := s.control.node(ctx, scope); err != nil || at == rdb {
			return scope
		}
	}
	return newScratch()
}
