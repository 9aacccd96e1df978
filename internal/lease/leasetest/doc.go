// Package leasetest is what tests of leases need: a store in memory, a wrapper that makes a store misbehave as networks do,
// a real redis-server, and the conformance suite that the memory store and the real one both pass, so that the fake cannot
// drift from the real thing.
package leasetest
