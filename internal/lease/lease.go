package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Scope is the identity that a lease protects: of all executions with the same scope at most one holds the lease.
type Scope string

// ScopeFor returns the scope of a job ID in a namespace: "<namespace>/<jobID>".
func ScopeFor(namespace, jobID string) Scope { return Scope(namespace + "/" + jobID) }

// The keys of a scope share the hash tag between the braces, so they share a slot of a Redis Cluster.
const (
	keyPrefix   = "leasehold:{"
	leaseSuffix = "}:lease"
)

// LeaseKey is the Redis key of the lease itself.
func (s Scope) LeaseKey() string { return keyPrefix + string(s) + leaseSuffix }

// FenceKey is the Redis key of the highest fencing token minted for the scope.
func (s Scope) FenceKey() string { return keyPrefix + string(s) + "}:fence" }

// ServerKey is the Redis key of what the scope last saw of its server: the run id, until when nothing is granted, and how long
// the last lease was.
func (s Scope) ServerKey() string { return keyPrefix + string(s) + "}:server" }

// DoneKey is the Redis key of the completion record of an occurrence.
func (s Scope) DoneKey(occurrence string) string {
	return keyPrefix + string(s) + "}:done:" + occurrence
}

// ReleasedChannel is the sharded channel on which a release is published as a hint to those who wait.
func (s Scope) ReleasedChannel() string { return keyPrefix + string(s) + "}:released" }

// Validate refuses a scope that would break the hash tag or the keys of another scope.
func (s Scope) Validate() error {
	if s == "" || len(s) > 512 {
		return fmt.Errorf("scope %q has %d bytes; it needs 1 to 512", string(s), len(s))
	}
	if strings.ContainsAny(string(s), "{}|\r\n\x00 ") {
		return fmt.Errorf("scope %q contains a brace, a bar, a space or a control character", string(s))
	}
	return nil
}

// Owner names one execution: 128 random bits as 32 lower-case hex digits, never used twice.
type Owner string

// NewOwner reads 16 bytes of randomness. It fails only if the source does.
func NewOwner(random io.Reader) (Owner, error) {
	var bits [16]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("no randomness for a new owner: %w", err)
	}
	return Owner(hex.EncodeToString(bits[:])), nil
}

// Validate accepts 32 lower-case hex digits.
func (o Owner) Validate() error {
	if len(o) != 32 || strings.Trim(string(o), "0123456789abcdef") != "" {
		return fmt.Errorf("owner %q is not 32 lower-case hex digits", string(o))
	}
	return nil
}

// Token is a fencing token: strictly increasing within a scope, and below MaxToken.
type Token uint64

// MaxToken bounds every token: Lua's and JavaScript's numbers are doubles, exact up to 2^53 only.
const MaxToken Token = 1<<53 - 1

// String writes the token in decimal, as it stands in Redis, in status and in the report's environment.
func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }

// ParseToken reads a decimal token; it refuses 0, signs, leading zeros and what exceeds MaxToken.
func ParseToken(text string) (Token, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || Token(n) > MaxToken || Token(n).String() != text {
		return 0, fmt.Errorf("fencing token %q is not a decimal number from 1 to %d", text, MaxToken)
	}
	return Token(n), nil
}

// Term is one grant of a lease: every later operation names it exactly.
type Term struct {
	Scope Scope
	Owner Owner
	Token Token
}

// Value is what the lease key holds in Redis during the term: "<owner>|<token>".
func (t Term) Value() string { return string(t.Owner) + "|" + t.Token.String() }

// SplitValue reads a lease key's value. What another program put there in another form comes back whole as the owner, with
// token 0: also a token without an owner, since no owner means that the key is gone.
func SplitValue(value string) (Owner, Token) {
	owner, text, found := strings.Cut(value, "|")
	if !found || owner == "" {
		return Owner(value), 0
	}
	token, err := ParseToken(text)
	if err != nil {
		return Owner(value), 0
	}
	return Owner(owner), token
}

// Grant is a term together with the instant its trust is counted from.
type Grant struct {
	Term Term
	// At is the local monotonic instant before the request was sent. The lease in Redis begins later, so counting from here
	// errs on the safe side.
	At time.Time
}

