package lease

import (
	"errors"
	"fmt"
	"time"
)

// Outcome says whether a request took effect in the store. There are three and never two: what is unknown is neither
// called a success nor a failure.
type Outcome string

// The outcomes of a request.
const (
	// Executed: the store ran the request and said what came of it.
	Executed Outcome = "executed"
	// NotExecuted: the store certainly did not run the request.
	NotExecuted Outcome = "not_executed"
	// Unknown: the store may have run the request, or may still run it.
	Unknown Outcome = "unknown"
)

// OutcomeOf reads the outcome from the error of a Store's method. An error of no known kind is Unknown.
func OutcomeOf(err error) Outcome {
	var held *HeldError
	var lost *LostError
	var quarantined *QuarantinedError
	var not *NotExecutedError
	var unsafe *UnsafeError
	switch {
	case err == nil, errors.As(err, &held), errors.As(err, &quarantined), errors.As(err, &lost):
		return Executed
	case errors.As(err, &not), errors.As(err, &unsafe):
		return NotExecuted
	default:
		return Unknown
	}
}

// HeldError says that another owner holds the lease that was asked for.
type HeldError struct {
	Scope Scope
	// Owner and Token are the holder's; Token is 0 if another kind of program holds the key.
	Owner Owner
	Token Token
	// ExpiresIn is the rest of the holder's lease, by Redis's clock; 0 if the key never expires.
	ExpiresIn time.Duration
}

// Error names the holder and when to look again.
func (e *HeldError) Error() string {
	holder := string(e.Owner)
	if e.Token != 0 {
		holder = fmt.Sprintf("%s with token %d", e.Owner, e.Token)
	}
	if e.ExpiresIn == 0 {
		return fmt.Sprintf("lease %s is held by %s and never expires: remove the key %s if nobody holds it any more",
			e.Scope, holder, e.Scope.LeaseKey())
	}
	return fmt.Sprintf("lease %s is held by %s for another %v unless it is renewed", e.Scope, holder, e.ExpiresIn)
}

// Suspicion is why a store that knows of no holder grants nothing for a while.
type Suspicion string

// The reasons of a quarantine.
const (
	// ServerChanged: the server was restarted, or a replica took its place, since it last granted the lease.
	ServerChanged Suspicion = "server"
	// DataLost: the store does not know of a token that was granted.
	DataLost Suspicion = "data"
	// ClockJumped: the store's clock went another way than time does.
	ClockJumped Suspicion = "clock"
)

// QuarantinedError says that nobody is known to hold the lease, and that somebody may all the same: what the store knew may be
// lost. It grants nothing until every lease that it may have forgotten is over.
type QuarantinedError struct {
	Scope Scope
	// Left is for how long at most, by the store's clock.
	Left time.Duration
	Why  Suspicion
}

// Error says why nothing is granted, and for how long.
func (e *QuarantinedError) Error() string {
	return fmt.Sprintf("lease %s is not granted for another %v: %s", e.Scope, e.Left, e.Reason())
}

// Reason says in words why nothing is granted.
func (e *QuarantinedError) Reason() string {
	switch e.Why {
	case ServerChanged:
		return "Redis was restarted or replaced since the lease was granted last, and may have forgotten its holder"
	case DataLost:
		return "Redis does not know of a token that was granted: it lost data, and may have forgotten the lease's holder"
	case ClockJumped:
		return "Redis's clock jumped, and leases may have ended too early"
	}
	return "Redis may have forgotten the lease's holder"
}

// UnsafeError says that a store is not fit to keep leases, and what to do about it. It is the cause of a *NotExecutedError: no
// lease was asked for.
type UnsafeError struct {
	// Address is the store's, without credentials.
	Address string
	// Code is a stable name of what is wrong, for conditions and metrics.
	Code string
	// Text says what is wrong, why that matters, and which command or setting mends it.
	Text string
}

// Error says what is wrong and what to do.
func (e *UnsafeError) Error() string { return "no lease is granted: " + e.Text }

// LostError says that the term holds its lease no longer: it never will again.
type LostError struct {
	Scope Scope
	// Owner and Token are the present holder's; Owner is empty when the key is gone.
	Owner Owner
	Token Token
}

// Gone says whether the lease is nobody's, as opposed to another's.
func (e *LostError) Gone() bool { return e.Owner == "" }

// Error says whose the lease is now.
func (e *LostError) Error() string { return "lease " + string(e.Scope) + ": " + e.Whose() }

// Whose says whose the lease is now, without naming it.
func (e *LostError) Whose() string {
	switch {
	case e.Gone():
		return "it is gone from Redis, expired or removed"
	case e.Token == 0:
		return fmt.Sprintf("it belongs to %s now", e.Owner)
	}
	return fmt.Sprintf("it belongs to %s with token %d now", e.Owner, e.Token)
}

// NotExecutedError says that the store certainly did not run the request; it may be sent again.
type NotExecutedError struct {
	// Address is the store's, without credentials.
	Address string
	Cause   error
}

// Error names the address and the cause.
func (e *NotExecutedError) Error() string {
	return fmt.Sprintf("Redis at %s did not take the request: %v", e.Address, e.Cause)
}

// Unwrap returns the cause.
func (e *NotExecutedError) Unwrap() error { return e.Cause }

// UnknownError says that the store may have run the request.
type UnknownError struct {
	// Address is the store's, without credentials.
	Address string
	Cause   error
}

// Error names the address and the cause.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("whether Redis at %s ran the request is unknown: %v", e.Address, e.Cause)
}

// Unwrap returns the cause.
func (e *UnknownError) Unwrap() error { return e.Cause }
