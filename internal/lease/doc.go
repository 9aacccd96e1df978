// Package lease is the protocol by which executions of a report keep out of each other's way, and the arithmetic of how long
// one of them may believe that it is alone. This comment is the specification; docs/protocol.md publishes it for programs
// outside Kubernetes.
//
// # Keys
//
// The keys of a scope share a hash tag, so they share a slot of a Redis Cluster. A scope is "<namespace>/<jobID>".
//
//	leasehold:{<scope>}:lease      "<owner>|<token>", PX leaseDuration: who holds the lease
//	leasehold:{<scope>}:fence      the highest token minted, for 30 days
//	leasehold:{<scope>}:released   a sharded channel: a release is published as a hint to those who wait
//
// An owner is 128 random bits per execution, in hex, and never used twice: not a pod, not an operator, not a name. So nobody
// can mistake a later execution's lease for his own.
//
// # Requests
//
// Each request is one script, which Redis runs alone. Input and output stand at the top of each .lua file in package redis.
//
//	ACQUIRE        grants if the key is free; refuses with the holder; writes nothing outside its window of server time
//	RENEW          sets the remaining time if owner and token still hold the key; never creates it
//	RELEASE        removes the key if owner and token still hold it, then publishes
//	RELEASE-BY-OWNER  the same by owner alone, for a grant whose token was never learned
//
// The first argument is a nonce; the reply begins with it. A reply with another nonce belongs to another request.
//
// # Outcomes
//
// Every request is executed, not executed, or unknown. Unknown is what a lost reply, a timeout or a foreign answer leave: the
// script may have run, or may still. It is never taken for either of the others:
//
//   - An ACQUIRE of unknown outcome is never used. It is withdrawn by owner if possible and lapses otherwise. It cannot take
//     effect later than its window, which ends a second after its sender gave up.
//   - A RENEW of unknown outcome moves no deadline. Sending it again is safe, as it can only lengthen its own term.
//   - A RELEASE of unknown outcome is no release. Sending it again is safe, as it compares the term.
//
// # Tokens
//
//	token = max(fence + 1, floor + 1, server time in ms since 2024-01-01)     below 2^53
//
// Within one server's data, fence makes tokens increase. When the data is lost, the server's clock does, as long as it runs on
// past the last token; and floor, the highest token that the caller's own records know, does when the clock does not. After 30
// days without a grant the clock is so far past the fence that it is not missed.
//
// # Trust
//
// Let t0 be the local monotonic instant before the request was sent that was confirmed, L the leaseDuration, G the
// stopGracePeriod. Then, by the local clock:
//
//	T = t0 + 0.8 L          the end of trust: from here on the lease may be another's
//	S = T - G - 1 s         the stop must begin here, for the report to be dead by T
//	U = min(S, t0 + renewalInterval + renewalTimeout)     ownership is uncertain from here on
//
// Why 0.8: Redis counts L from when it runs the script, which is after t0. Its clock may run fast, by up to 8.33 % while chrony
// slews it, and then the lease ends early, L/1.0833 after t0 at the earliest. The local clock may run slow by as much, and then
// T comes late, 0.8 L/0.9167 after t0 at the latest. 0.8/0.9167 = 0.873 is less than 1/1.0833 = 0.923. What no factor covers is
// a clock that is stepped, and a machine that is suspended.
//
// A confirmation sets t0 forward to its own; nothing else moves a deadline, and a confirmation that arrives after U revives
// nothing: uncertain and lost are final for the term.
//
// # Failures
//
//	what happens                       what Redis holds          what we do                        why that is safe
//	reply to ACQUIRE lost              maybe a lease             withdraw by owner, start nothing  nothing runs under it; it lapses
//	ACQUIRE is late on its way         nothing                   -                                 the window refuses it
//	reply to RENEW lost                the lease, maybe longer   repeat until U                    no deadline moved
//	Redis away for less than U         the lease                 repeat                            trusted until T anyway
//	Redis away for longer              the lease, then nothing   stop at U, dead by T              T is before the lease's end
//	lease removed or taken             another's, or nothing     stop at the next RENEW            overlap until it is stopped: the
//	                                                                                               older token is the lower one
//	data lost, or a replica that       nothing                   the same                          the same; tokens still increase
//	  missed the lease is promoted
//	Redis's clock stepped forward      nothing, too early        the same                          the same
//	Redis out of memory                the lease                 renew and release, grant nothing  they take no memory
//	replies out of step                as before                 unknown, connections dropped      the nonce shows it
//
// # Not promised
//
// A lease in one Redis is no proof of being alone: a lost primary, a stepped clock, an eviction or a person can free it early.
// Overlap is then as long as the stop takes, and harmless where the destination refuses the lower token.
package lease
