package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

const (
	// testInterval is after how long a node that was found fit is tested again, when a lease is next asked for.
	testInterval = time.Minute
	// retestInterval is the same for a node that was not.
	retestInterval = time.Second
)

// health remembers what is known of each node's fitness. It stands in the way of ACQUIRE only.
type health struct {
	policy Policy

	mu    sync.Mutex
	nodes map[string]*nodeHealth
	// longest is the longest lease that was asked for.
	longest time.Duration
}

func newHealth(policy Policy) *health {
	return &health{policy: policy, nodes: map[string]*nodeHealth{}}
}

// nodeHealth is what is known of one node.
type nodeHealth struct {
	// testing holds one token: who takes it tests the node.
	testing chan struct{}
	// due says that the node may be another one than it was.
	due atomic.Bool

	mu     sync.Mutex
	report NodeReport // that of the last self-test that came to an end
	tried  time.Time  // when the last self-test began, whether it came to an end or not
	err    error      // why it did not
	watch  clockWatch
}

// of returns the node's entry, and notes how long leases may be.
func (h *health) of(address string, longest time.Duration) (entry *nodeHealth, longestSeen time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.longest = max(h.longest, longest)
	entry, known := h.nodes[address]
	if !known {
		entry = &nodeHealth{testing: make(chan struct{}, 1)}
		h.nodes[address] = entry
	}
	return entry, h.longest
}

// admit lets a request to acquire pass if the node is fit for leases. It tests the node if that is due.
func (h *health) admit(ctx context.Context, n node, longest time.Duration) error {
	asked := time.Now()
	entry, _ := h.of(n.address, longest)
	report, due := entry.state(h.policy)
	if due {
		var err error
		if report, err = entry.update(ctx, n, h.policy, asked); err != nil {
			return err
		}
	}
	return entry.verdict(report, h.policy)
}

// update tests a node, or lets the last report stand: while another request tests the node, which is waited for only if nothing
// can be granted by that report, and if the test does not come to an end. An error says that there is no report at all.
func (e *nodeHealth) update(ctx context.Context, n node, policy Policy, asked time.Time) (NodeReport, error) {
	report, _ := e.state(policy)
	if taken, err := e.take(ctx, n.address, report.At.IsZero() || report.refusal(policy) != nil); !taken {
		return report, err
	}
	defer func() { <-e.testing }()
	report, due := e.state(policy)
	if !due {
		return report, nil // somebody tested it meanwhile
	}
	err := e.failedSince(asked)
	if err == nil {
		report, err = e.test(ctx, n)
	}
	if report.At.IsZero() {
		return report, err
	}
	return report, nil
}

// take takes the token, if need be once whoever has it is done.
func (e *nodeHealth) take(ctx context.Context, address string, wait bool) (taken bool, err error) {
	select {
	case e.testing <- struct{}{}:
		return true, nil
	default:
	}
	if !wait {
		return false, nil
	}
	err = e.await(ctx, address)
	return err == nil, err
}

// failedSince is the error of a self-test that another request began after the instant: many that wait for a node that is away
// do not try it one after the other.
func (e *nodeHealth) failedSince(asked time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tried.After(asked) {
		return e.err
	}
	return nil
}

// verdict is the refusal of a report as the error of a request that was not sent.
func (e *nodeHealth) verdict(report NodeReport, policy Policy) error {
	if cause := report.refusal(policy); cause != nil {
		return &lease.NotExecutedError{Address: report.Address, Cause: cause}
	}
	return nil
}

// await waits until nobody else tests the node.
func (e *nodeHealth) await(ctx context.Context, address string) error {
	select {
	case e.testing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &lease.NotExecutedError{Address: address, Cause: fmt.Errorf("its self-test took too long: %w", ctx.Err())}
	}
}

// state returns the last report, and whether it is time for another.
func (e *nodeHealth) state(policy Policy) (report NodeReport, due bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	interval := testInterval
	if e.report.At.IsZero() || e.report.refusal(policy) != nil {
		interval = retestInterval
	}
	age := time.Since(e.tried)
	return e.report, e.report.At.IsZero() || age >= interval || e.due.Load() && age >= retestInterval
}