// AcquireRequest asks for a lease.
type AcquireRequest struct {
	Scope Scope
	// Owner is new for every attempt; the same owner asking again gets the same term.
	Owner Owner
	// TTL is the leaseDuration, 5 s to 24 h in whole milliseconds.
	TTL time.Duration
	// Floor is the highest token known elsewhere (status, destination); the new token is higher. 0: none known. A Redis that
	// does not know of it has lost data, and grants nothing for one longest lease.
	Floor Token
	// Longest is the longest lease that anybody may still hold for the scope, at most 24 h; less than TTL counts as TTL.
	Longest time.Duration
}

// Validate refuses a request that no store may send.
func (r AcquireRequest) Validate() error {
	if r.TTL < MinLeaseDuration || r.TTL > MaxLeaseDuration {
		return fmt.Errorf("a lease of %v was asked for: it must be %v to %v", r.TTL, MinLeaseDuration, MaxLeaseDuration)
	}
	if r.Longest < 0 || r.Longest > MaxLeaseDuration {
		return fmt.Errorf("the longest lease is said to be %v: it must be at most %v", r.Longest, MaxLeaseDuration)
	}
	if r.Floor > MaxToken {
		return fmt.Errorf("the floor %d is above the highest fencing token, %d", r.Floor, MaxToken)
	}
	return errors.Join(r.Scope.Validate(), r.Owner.Validate())
}

// Renewal is one lease to renew. It is made once, by NewRenewal, and sent as often as needed: what Redis is sent stands ready,
// so that a renewal allocates nothing of its own.
type Renewal struct {
	// Key is the lease key of the term's scope.
	Key string
	// Value is the term's Value.
	Value string
	// Millis is the leaseDuration in ms. Less than 5 s counts as 5 s: a longer lease harms no one.
	Millis int64
}

// NewRenewal makes the renewal of a term. A TTL, the leaseDuration, of less than 5 s counts as 5 s.
func NewRenewal(term Term, ttl time.Duration) Renewal {
	return Renewal{
		Key: term.Scope.LeaseKey(), Value: term.Value(), Millis: max(ttl, MinLeaseDuration).Milliseconds(),
	}
}

// Scope is that of the renewal's term. It shares the key's memory.
func (r *Renewal) Scope() Scope {
	return Scope(strings.TrimSuffix(strings.TrimPrefix(r.Key, keyPrefix), leaseSuffix))
}

// Term is the grant that is renewed. It shares the memory of the key and the value.
func (r *Renewal) Term() Term {
	owner, token := SplitValue(r.Value)
	return Term{Scope: r.Scope(), Owner: owner, Token: token}
}

// TTL is the leaseDuration.
func (r *Renewal) TTL() time.Duration { return time.Duration(r.Millis) * time.Millisecond }

// Store is where leases live. Every method returns nil when the request was executed with the wanted effect; otherwise the
// error is a *HeldError, a *QuarantinedError, a *LostError, a *NotExecutedError or an *UnknownError, possibly wrapped. A method
// never waits longer than the deadline of its context, and never repeats a request that may have been executed.
type Store interface {
	// Acquire grants the lease if nobody holds it, or returns a *HeldError, or a *QuarantinedError. After an *UnknownError the
	// lease may exist: it must be withdrawn with ReleaseOwner or left to lapse, and never be used.
	Acquire(ctx context.Context, request AcquireRequest) (Grant, error)
	// Renew sets the leases' remaining time to their TTL, each only if its term still holds it. It returns one error or nil
	// for each, in order. It never creates a lease.
	Renew(ctx context.Context, renewals []*Renewal) []error
	// Release gives a lease back, only if the term still holds it, and tells those who wait.
	Release(ctx context.Context, term Term) error
	// ReleaseOwner withdraws a request to acquire whose outcome is unknown. It is a success that the owner holds nothing.
	ReleaseOwner(ctx context.Context, scope Scope, owner Owner) error
	// Observe reads who holds the lease. A *LostError that is Gone says that nobody does.
	Observe(ctx context.Context, scope Scope) (Observation, error)
	// Complete records the result of an occurrence if no newer token was granted, once. Sending it again is safe: the same
	// execution gets its own record back, as Duplicate.
	Complete(ctx context.Context, request CompleteRequest) (Completion, error)
	// Check asks whether the store answers.
	Check(ctx context.Context) error
	// Address names the store for people, without credentials.
	Address() string
}
