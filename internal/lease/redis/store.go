package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

const (
	// requestTimeout bounds a request whose context has no deadline: one dial, one write and one read.
	requestTimeout = 3 * time.Second
	// windowSlack is the room for clock rate and rounding around the window in which an ACQUIRE may run. The estimate of the
	// server's time is never older than one round trip.
	windowSlack = time.Second
	// fenceTTL is how long the highest token outlives the last grant. After 30 days the clock has passed it by far.
	fenceTTL = 30 * 24 * time.Hour
)

// Store is a lease.Store on one Redis 7.0 or newer.
type Store struct {
	address string
	control *client
	renewal *client
}

var _ lease.Store = (*Store)(nil)

// quiet turns the library's own log off: what went wrong comes back as an error, and is told once, by whoever handles it.
var quiet = sync.OnceFunc(logging.Disable)

// New makes a store. It connects on first use, so a Redis that is away now is no error. Close it after use.
func New(options Options) *Store {
	quiet()
	return &Store{address: options.Address, control: newClient(options), renewal: newClient(options)}
}

// Close closes all connections.
func (s *Store) Close() error {
	return errors.Join(s.control.rdb.Close(), s.renewal.rdb.Close())
}

// Address is host:port.
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

// Acquire runs acquire.lua within a window of the server's time, so that a request that is stuck on its way and runs after
// its sender gave up grants nothing.
func (s *Store) Acquire(ctx context.Context, request lease.AcquireRequest) (lease.Grant, error) {
	if err := request.Validate(); err != nil {
		return lease.Grant{}, &lease.NotExecutedError{Address: s.address, Cause: err}
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	lo, hi, err := s.window(ctx)
	if err != nil {
		return lease.Grant{}, err
	}
	t0 := time.Now()
	text, err := s.control.ask(ctx, acquireScript, question{
		keys:  []string{request.Scope.LeaseKey(), request.Scope.FenceKey()},
		nonce: s.control.nonces.next(),
		args: []any{string(request.Owner), request.TTL.Milliseconds(), request.Floor.String(), lo, hi,
			fenceTTL.Milliseconds()},
	})
	if err != nil {
		return lease.Grant{}, s.settled(err)
	}
	token, err := s.granted(request.Scope, text)
	if err != nil {
		return lease.Grant{}, err
	}
	return lease.Grant{Term: lease.Term{Scope: request.Scope, Owner: request.Owner, Token: token}, At: t0}, nil
}

// window asks for the server's time and returns, in ms since 1970 by that clock, when the request may run: from now on and
// until the context's deadline, with some slack.
func (s *Store) window(ctx context.Context) (lo, hi int64, err error) {
	now, err := s.control.rdb.Time(ctx).Result()
	if err != nil {
		// TIME writes nothing: whatever became of it, no lease was granted.
		return 0, 0, &lease.NotExecutedError{Address: s.address, Cause: err}
	}
	deadline, _ := ctx.Deadline()
	budget := time.Until(deadline)
	return now.Add(-windowSlack).UnixMilli(), now.Add(budget + windowSlack).UnixMilli(), nil
}

// granted reads the answer of acquire.lua.
func (s *Store) granted(scope lease.Scope, text string) (lease.Token, error) {
	code, rest, _ := strings.Cut(text, "|")
	switch code {
	case "ok":
		token, err := lease.ParseToken(rest)
		if err != nil {
			return 0, &lease.UnknownError{Address: s.address, Cause: err}
		}
		return token, nil
	case "busy":
		return 0, held(scope, rest)
	case "clock":
		return 0, &lease.NotExecutedError{Address: s.address, Cause: fmt.Errorf(
			"the request came late, or Redis's clock jumped: it ran at server time %s ms, outside its window", rest)}
	case "overflow":
		return 0, &lease.NotExecutedError{Address: s.address, Cause: fmt.Errorf(
			"no fencing token is left for %s: the next one would be %s; is Redis's clock or the floor wrong?", scope, rest)}
	}
	return 0, s.strange(text)
}

func held(scope lease.Scope, rest string) error {
	left, value, _ := strings.Cut(rest, "|")
	owner, token := lease.SplitValue(value)
	return &lease.HeldError{Scope: scope, Owner: owner, Token: token, ExpiresIn: remaining(left)}
}

// remaining reads a PTTL: -1 is a key that never expires, and 0 one that ends within this millisecond.
func remaining(pttl string) time.Duration {
	ms, err := strconv.ParseInt(pttl, 10, 64)
	if err != nil || ms < 0 {
		return 0
	}
	return time.Duration(max(ms, 1)) * time.Millisecond
}

// Renew runs renew.lua for all in one pipeline, on the renewals' own connections.
func (s *Store) Renew(ctx context.Context, renewals []lease.Renewal) []error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	questions := make([]question, len(renewals))
	for i, r := range renewals {
		questions[i] = question{
			keys:  []string{r.Term.Scope.LeaseKey()},
			nonce: s.renewal.nonces.next(),
			args:  []any{r.Term.Value(), max(r.TTL, lease.MinLeaseDuration).Milliseconds()},
		}
	}
	answers := s.renewal.askAll(ctx, renewScript, questions)
	errs := make([]error, len(renewals))
	for i, r := range renewals {
		errs[i] = s.kept(r.Term.Scope, answers[i].text, answers[i].err)
	}
	return errs
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
