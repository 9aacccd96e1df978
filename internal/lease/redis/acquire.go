package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// windowSlack is the room for clock rate and rounding around the window in which an ACQUIRE may run. The estimate of the
// server's time is never older than one round trip.
const windowSlack = time.Second

// Acquire runs acquire.lua within a window of the server's time, so that a request that is stuck on its way and runs after
// its sender gave up grants nothing.
func (s *Store) Acquire(ctx context.Context, request lease.AcquireRequest) (lease.Grant, error) {
	if err := request.Validate(); err != nil {
		return lease.Grant{}, &lease.NotExecutedError{Address: s.address, Cause: err}
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	n, err := s.nodeOf(ctx, request.Scope)
	if err != nil {
		return lease.Grant{}, err
	}
	if err := s.health.admit(ctx, n, max(request.TTL, request.Longest)); err != nil {
		return lease.Grant{}, err
	}
	grant, err := s.acquire(ctx, n, request)
	s.health.suspect(n.address, err)
	return grant, err
}

// acquire asks a node that is fit for leases.
func (s *Store) acquire(ctx context.Context, n node, request lease.AcquireRequest) (lease.Grant, error) {
	lo, hi, err := s.window(ctx, n, request)
	if err != nil {
		return lease.Grant{}, err
	}
	t0 := time.Now()
	text, replicas, err := s.askAcquire(ctx, n, question{
		keys:  []string{request.Scope.LeaseKey(), request.Scope.FenceKey(), request.Scope.ServerKey()},
		nonce: s.control.nonces.next(),
		args: []any{string(request.Owner), request.TTL.Milliseconds(), request.Floor.String(), lo, hi,
			memory.Milliseconds(), request.Longest.Milliseconds()},
	})
	if err != nil {
		return lease.Grant{}, s.settled(err)
	}
	token, err := s.granted(request.Scope, text)
	if err != nil {
		return lease.Grant{}, err
	}
	grant := lease.Grant{Term: lease.Term{Scope: request.Scope, Owner: request.Owner, Token: token}, At: t0}
	if err := s.replicated(ctx, grant, replicas); err != nil {
		return lease.Grant{}, err
	}
	return grant, nil
}

// window asks for the server's time and returns, in ms since 1970 by that clock, when the request may run: from now on and
// until the context's deadline, with some slack. A clock that jumped opens none.
func (s *Store) window(ctx context.Context, n node, request lease.AcquireRequest) (lo, hi int64, err error) {
	sent := time.Now()
	now, err := n.rdb.Time(ctx).Result()
	if err != nil {
		// TIME writes nothing: whatever became of it, no lease was granted.
		return 0, 0, &lease.NotExecutedError{Address: n.address, Cause: err}
	}
	if err := s.health.sample(ctx, n, clockSample{server: now, sent: sent, received: time.Now()}, request); err != nil {
		return 0, 0, err
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
	case "wait":
		return 0, s.quarantined(scope, rest)
	case "clock":
		return 0, &lease.NotExecutedError{Address: s.address, Cause: fmt.Errorf(
			"the request came late, or Redis's clock jumped: it ran at server time %s ms, outside its window", rest)}
	case "overflow":
		return 0, &lease.NotExecutedError{Address: s.address, Cause: fmt.Errorf(
			"no fencing token is left for %s: the next one would be %s; is Redis's clock or the floor wrong?", scope, rest)}
	}
	return 0, s.strange(text)
}

// quarantined reads "<ms>|<why>".
func (s *Store) quarantined(scope lease.Scope, rest string) error {
	left, why, _ := strings.Cut(rest, "|")
	ms, err := strconv.ParseInt(left, 10, 64)
	if err != nil || ms <= 0 {
		return s.strange("wait|" + rest)
	}
	return &lease.QuarantinedError{Scope: scope, Left: time.Duration(ms) * time.Millisecond, Why: lease.Suspicion(why)}
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
