// Package histories proves the lease protocol by what its clients saw. Its tests let three clients, each a redis.Store with
// connections of its own through a proxy of its own, compete for many scopes of one real server while requests and replies are
// lost, held back and delayed, connections cut, clients killed and paused for longer than a lease, leases removed and the
// server restarted without data. Every request is recorded with its answer and with the instants, by one monotonic clock,
// between which it was on its way. What is recorded must then pass four checks.
//
// # Exclusion
//
// A confirmation, a grant or a renewal, is trusted from when its client learned of it until 0.8 leaseDuration after the client
// sent its request. Trust ends earlier when the client sends a release or a withdrawal, or learns that the lease is lost. No
// instant lies in trusted times of two owners of one scope. One event alone excuses: when a person removes a lease, its holder
// is not trusted from then on, as the protocol promises nothing for that. A killed client's trust does not end with it: its
// report may run on.
//
// # Tokens
//
// Of two grants of a scope, the one that was asked for after the other was confirmed has the higher token; no token is granted
// twice; and no floor, the highest token confirmed before the request was sent, reaches the token granted. Loss of the
// server's data changes nothing.
//
// # Duration
//
// Nobody sees a lease that should be over: not renewed, or asked for, within the last leaseDuration. Of leases with requests
// of unknown outcome that could have lengthened them this is not known, and they are not checked.
//
// # Linearizability
//
// For each scope there is an order of all requests, one that keeps those apart that did not overlap in time, in which every
// answer is the one that a single register would give. The register holds the present owner and token; porcupine looks for
// the order. Its rules:
//
//   - A grant finds the register free, and its token is above all earlier ones.
//   - A renewal or a release that is confirmed finds its own term, and a refusal finds the holder that it names.
//   - What says that nobody holds the lease finds the register free.
//   - A restart without data frees the register, and nothing is granted for one longest lease from its beginning. This holds for
//     requests that know a token of the scope, and so no restart comes while there may be others.
//
// Expiry is no request, and enters by the one thing that is certain of it: Redis runs a request after it was sent, so a lease
// cannot lapse earlier than leaseDuration after its last confirmation was sent. An answer that needs a free register, and was
// received at that instant or later, may find it free; one received earlier may not. A lease that may have lapsed need not
// have: while nobody saw it free, its term may still be confirmed. (That it does not live too long is the check of duration.)
//
// # Unknown outcomes
//
// A request of unknown outcome may have been executed, may still be, or never is:
//
//   - An acquisition is taken as a grant if anybody saw its owner hold the lease: its token is the one that was seen, and it
//     took effect before the first who saw it had his answer. If nobody did, then whatever it was changes no other answer.
//   - A renewal changes no answer: it can lengthen its own lease only, and the rule above bounds expiry from below.
//   - A release or a withdrawal makes its lease one that may be found free at any time from when it was sent.
//
// A request that is said to be not executed is left out. So, if it was executed, what others saw of it has no explanation.
package histories
