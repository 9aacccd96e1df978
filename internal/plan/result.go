package plan

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Result is what became of one action. The set is closed.
type Result interface{ isResult() }

// Done means: the action was carried out and has nothing to tell.
type Done struct{}

// Failed means: the action was not carried out, or that is unknown, and repeating it is right. The rest of the actions was not
// tried.
type Failed struct {
	// Message says what happened, to which object and what to do next.
	Message string
}

// LeaseGranted means: Redis granted the lease and the engine tracks it.
type LeaseGranted struct {
	// Owner is the 128-bit value in hex that was drawn for this grant; it becomes the execution's ID.
	Owner string
	// Token is the fencing token in decimal.
	Token string
	// LeaseKey is the Redis key.
	LeaseKey string
	// Job is the name that the Job of this execution shall have.
	Job string
}

// LeaseHeldByOther means: another execution holds the lease.
type LeaseHeldByOther struct {
	// Owner and Token are the holder's, as found in Redis.
	Owner, Token string
	// ExpiresIn is how long the lease lives on without a renewal; 0 if it never expires.
	ExpiresIn time.Duration
	// LeaseKey is the Redis key.
	LeaseKey string
}

// holder names who holds the lease. A value without a token was put there by another kind of program.
func (r LeaseHeldByOther) holder() string {
	if r.Token == "" {
		return fmt.Sprintf("Something that is no execution of a report, %q,", r.Owner)
	}
	return fmt.Sprintf("Execution %s with fencing token %s", r.Owner, r.Token)
}

// poll is when to ask again: when the lease may have ended, and not too late for one that is given back earlier.
func (r LeaseHeldByOther) poll() time.Duration {
	if r.ExpiresIn == 0 {
		return longestPoll
	}
	return min(max(r.ExpiresIn, shortestPoll), longestPoll)
}

// end says when the lease ends if nothing happens; a key without an expiry does not. It names no time: what is written once
// would be wrong after the next renewal.
func (r LeaseHeldByOther) end() string {
	if r.ExpiresIn == 0 {
		return fmt.Sprintf(", which never expires: if nobody holds it any more, remove the key %s in Redis", r.LeaseKey)
	}
	return ""
}

// LeaseQuarantined means: nobody is known to hold the lease, and Redis may have forgotten who does; nothing was granted.
type LeaseQuarantined struct {
	// Left is for how long nothing is granted, at most.
	Left time.Duration
	// Why says in words what makes Redis doubtful.
	Why string
}

// poll is when to ask again.
func (r LeaseQuarantined) poll() time.Duration { return min(max(r.Left, shortestPoll), longestPoll) }

// AcquireUnknown means: whether the lease was granted is unknown. Nothing starts under it; a grant lapses by itself.
type AcquireUnknown struct {
	// Address is that of Redis, without credentials.
	Address string
	// Message says what happened.
	Message string
}

// StoreUnreachable means: Redis did not get the request, or refused to work on it; nothing was executed.
type StoreUnreachable struct {
	// Address is that of Redis, without credentials.
	Address string
	// Message says what happened.
	Message string
	// Advice says what to do about an answer by which Redis, or the operator for it, refuses; empty when there was no answer.
	Advice string
}

// reason tells an answer from silence.
func (r StoreUnreachable) reason() string {
	if r.Advice != "" {
		return v1alpha1.ReasonStoreRefuses
	}
	return v1alpha1.ReasonUnreachable
}

// text says what happened to a request and what to do; request says in words which it was.
func (r StoreUnreachable) text(request string) string {
	if r.Advice != "" {
		return fmt.Sprintf("Redis at %s refuses %s: %s %s", r.Address, request, sentence(r.Message), sentence(r.Advice))
	}
	return fmt.Sprintf("Redis at %s cannot be reached with %s: %s", r.Address, request, sentence(r.Message))
}

// sentence ends a text as a sentence, once.
func sentence(text string) string {
	text = strings.TrimRight(text, ". \n")
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") {
		return text
	}
	return text + "."
}

// JobCreated means: the Job exists, made now or, by this or another operator, before.
type JobCreated struct {
	UID types.UID
}

// JobRefused means: the API server refuses the Job and will refuse it again: invalid, forbidden, or its name is taken by a Job
// that is not ours. No Job of this execution exists.
type JobRefused struct {
	// Message is the API server's.
	Message string
	// MayPass says that the same Job may be accepted later: a quota, a policy or a webhook forbade it.
	MayPass bool
}

// LeaseReleased means: the lease was held by this execution until now and is free.
type LeaseReleased struct{}

// LeaseGone means: nobody holds the lease; it ran out, or an earlier release took effect.
type LeaseGone struct{}

// LeaseOfOther means: the lease is another's by now.
type LeaseOfOther struct {
	// Owner and Token are the holder's, as found in Redis.
	Owner, Token string
}

// ReleaseUnknown means: whether the lease was released is unknown.
type ReleaseUnknown struct {
	// Address is that of Redis, without credentials.
	Address string
	// Message says what happened.
	Message string
}

func (Done) isResult()             {}
func (Failed) isResult()           {}
func (LeaseGranted) isResult()     {}
func (LeaseHeldByOther) isResult() {}
func (LeaseQuarantined) isResult() {}
func (AcquireUnknown) isResult()   {}
func (StoreUnreachable) isResult() {}
func (JobCreated) isResult()       {}
func (JobRefused) isResult()       {}
func (LeaseReleased) isResult()    {}
func (LeaseGone) isResult()        {}
func (LeaseOfOther) isResult()     {}
func (ReleaseUnknown) isResult()   {}
