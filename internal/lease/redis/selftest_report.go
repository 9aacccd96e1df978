package redis

import (
	"slices"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Severity says what a finding means for leases.
type Severity string

// The severities, the worst first.
const (
	// Fatal: leases cannot work with this server as it is.
	Fatal Severity = "fatal"
	// Unsafe: leases work, and one can be lost without anybody's doing.
	Unsafe Severity = "unsafe"
	// Advice: leases are as safe as they can be here, and something else is not.
	Advice Severity = "advice"
)

// The codes of findings: stable names, for conditions and metrics.
const (
	CodeVersion        = "version"         // older than Redis 7.0
	CodeActiveReplica  = "active-replica"  // KeyDB's replicas that accept writes
	CodeDragonfly      = "dragonfly"       // works, and is not tested by us
	CodeReplica        = "replica"         // not the primary
	CodeEvictionPolicy = "eviction-policy" // maxmemory-policy is not noeviction
	CodeEvicting       = "evicting"        // keys were evicted since the last self-test
	CodePersistence    = "persistence"     // nothing is written to disk
	CodeMinReplicas    = "min-replicas"    // a primary that lost its replicas goes on
	CodeCluster        = "cluster"         // a Cluster node where none is expected, or the other way round
	CodeRight          = "right"           // the ACL user lacks a right
	CodeCommand        = "command"         // a command is missing or was renamed
	CodeScript         = "script"          // a script answers something else than it should
	CodeInfoUnreadable = "info"            // INFO does not tell what it should
)

const (
	// maxFindingTextBytes is how much of what a server says itself stands in a finding.
	maxFindingTextBytes = 300
	// scratchNamespace is the first part of the scopes that a self-test works on.
	scratchNamespace = "leasehold-selftest"
)

// Finding is one thing that is wrong with a server.
type Finding struct {
	// Code is one of the constants Code....
	Code string
	// Severity says what it means.
	Severity Severity
	// Text says what is wrong, why that matters, and which command or setting mends it.
	Text string
}

// NodeReport is what the self-test of one node found.
type NodeReport struct {
	// Address is the node's.
	Address string
	// At is the local instant at which the test began.
	At time.Time
	// RunID names the server's process; empty if INFO does not tell it.
	RunID string
	// Version is the kind of server and its version, such as "redis 7.2.4"; empty if INFO does not tell it.
	Version string
	// Findings are in the order in which they were found; none if all is well.
	Findings []Finding
	// evicted is the number of keys that the process evicted in its life.
	evicted int64
}

// Report is what a self-test found, node by node.
type Report struct{ Nodes []NodeReport }

// Policy says what an unsafe finding is answered with. A fatal one always refuses.
type Policy string

// The policies.
const (
	// Refuse grants nothing until a further self-test finds nothing fatal or unsafe. It is the default.
	Refuse Policy = "refuse"
	// Degrade grants all the same: somebody said that losing a lease now and then is better than waiting.
	Degrade Policy = "degrade"
)

// refusal is the first finding for which nothing is granted; nil if there is none.
func (r NodeReport) refusal(policy Policy) error {
	for _, f := range r.Findings {
		if f.Severity == Fatal || f.Severity == Unsafe && policy != Degrade {
			return &lease.UnsafeError{Address: r.Address, Code: f.Code, Text: f.Text}
		}
	}
	return nil
}

// fatal says whether leases cannot work at all.
func (r NodeReport) fatal() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Fatal })
}
