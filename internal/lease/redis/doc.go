// Package redis keeps leases in a Redis 7.0 or newer. It is the only package that talks to Redis, and it owns every script:
// each .lua file begins with its contract.
//
// What the package adds to the scripts:
//
//   - A script is sent once. The library's retries are off for every call, alone or in a pipeline, because a reply that was
//     lost says nothing of whether the script ran. Only what the server certainly did not run is sent again, and only after
//     NOSCRIPT; everything else is the caller's decision, within the lease's time.
//   - Every reply begins with the nonce of its request. A reply with another nonce is unknown, and all connections of the pool
//     are dropped: replies that are out of step stay so.
//   - Errors are sorted into "not executed" and "unknown" by a table (classify.go); unknown is the default.
//   - Renewals have connections of their own.
//   - No script reads more of a key than a value of ours can have, and each reads all its keys before it writes any.
//   - The password is read from its file for each new connection, and never stands in an error.
//
// # Self-test
//
// Before the first ACQUIRE on a node, when the node may be another one, and once a minute while leases are asked for, the node is
// tested: every script runs on a scope of its own, "leasehold-selftest/<random>", and INFO is read. What is found is
//
//	fatal     version, active-replica, replica, cluster, right, command, script    leases cannot work
//	unsafe    eviction-policy, evicting                                            a lease can be lost without anybody's doing
//	advice    persistence, min-replicas, dragonfly, info                           told, and nothing else
//
// While something fatal is found, and while something unsafe is found unless Options.Unsafe is Degrade, ACQUIRE is not executed
// and says what to mend; the node is tested again with the next ACQUIRE, at most once a second. RENEW and RELEASE never wait for
// a test, and are never refused because of one. A test that gets no answer changes nothing: the requests will not get one either.
package redis
