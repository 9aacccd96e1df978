package redis

import (
	"cmp"
	"context"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// SelfTest finds out now whether every node is fit to keep leases: it runs all scripts on scopes of its own, and looks at rights,
// role, version and settings. What it finds stands in the way of ACQUIRE as Options.Unsafe says, until a further test finds
// otherwise. Acquire runs it by itself: before the first request, when the server may be another one, and once a minute. An
// error, a *lease.NotExecutedError, says which nodes could not be tested; the report has the others.
func (s *Store) SelfTest(ctx context.Context) (Report, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.health.testAll(ctx, s.nodes(ctx))
}

// Health returns what is known of the servers, without asking them.
func (s *Store) Health() Health {
	return Health{Nodes: s.health.look(), NonceMismatches: s.control.shifted.Load() + s.renewal.shifted.Load()}
}

// nodeOf is the node that has the scope's slot.
func (s *Store) nodeOf(context.Context, lease.Scope) node { return s.nodes(nil)[0] }

func (s *Store) nodes(context.Context) []node {
	return []node{{
		address: s.address, rdb: s.control.rdb, user: cmp.Or(s.options.Username, "default"), nonces: s.control.nonces,
	}}
}