// test runs the self-test and keeps its report. The caller holds the token.
func (e *nodeHealth) test(ctx context.Context, n node) (NodeReport, error) {
	e.mu.Lock()
	e.tried = time.Now()
	before := e.report
	e.mu.Unlock()
	e.due.Store(false)
	report, err := n.test(ctx, before)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err = err; err != nil {
		e.due.Store(true)
		return before, err
	}
	if before.RunID != report.RunID {
		e.watch = clockWatch{} // another process may be on another machine, and its clock another one
	}
	e.report = report
	return report, nil
}

// sample takes a reading of the node's clock, and refuses a request for the scope while the clock is not trusted.
func (h *health) sample(ctx context.Context, n node, s clockSample, request lease.AcquireRequest) error {
	entry, longest := h.of(n.address, max(request.TTL, request.Longest))
	if entry.suspects(s) && entry.replaced(ctx, n) {
		entry.restart(s)
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	entry.watch.observe(s)
	if left := entry.watch.left(s.received, longest); left > 0 {
		return &lease.QuarantinedError{Scope: request.Scope, Left: left, Why: lease.ClockJumped}
	}
	return nil
}

// suspects says whether the reading would be taken for a jump.
func (e *nodeHealth) suspects(s clockSample) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	trial := e.watch
	trial.observe(s)
	return !trial.jumped.Equal(e.watch.jumped)
}

// replaced says whether another process answers at the node's address than the one that was tested last.
func (e *nodeHealth) replaced(ctx context.Context, n node) bool {
	text, err := n.rdb.Info(ctx, "server").Result()
	if err != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.report.RunID != parseInfo(text)["run_id"]
}

// restart forgets the readings of a process that was replaced, and has the new one tested.
func (e *nodeHealth) restart(s clockSample) {
	e.due.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watch = clockWatch{last: s, base: s}
}

// suspect has a node tested again soon: it may have been restarted or replaced.
func (h *health) suspect(address string, err error) {
	quarantined, isQuarantined := errors.AsType[*lease.QuarantinedError](err)
	if err == nil || isQuarantined && quarantined.Why != lease.ServerChanged || isReply(err) {
		return
	}
	if _, isHeld := errors.AsType[*lease.HeldError](err); isHeld {
		return
	}
	entry, _ := h.of(address, 0)
	entry.due.Store(true)
}

// Health is what is known of the servers, for conditions and metrics.
type Health struct {
	// Nodes are the nodes that were asked for a lease or tested, by address.
	Nodes []NodeHealth
	// NonceMismatches is how many replies belonged to another request, since the store was made.
	NonceMismatches uint64
	// Unreplicated is how many grants too few replicas confirmed in time, since the store was made.
	Unreplicated uint64
}

// NodeHealth is what is known of one node.
type NodeHealth struct {
	// Address is the node's.
	Address string
	// Report is that of its last self-test; its At is zero if none came to an end.
	Report NodeReport
	// Refusal says why nothing is granted; nil if that is not because of the report.
	Refusal error
	// ClockLeft is for how long nothing is granted yet because the clock jumped, and ClockFault how it did, the last time.
	ClockLeft  time.Duration
	ClockFault string
}

// look returns what is known of all nodes.
func (h *health) look() []NodeHealth {
	h.mu.Lock()
	entries, longest := make(map[string]*nodeHealth, len(h.nodes)), h.longest
	maps.Copy(entries, h.nodes)
	h.mu.Unlock()
	all := make([]NodeHealth, 0, len(entries))
	for address, entry := range entries {
		entry.mu.Lock()
		all = append(all, NodeHealth{
			Address: address, Report: entry.report, Refusal: entry.report.refusal(h.policy),
			ClockLeft: entry.watch.left(time.Now(), longest), ClockFault: entry.watch.fault,
		})
		entry.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b NodeHealth) int { return strings.Compare(a.Address, b.Address) })
	return all
}

// testAll tests every node now.
func (h *health) testAll(ctx context.Context, nodes []node) (Report, error) {
	var report Report
	var errs []error
	for _, n := range nodes {
		entry, _ := h.of(n.address, 0)
		err := entry.await(ctx, n.address)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found, err := entry.test(ctx, n)
		<-entry.testing
		errs = append(errs, err)
		if err == nil {
			report.Nodes = append(report.Nodes, found)
		}
	}
	return report, errors.Join(errs...)
}
