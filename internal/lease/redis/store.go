package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

const (
	// requestTimeout bounds a request whose context has no deadline: one dial, one write and one read.
	requestTimeout = 3 * time.Second
	// memory is how long the highest token, and what is known of the server, outlive the last grant. After 30 days the clock has
	// passed the token by far.
	memory = 30 * 24 * time.Hour
)

// Store is a lease.Store on one Redis 7.0 or newer.
type Store struct {
	address string
	control *client
	renewal *client
	options Options
	health  *health
	// unreplicated counts grants that too few replicas confirmed in time.
	unreplicated atomic.Uint64
}

var _ lease.Store = (*Store)(nil)

// quiet turns the library's own log off: what went wrong comes back as an error, and is told once, by whoever handles it.
var quiet = sync.OnceFunc(logging.Disable)

// New makes a store. It connects on first use, so a Redis that is away now is no error. Close it after use.
func New(options Options) *Store {
	quiet()
	return &Store{
		address: options.name(), control: newClient(options), renewal: newClient(options),
		options: options, health: newHealth(options.Unsafe),
	}
}

// Close closes all connections.
func (s *Store) Close() error {
	return errors.Join(s.control.rdb.Close(), s.renewal.rdb.Close())
}

// Address names the Redis: host:port, or the name of a primary and its Sentinels, or nodes of a Cluster.
func (s *Store) Address() string { return s.address }

// Check sends a PING on the connections that acquire and release.
func (s *Store) Check(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := s.control.rdb.Ping(ctx).Err(); err != nil {
		return classify(s.address, err)
	}
	return nil
}

// Release runs release.lua.
func (s *Store) Release(ctx context.Context, term lease.Term) error {
	return s.release(ctx, releaseScript, term.Scope, term.Value())
}

// ReleaseOwner runs release_owner.lua.
func (s *Store) ReleaseOwner(ctx context.Context, scope lease.Scope, owner lease.Owner) error {
	err := s.release(ctx, releaseOwnerScript, scope, string(owner))
	if _, lost := errors.AsType[*lease.LostError](err); lost {
		return nil
	}
	return err
}

func (s *Store) release(ctx context.Context, script script, scope lease.Scope, value string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	text, err := s.control.ask(ctx, script, question{
		keys:  []string{scope.LeaseKey()},
		nonce: s.control.nonces.next(),
		args:  []any{value, scope.ReleasedChannel()},
	})
	return s.kept(scope, text, err)
}

// kept reads the answer of a script that compares: ok, gone or other.
func (s *Store) kept(scope lease.Scope, text string, err error) error {
	if err != nil {
		return s.settled(err)
	}
	code, value, _ := strings.Cut(text, "|")
	switch code {
	case "ok":
		return nil
	case "gone":
		return &lease.LostError{Scope: scope}
	case "other":
		owner, token := lease.SplitValue(value)
		return &lease.LostError{Scope: scope, Owner: owner, Token: token}
	}
	return s.strange(text)
}

// settled classifies the one error that a client hands up as it came: a script cache that was emptied twice in a row.
func (s *Store) settled(err error) error {
	if isNoScript(err) {
		return classify(s.address, err)
	}
	return err
}

func (s *Store) strange(text string) error {
	return &lease.UnknownError{Address: s.address, Cause: fmt.Errorf(
		"the answer %.40q is none of the protocol's; is this a Redis, and does nothing else answer in its place?", text)}
}

// bounded gives a request a deadline if it has none.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, requestTimeout)
}
