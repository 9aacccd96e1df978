package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// ReplicationPolicy says what becomes of a lease that did not reach enough replicas.
type ReplicationPolicy string

// The policies for replicas.
const (
	// ReplicationOff asks for no replica; so does an empty policy.
	ReplicationOff ReplicationPolicy = "off"
	// ReplicationPrefer grants the lease all the same, and counts it.
	ReplicationPrefer ReplicationPolicy = "prefer"
	// ReplicationRequire gives the lease back, and grants nothing.
	ReplicationRequire ReplicationPolicy = "require"
)

// Replication says whether a grant waits for replicas (WAIT). It makes it less likely that a failover forgets a lease, and no
// more: Redis may promote a replica that missed it. Renewals never wait: the loss of a replica must not end running reports.
type Replication struct {
	Policy ReplicationPolicy
	// Replicas is how many must have the lease, 1 to 100.
	Replicas int
	// Timeout bounds the wait, 1 ms to 500 ms, so that it fits into a request.
	Timeout time.Duration
}

// maxWait leaves time for the answer within ioTimeout.
const maxWait = ioTimeout / 2

func (r Replication) validate() error {
	switch r.Policy {
	case "", ReplicationOff:
		return nil
	case ReplicationPrefer, ReplicationRequire:
	default:
		return fmt.Errorf("the policy for replicas is %q: it must be off, prefer or require", r.Policy)
	}
	if r.Replicas < 1 || r.Replicas > 100 {
		return fmt.Errorf("%d replicas are to confirm a lease: it must be 1 to 100", r.Replicas)
	}
	if r.Timeout < time.Millisecond || r.Timeout > maxWait {
		return fmt.Errorf("replicas have %v to confirm a lease: it must be 1ms to %v", r.Timeout, maxWait)
	}
	return nil
}

func (r Replication) waits() bool {
	return r.Policy == ReplicationPrefer || r.Policy == ReplicationRequire
}

// askAcquire runs acquire.lua once, and says how many replicas had what it wrote, if that is asked for. WAIT counts for the
// connection it comes on, so both go to the node in one pipeline.
func (s *Store) askAcquire(ctx context.Context, n node, q question) (text string, replicas int64, err error) {
	if !s.options.Replication.waits() {
		text, err = s.control.ask(ctx, acquireScript, q)
		return text, 0, err
	}
	answered, replicas := s.exchangeAndWait(ctx, n.rdb, q, false)
	if answered.err != nil && isNoScript(answered.err) {
		q.nonce = s.control.nonces.next()
		answered, replicas = s.exchangeAndWait(ctx, n.rdb, q, true)
	}
	return answered.text, replicas, answered.err
}

func (s *Store) exchangeAndWait(ctx context.Context, rdb *goredis.Client, q question, load bool) (answer, int64) {
	pipe := rdb.Pipeline()
	acquire := acquireScript.newCall(ctx, q, load)
	_ = pipe.Process(ctx, acquire) // queues; errors come with Exec
	wait := pipe.Do(ctx, "wait", s.options.Replication.Replicas, s.options.Replication.Timeout.Milliseconds())
	_, pipeErr := pipe.Exec(ctx)
	answers := []answer{read(acquire, q.nonce, pipeErr)}
	s.control.finish(ctx, answers)
	replicas, _ := wait.Int64() // 0 if it failed
	return answers[0], replicas
}

// replicated judges a grant by how many replicas have it. One that has too few is given back if the policy says so.
func (s *Store) replicated(ctx context.Context, grant lease.Grant, replicas int64) error {
	r := s.options.Replication
	if !r.waits() || replicas >= int64(r.Replicas) {
		return nil
	}
	s.unreplicated.Add(1)
	if r.Policy == ReplicationPrefer {
		return nil
	}
	cause := fmt.Errorf("%d of %d replicas confirmed the lease of %s within %v: it was given back; are the replicas connected?",
		replicas, r.Replicas, grant.Term.Scope, r.Timeout)
	if err := s.Release(ctx, grant.Term); err != nil {
		return &lease.UnknownError{Address: s.address, Cause: fmt.Errorf("%w (giving it back failed: %w)", cause, err)}
	}
	return &lease.NotExecutedError{Address: s.address, Cause: cause}
}
