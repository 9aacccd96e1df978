package leasetest

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// tokenEpoch is 2024-01-01T00:00:00Z: tokens count milliseconds from here.
var tokenEpoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Memory is a lease.Store in memory that does what the scripts do. It lives by package time, so in a testing/synctest bubble
// its leases expire by the bubble's clock.
type Memory struct {
	mu     sync.Mutex
	leases map[string]record
	fences map[lease.Scope]lease.Token
	// servers and done hold what the keys of the same names do.
	servers map[lease.Scope]server
	done    map[string]completed
	run     int // the server's run id
}

// server is what a scope last saw of its server.
type server struct {
	run     int
	until   time.Time
	longest time.Duration
	why     lease.Suspicion
}

// record is what a lease key holds; one whose expires is zero never does.
type record struct {
	value   string
	expires time.Time
}

// completed is a completion, and until when it is remembered.
type completed struct {
	record  lease.CompletionRecord
	expires time.Time
}

var _ lease.Store = (*Memory)(nil)

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return &Memory{
		leases: map[string]record{}, fences: map[lease.Scope]lease.Token{}, servers: map[lease.Scope]server{},
		done: map[string]completed{}, run: 1,
	}
}

// Acquire is lease.Store's.
func (m *Memory) Acquire(ctx context.Context, request lease.AcquireRequest) (lease.Grant, error) {
	if err := m.refusal(ctx, request); err != nil {
		return lease.Grant{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	key := request.Scope.LeaseKey()
	current, held := m.live(key, now)
	owner, token := lease.SplitValue(current.value)
	switch {
	case held && strings.HasPrefix(current.value, string(request.Owner)+"|"):
	case held:
		return lease.Grant{}, &lease.HeldError{Scope: request.Scope, Owner: owner, Token: token, ExpiresIn: current.left(now)}
	default:
		var err error
		if token, err = m.mint(request, now); err != nil {
			return lease.Grant{}, err
		}
	}
	term := lease.Term{Scope: request.Scope, Owner: request.Owner, Token: token}
	m.leases[key] = record{term.Value(), now.Add(request.TTL)}
	return lease.Grant{Term: term, At: now}, nil
}

// mint makes the next token of a free lease, unless it is refused.
func (m *Memory) mint(request lease.AcquireRequest, now time.Time) (lease.Token, error) {
	fence := m.fences[request.Scope]
	token := max(fence+1, request.Floor+1, lease.Token(max(0, now.Sub(tokenEpoch).Milliseconds())))
	if token > lease.MaxToken {
		return 0, &lease.NotExecutedError{Address: m.Address(), Cause: errOverflow}
	}
	if err := m.quarantine(request, now); err != nil {
		return 0, err
	}
	m.fences[request.Scope] = token
	m.servers[request.Scope] = server{run: m.run, longest: request.TTL}
	return token, nil
}

// quarantine refuses a grant for as long as somebody may hold a lease that was forgotten.
func (m *Memory) quarantine(request lease.AcquireRequest, now time.Time) error {
	known, seen := m.servers[request.Scope]
	known.longest = max(known.longest, request.TTL, request.Longest)
	forgot := lease.Suspicion("")
	switch {
	case seen && known.run != m.run:
		forgot = lease.ServerChanged
	case m.fences[request.Scope] < request.Floor:
		forgot = lease.DataLost
	case known.until.Sub(now) > known.longest:
		forgot = known.why // the clock went back since then
	}
	if forgot != "" {
		known.run, known.why, known.until = m.run, forgot, now.Add(known.longest)
		m.fences[request.Scope] = max(m.fences[request.Scope], request.Floor)
		m.servers[request.Scope] = known
	}
	if left := known.until.Sub(now); left > 0 {
		return &lease.QuarantinedError{Scope: request.Scope, Left: left, Why: known.why}
	}
	return nil
}

// Renew is lease.Store's.
func (m *Memory) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	errs := make([]error, len(renewals))
	for i, r := range renewals {
		errs[i] = m.compare(ctx, r.Scope(), r.Value, func(key string) {
			m.leases[key] = record{r.Value, time.Now().Add(r.TTL())}
		})
	}
	return errs
}

// Release is lease.Store's.
func (m *Memory) Release(ctx context.Context, term lease.Term) error {
	return m.compare(ctx, term.Scope, term.Value(), func(key string) { delete(m.leases, key) })
}

// ReleaseOwner is lease.Store's.
func (m *Memory) ReleaseOwner(ctx context.Context, scope lease.Scope, owner lease.Owner) error {
	if err := unsent(ctx, m.Address()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if current, held := m.live(scope.LeaseKey(), time.Now()); held && strings.HasPrefix(current.value, string(owner)+"|") {
		delete(m.leases, scope.LeaseKey())
	}
	return nil
}

// Check is lease.Store's.
func (m *Memory) Check(ctx context.Context) error { return unsent(ctx, m.Address()) }

// Address is lease.Store's.
func (m *Memory) Address() string { return "memory" }

// compare runs an effect if the value still holds the lease.
func (m *Memory) compare(ctx context.Context, scope lease.Scope, value string, effect func(key string)) error {
	if err := unsent(ctx, m.Address()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	current, held := m.live(scope.LeaseKey(), time.Now())
	if !held {
		return &lease.LostError{Scope: scope}
	}
	if current.value != value {
		owner, token := lease.SplitValue(current.value)
		return &lease.LostError{Scope: scope, Owner: owner, Token: token}
	}
	effect(scope.LeaseKey())
	return nil
}

// left is for how long the record lives; 0 if it never expires.
func (r record) left(now time.Time) time.Duration {
	if r.expires.IsZero() {
		return 0
	}
	return r.expires.Sub(now)
}

func (m *Memory) live(key string, now time.Time) (record, bool) {
	current, found := m.leases[key]
	return current, found && (current.expires.IsZero() || now.Before(current.expires))
}
