package lease_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

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
