package lease

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Observation is what a look at a lease showed.
type Observation struct {
	// Owner and Token are the holder's; Token is 0 if another kind of program holds the key.
	Owner Owner
	Token Token
	// ExpiresIn is the rest of the lease by Redis's clock; 0 if the key never expires.
	ExpiresIn time.Duration
	// At is the local monotonic instant before the request was sent.
	At time.Time
}

// Bounds of what a completion may carry: the record lives in Redis's memory and in a status.
const (
	// MaxOccurrenceLength is that of an occurrence, in bytes.
	MaxOccurrenceLength = 253
	// MaxCompletionText is that of the inputs' digest, the result's digest and its location together, in bytes.
	MaxCompletionText = 4096
	// MinRetention and MaxRetention bound how long a completion is remembered.
	MinRetention = time.Minute
	MaxRetention = 10 * 366 * 24 * time.Hour
)

// CompleteRequest asks to record the result of an occurrence.
type CompleteRequest struct {
	// Term is the grant under which the work was done. The lease may have lapsed, as long as nobody was granted it since.
	Term Term
	// Occurrence names which report of the scope it is: 1 to 253 bytes.
	Occurrence string
	// Inputs is the digest of what the report was made from; empty if it has none. The same occurrence with other inputs is a
	// conflict.
	Inputs string
	// Digest and Location say what was made and where it is; both may be empty.
	Digest, Location string
	// Retention is how long the record is kept, 1 min to 10 years.
	Retention time.Duration
}

// Validate refuses a request that no store may send.
func (r CompleteRequest) Validate() error {
	var errs []error
	if r.Occurrence == "" || len(r.Occurrence) > MaxOccurrenceLength {
		errs = append(errs, fmt.Errorf("occurrence %.40q has %d bytes; it needs 1 to %d",
			r.Occurrence, len(r.Occurrence), MaxOccurrenceLength))
	}
	if n := len(r.Inputs) + len(r.Digest) + len(r.Location); n > MaxCompletionText {
		errs = append(errs, fmt.Errorf("digests and location have %d bytes together; at most %d are kept", n, MaxCompletionText))
	}
	if strings.ContainsAny(r.Occurrence+r.Inputs+r.Digest+r.Location, "\r\n\x00") {
		errs = append(errs, errors.New("an occurrence, digest or location must not contain a line break or a null character"))
	}
	if r.Term.Token == 0 || r.Term.Token > MaxToken {
		errs = append(errs, fmt.Errorf("the fencing token is %d: it must be 1 to %d", r.Term.Token, MaxToken))
	}
	if r.Retention < MinRetention || r.Retention > MaxRetention {
		errs = append(errs, fmt.Errorf("retention is %v: it must be %v to %v", r.Retention, MinRetention, MaxRetention))
	}
	return errors.Join(append(errs, r.Term.Scope.Validate(), r.Term.Owner.Validate())...)
}

// Verdict is what a store says to a completion.
type Verdict string

// The verdicts on a completion.
const (
	// Accepted: the result is recorded now.
	Accepted Verdict = "accepted"
	// Duplicate: the same execution recorded a result before; that one stands.
	Duplicate Verdict = "duplicate"
	// Rejected: a newer token was granted, or another execution completed the occurrence.
	Rejected Verdict = "rejected"
	// Conflict: the occurrence was completed from other inputs.
	Conflict Verdict = "conflict"
)

// Completion is the answer to a CompleteRequest.
type Completion struct {
	Verdict Verdict
	// Record is the one that stands; zero if the request was rejected and the occurrence is not completed.
	Record CompletionRecord
	// Newest is the highest token known to the store when the request was rejected; 0 otherwise.
	Newest Token
}

// CompletionRecord is what is kept of a completed occurrence.
type CompletionRecord struct {
	Owner                    Owner
	Token                    Token
	Inputs, Digest, Location string
	// At is by the store's clock, to the ms: for people, and never to be compared with another clock.
	At time.Time
}
