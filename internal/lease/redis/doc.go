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
//   - The password is read from its file for each new connection, and never stands in an error.
package redis
