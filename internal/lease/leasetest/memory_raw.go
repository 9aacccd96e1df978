package leasetest

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

var errOverflow = errors.New("no fencing token is left")

// refusal checks what the real store checks before it sends anything.
func (m *Memory) refusal(ctx context.Context, request lease.AcquireRequest) error {
	if err := request.Validate(); err != nil {
		return &lease.NotExecutedError{Address: m.Address(), Cause: err}
	}
	return unsent(ctx, m.Address())
}

// unsent is the error of a request whose context ended before it was sent.
func unsent(ctx context.Context, address string) error {
	if err := ctx.Err(); err != nil {
		return &lease.UnknownError{Address: address, Cause: err}
	}
	return nil
}

// Get is Raw's.
func (m *Memory) Get(scope lease.Scope) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	current, held := m.live(scope.LeaseKey(), time.Now())
	if !held {
		return ""
	}
	return current.value
}

// Set is Raw's.
func (m *Memory) Set(scope lease.Scope, value string, ttl time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	never := record{value: value}
	if m.leases[scope.LeaseKey()] = never; ttl > 0 {
		m.leases[scope.LeaseKey()] = record{value, time.Now().Add(ttl)}
	}
}

// TTL is Raw's.
func (m *Memory) TTL(scope lease.Scope) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	current, held := m.live(scope.LeaseKey(), time.Now())
	if !held || current.expires.IsZero() {
		return 0
	}
	return time.Until(current.expires)
}

// Remove is Raw's.
func (m *Memory) Remove(scope lease.Scope) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.leases, scope.LeaseKey())
}

// ChangeServer is Raw's.
func (m *Memory) ChangeServer(scope lease.Scope) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, seen := m.servers[scope]; seen {
		known.run = 0
		m.servers[scope] = known
	}
}

// EndQuarantine is Raw's.
func (m *Memory) EndQuarantine(scope lease.Scope) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.servers[scope]
	known.until = time.Now()
	m.servers[scope] = known
}

// PutClockBack is Raw's.
func (m *Memory) PutClockBack(scope lease.Scope, by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, seen := m.servers[scope]; seen {
		known.until = known.until.Add(by)
		m.servers[scope] = known
	}
}

// Fence is Raw's.
func (m *Memory) Fence(scope lease.Scope) lease.Token {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fences[scope]
}

// SetFence is Raw's.
func (m *Memory) SetFence(scope lease.Scope, token lease.Token) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fences[scope] = token
}

// DoneTTL is Raw's.
func (m *Memory) DoneTTL(scope lease.Scope, occurrence string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, time.Until(m.done[scope.DoneKey(occurrence)].expires))
}

// Forget is Raw's.
func (m *Memory) Forget(scope lease.Scope, occurrence string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.done, scope.DoneKey(occurrence))
}

// Restart gives the server a new run id, and leaves it its data.
func (m *Memory) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run++
}

// LoseEverything is Raw's.
func (m *Memory) LoseEverything() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.leases)
	clear(m.fences)
	clear(m.servers)
	clear(m.done)
}
