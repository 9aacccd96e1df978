package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"time"
)

// Who writes.
const (
	operator      = "system:serviceaccount:leasehold-system:leasehold-controller-manager"
	jobController = "system:serviceaccount:kube-system:job-controller"
)

// write is a request that writes, as the API server's audit log has it.
type write struct {
	Verb string
	User struct{ Username string }
	// ObjectRef has no name if the API server was to make one up.
	ObjectRef      struct{ Resource, Namespace, Subresource string }
	ResponseStatus struct{ Code int }
	StageTimestamp time.Time
}

func (w write) isEvent() bool   { return w.ObjectRef.Resource == "events" }
func (w write) isLease() bool   { return w.ObjectRef.Resource == "leases" }
func (w write) isRefused() bool { return w.ResponseStatus.Code >= http.StatusBadRequest }

// readAudit returns every write that the API server remembers, in the order in which it answered.
func readAudit(ctx context.Context) ([]write, error) {
	out, err := exec.CommandContext(ctx, "hack/cluster/cluster", "audit").Output()
	if err != nil {
		return nil, fmt.Errorf("hack/cluster/cluster audit: %w", err)
	}
	var writes []write
	for line := range bytes.Lines(out) {
		if !bytes.HasSuffix(line, []byte("\n")) { // the last one may be half written
			break
		}
		var w write
		if err := json.Unmarshal(line, &w); err != nil {
			return nil, fmt.Errorf("a line of the audit log: %w", err)
		}
		writes = append(writes, w)
	}
	return writes, nil
}

// count is how many of the writes are as wanted.
func count(writes []write, wanted ...func(write) bool) float64 {
	n := 0.0
next:
	for _, w := range writes {
		for _, is := range wanted {
			if !is(w) {
				continue next
			}
		}
		n++
	}
	return n
}

func by(user string) func(write) bool { return func(w write) bool { return w.User.Username == user } }

func in(namespace string) func(write) bool {
	return func(w write) bool { return w.ObjectRef.Namespace == namespace }
}

func not(is func(write) bool) func(write) bool { return func(w write) bool { return !is(w) } }

// between passes the writes from one instant to another.
func between(from, to time.Time) func(write) bool {
	return func(w write) bool { return w.StageTimestamp.After(from) && w.StageTimestamp.Before(to) }
}

// settled waits until nobody has written to a namespace for a while, and returns all that was written.
func settled(ctx context.Context, namespace string) ([]write, error) {
	const still = 3 * time.Second
	ticks := time.NewTicker(still)
	defer ticks.Stop()
	for before := -1.0; ; {
		writes, err := readAudit(ctx)
		if err != nil {
			return nil, err
		}
		now := count(writes, in(namespace))
		if now == before {
			return writes, nil
		}
		before = now
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
