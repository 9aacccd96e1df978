package lease_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

func TestTokensAreDecimalNumbersBelowTwoToThe53(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lease.Token{
		"1": 1, "60211403120": 60211403120, "9007199254740991": lease.MaxToken,
		"0": 0, "": 0, "-1": 0, "+1": 0, "01": 0, " 1": 0, "1.0": 0, "1e14": 0, "0x1": 0,
		"9007199254740992": 0, "18446744073709551616": 0,
	} {
		got, err := lease.ParseToken(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
}

func FuzzAValueThatSplitsIntoATermIsThatTermsValue(f *testing.F) {
	for _, seed := range []string{"", "|", "a|1", "a|b|2", "0123456789abcdef0123456789abcdef|60211403120", "a|0", "a|01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		owner, token := lease.SplitValue(value)
		if token == 0 && string(owner) != value {
			t.Errorf("%q: the owner of a foreign value is %q", value, owner)
		}
		if again := (lease.Term{Owner: owner, Token: token}).Value(); token != 0 && again != value {
			t.Errorf("%q: split and put together again it is %q", value, again)
		}
	})
}

func TestOwnersAreDrawnAndNeverShort(t *testing.T) {
	t.Parallel()
	owner, err := lease.NewOwner(bytes.NewReader(bytes.Repeat([]byte{0xab}, 16)))
	if err != nil || owner != lease.Owner(strings.Repeat("ab", 16)) || owner.Validate() != nil {
		t.Errorf("got %q, %v", owner, err)
	}
	if _, err := lease.NewOwner(bytes.NewReader(make([]byte, 15))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("15 bytes of randomness: %v", err)
	}
}

func TestScopesKeepToTheirOwnKeys(t *testing.T) {
	t.Parallel()
	scope := lease.ScopeFor("finance", "revenue")
	for _, got := range []string{scope.LeaseKey(), scope.FenceKey(), scope.ReleasedChannel()} {
		if !strings.HasPrefix(got, "leasehold:{finance/revenue}:") {
			t.Errorf("key %s", got)
		}
	}
	for _, bad := range []lease.Scope{"", "a{b", "a}b", "a b", "a|b", "a\nb", lease.Scope(strings.Repeat("a", 513))} {
		if bad.Validate() == nil {
			t.Errorf("scope %q is accepted", bad)
		}
	}
	if err := lease.Scope(strings.Repeat("a", 512)).Validate(); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNotKnownIsUnknown(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection reset")
	for name, tc := range map[string]struct {
		err  error
		want lease.Outcome
	}{
		"no error":       {nil, lease.Executed},
		"held":           {&lease.HeldError{}, lease.Executed},
		"lost":           {&lease.LostError{}, lease.Executed},
		"wrapped":        {fmt.Errorf("x: %w", &lease.LostError{}), lease.Executed},
		"quarantined":    {&lease.QuarantinedError{}, lease.Executed},
		"unsafe":         {&lease.NotExecutedError{Cause: &lease.UnsafeError{}}, lease.NotExecuted},
		"unsafe, alone":  {&lease.UnsafeError{}, lease.NotExecuted},
		"not executed":   {&lease.NotExecutedError{Cause: cause}, lease.NotExecuted},
		"unknown":        {&lease.UnknownError{Cause: cause}, lease.Unknown},
		"anything else":  {cause, lease.Unknown},
		"the end of I/O": {io.EOF, lease.Unknown},
	} {
		if got := lease.OutcomeOf(tc.err); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	if !errors.Is(&lease.UnknownError{Cause: cause}, cause) || !errors.Is(&lease.NotExecutedError{Cause: cause}, cause) {
		t.Error("the cause is hidden")
	}
}

func TestARefusalSaysWhyAndForHowLong(t *testing.T) {
	t.Parallel()
	for why, says := range map[lease.Suspicion]string{
		lease.ServerChanged: "Redis was restarted or replaced since", lease.DataLost: "it lost data",
		lease.ClockJumped: "Redis's clock jumped", "": "Redis may have forgotten the lease's holder",
	} {
		err := &lease.QuarantinedError{Scope: "finance/revenue", Left: 90 * time.Second, Why: why}
		if text := err.Error(); !strings.HasPrefix(text, "lease finance/revenue is not granted for another 1m30s: ") ||
			!strings.Contains(text, says) {
			t.Errorf("%q: %s", why, text)
		}
	}
	unsafe := &lease.UnsafeError{Address: "redis.example:6379", Code: "eviction-policy", Text: "maxmemory-policy is allkeys-lru"}
	if text := (&lease.NotExecutedError{Address: unsafe.Address, Cause: unsafe}).Error(); text !=
		"Redis at redis.example:6379 did not take the request: no lease is granted: maxmemory-policy is allkeys-lru" {
		t.Errorf("got %s", text)
	}
}

func TestACompletionThatMakesNoSenseIsRefusedWithEachReason(t *testing.T) {
	t.Parallel()
	good := lease.CompleteRequest{
		Term:       lease.Term{Scope: "finance/revenue", Owner: lease.Owner(strings.Repeat("ab", 16)), Token: 1},
		Occurrence: strings.Repeat("o", lease.MaxOccurrenceLength), Location: strings.Repeat("x", lease.MaxCompletionText),
		Retention: lease.MinRetention,
	}
	if err := good.Validate(); err != nil {
		t.Errorf("the longest that there may be: %v", err)
	}
	bad := good
	bad.Term, bad.Occurrence = lease.Term{}, good.Occurrence+"\n"
	bad.Location, bad.Retention = good.Location+"x", lease.MaxRetention+1
	err := bad.Validate()
	for _, says := range []string{
		"needs 1 to 253", "at most 4096 are kept", "line break", "fencing token is 0", "retention is", "scope", "owner",
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said in: %.300v", says, err)
		}
	}
}
