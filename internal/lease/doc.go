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
//	leasehold:{<scope>}:server     "<server id>|<until>|<longest>|<why>", for 30 days: which server granted last, until when
//	                               nothing is granted (ms since 1970 by its clock, or 0), and the longest lease that may be
//	                               forgotten (ms)
//	leasehold:{<scope>}:done:<occurrence>
//	                               "<owner>|<token>|<at>|<bytes of inputs>|<bytes of digest>|<inputs><digest><location>", PX
//	                               retention: the completion of an occurrence
//	leasehold:{<scope>}:released   a sharded channel: a release is published as a hint to those who wait
//
// An owner is 128 random bits per execution, in hex, and never used twice: not a pod, not an operator, not a name. So nobody
// can mistake a later execution's lease for his own.
//
// # Requests
//
// Each request is one script, which Redis runs alone. Input and output stand at the top of each .lua file in package redis.
//
//	ACQUIRE        grants if the key is free and no holder can be forgotten; refuses with the holder, or for a time; writes
//	               nothing outside its window of server time
//	RENEW          sets the remaining time if owner and token still hold the key; never creates it
//	RELEASE        removes the key if owner and token still hold it, then publishes
//	RELEASE-BY-OWNER  the same by owner alone, for a grant whose token was never learned
//	OBSERVE        reads who holds the key; a replica refuses it, as it may remember what is over
//	COMPLETE       records the result of an occurrence, once, unless a newer token was granted or another holds the key
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
//   - A COMPLETE of unknown outcome is repeated until it is answered: the same owner gets its own record back.
//
// # Tokens
//
//	token = max(fence + 1, floor + 1, server time in ms since 2024-01-01)     below 2^53
//
// Within one server's data, fence makes tokens increase. When the data is lost, the server's clock does, as long as it runs on
// past the last token; and floor, the highest token that the caller's own records know, does when the clock does not. After 30
// days without a grant the clock is so far past the fence that it is not missed.
//
// When a token can be minted a second time: the data is lost, the clock does not stand past the last token (several grants
// within one ms put the tokens ahead of it), and nobody who asks knows a floor. Then the two owners differ, and of both at most
// one completes an occurrence; a destination that compares owners besides tokens refuses the second.
//
// A fence that is far ahead, because the clock was wrong once, goes on from there: repair is to wait, never to reset. Above
// 2^53-1 nothing is granted.
//
// # Quarantine
//
// A server that was restarted, or a replica that was promoted, may have forgotten a lease that somebody relies on. ACQUIRE finds
// that out by itself, when nobody holds the key:
//
//	server    the server id, run_id and master_replid, differs from the one that granted the scope's last lease
//	data      the fence is below the request's floor: a token that was granted is not known
//
// Then nothing is granted for one longest lease L by the server's clock, from when this is found out. L is the longest of the
// last grant, the request's TTL, and what the request says to be the longest. A further change begins it again, and so does a
// clock that goes back so far that more than L would be left.
//
// Why one L suffices: whoever was forgotten sent its last confirmed request before the data was lost, and trusts it until 0.8 L
// later by its own clock. That clock may be slow by 8.33 %: 0.8 L/0.9167 = 0.873 L of true time. The server that waits may be
// fast by 8.33 %: it grants L/1.0833 = 0.923 L of true time after the question at the earliest, and the question came after the
// loss.
//
// The replication id is part of the server id because of a primary that is replaced and given its place back: its run id is the
// old one, and the grants that it made just before the first change are gone with its data. It also changes when a server gets
// its first replica, or has had none for an hour (repl-backlog-ttl); then each scope waits for one lease without need. The same
// holds for a slot of a Cluster that was moved.
//
// What it does not cover: an old primary on the other side of a split network, which goes on renewing while its successor waits
// and then grants (min-replicas-to-write 1 ends that after min-replicas-max-lag); the very first lease of a scope, if the server
// forgets it and nobody who asks knows its token; and a lease that was renewed for longer than it was granted, unless the request
// says so. The token is still higher.
//
// # Clocks
//
// Each ACQUIRE asks the server for its time first, for the window. The progress between two answers is compared with that of the
// local monotonic clock; the readings of two machines never are. A step of more than 2 s forward or 30 s back beyond what slewing
// by 8.33 % explains, a rate that is wrong by more than 10 % over at least 10 s, or a clock that stands still makes this process
// ask the node for nothing during one longest lease: leases may have ended too early. Renewals go on.
//
// # Completion
//
// COMPLETE does not need the lease any more, only that nobody was granted it since: a report that ended while Redis was away is
// recorded late.
//
//	accepted    recorded now
//	duplicate   this owner recorded before; its first record stands
//	rejected    a newer token was granted, another holds the key, or another owner completed the occurrence from the same inputs
//	conflict    the occurrence was completed from other inputs
//
// It writes the record alone. A fence that is lower than the token tells of lost data, and the next ACQUIRE with that floor must
// find it so.
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
//	data lost, or a replica that       nothing                   the same; grant nothing for one   a forgotten holder's trust is
//	  missed the lease is promoted                               longest lease                     over by then
//	failover and back again            maybe an older lease      the same: the replication id      the same
//	                                                             differs
//	the fence alone is lost            the lease, or nothing     the same, if a floor is known;    the floor, or the clock, is
//	                                                             tokens go on from the clock       past the last token
//	reply to COMPLETE lost             maybe the record          repeat                            the owner gets its own record
//	COMPLETE after the data was lost   the record, no fence      accept it; the next ACQUIRE       a second record needs the first
//	                                                             is quarantined                    to be lost
//	COMPLETE by an older term          another's, or the fence   reject it                         the newer one completes
//	keys are evicted                   nothing                   grant nothing until it is         what was granted before is not
//	                                                             mended (the self-test)            proved: the older token is lower
//	a key of a foreign kind            that                      refuse, name it, leave it alone   nobody was granted it
//	Redis's clock stepped back         the lease, for longer     go on                             tokens follow the fence
//	Redis's clock stands still         the lease, for ever       renew, grant nothing              nothing ends that is held
//	Redis's clock stepped forward      nothing, too early        stop at the next RENEW; grant     overlap with who does not see
//	                                                             nothing for one longest lease     it: the older token is lower
//	Redis out of memory                the lease                 renew and release, grant nothing  they take no memory
//	replies out of step                as before                 unknown, connections dropped      the nonce shows it
//
// # Not promised
//
// A lease in one Redis is no proof of being alone: a split network, a stepped clock, an eviction or a person can free it early.
// Overlap is then as long as the stop takes, and harmless where the destination refuses the lower token.
package lease
