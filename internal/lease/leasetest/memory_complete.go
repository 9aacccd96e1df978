package leasetest

import (
	"context"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Observe is lease.Store's.
func (m *Memory) Observe(ctx context.Context, scope lease.Scope) (lease.Observation, error) {
	if err := unsent(ctx, m.Address()); err != nil {
		return lease.Observation{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	current, held := m.live(scope.LeaseKey(), now)
	if !held {
		return lease.Observation{}, &lease.LostError{Scope: scope}
	}
	owner, token := lease.SplitValue(current.value)
	return lease.Observation{Owner: owner, Token: token, ExpiresIn: current.left(now), At: now}, nil
}

// Complete is lease.Store's.
func (m *Memory) Complete(ctx context.Context, request lease.CompleteRequest) (lease.Completion, error) {
	if err := request.Validate(); err != nil {
		return lease.Completion{}, &lease.NotExecutedError{Address: m.Address(), Cause: err}
	}
	if err := unsent(ctx, m.Address()); err != nil {
		return lease.Completion{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := request.Term.Scope.DoneKey(request.Occurrence)
	if known, found := m.done[key]; found && time.Now().Before(known.expires) {
		return lease.Completion{Verdict: verdictOn(request, known.record), Record: known.record}, nil
	}
	if newest, stale := m.newer(request.Term); stale {
		return lease.Completion{Verdict: lease.Rejected, Newest: newest}, nil
	}
	record := lease.CompletionRecord{
		Owner: request.Term.Owner, Token: request.Term.Token, Inputs: request.Inputs, Digest: request.Digest,
		Location: request.Location, At: time.Now(),
	}
	m.done[key] = completed{record, record.At.Add(request.Retention)}
	return lease.Completion{Verdict: lease.Accepted, Record: record}, nil
}

// verdictOn compares a request with the record that stands.
func verdictOn(request lease.CompleteRequest, record lease.CompletionRecord) lease.Verdict {
	switch {
	case record.Owner == request.Term.Owner:
		return lease.Duplicate
	case record.Inputs != request.Inputs:
		return lease.Conflict
	}
	return lease.Rejected
}

// newer says whether a newer token than the term's was granted, or another holds its lease, and the highest token known.
func (m *Memory) newer(term lease.Term) (newest lease.Token, stale bool) {
	newest = m.fences[term.Scope]
	current, held := m.live(term.Scope.LeaseKey(), time.Now())
	other := held && current.value != term.Value()
	if other {
		_, token := lease.SplitValue(current.value)
		newest = max(newest, token)
	}
	return newest, other || newest > term.Token
}
