package lease_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

func TestDurationsAtTheEndOfTheirRangeDoNotWrapAround(t *testing.T) {
	t.Parallel()
	const endless = time.Duration(math.MaxInt64)
	grace := lease.Timing{LeaseDuration: 30 * time.Second, RenewalInterval: 5 * time.Second, StopGracePeriod: endless}
	if err := grace.Validate(); err == nil || !strings.Contains(err.Error(), "stopGracePeriod") {
		t.Errorf("an endless stopGracePeriod: got %v", err)
	}
	timeout := lease.Timing{LeaseDuration: 30 * time.Second, RenewalInterval: 5 * time.Second,
		RenewalTimeout: endless, StopGracePeriod: 10 * time.Second}
	if got := timeout.UncertainAfter(); got != timeout.StopAfter() {
		t.Errorf("an endless renewalTimeout: uncertain after %v, want %v", got, timeout.StopAfter())
	}
}

// TestTrustInOneOfManyRenewalsEndsBeforeTheLease lets renewals overtake each other on their way and lose their answers. The
// server cuts its clock to whole milliseconds, and both clocks run as wrong as they can.
func TestTrustInOneOfManyRenewalsEndsBeforeTheLease(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 14))
	for range 50_000 {
		timing := randomTiming(random)
		h := history{
			timing: timing, random: random,
			local: 1 + slew*(2*random.Float64()-1), server: 1 + slew*(2*random.Float64()-1),
		}
		if trusted, expires := h.play(); trusted > expires {
			t.Fatalf("%+v: trusted until %v, expired at %v", timing, time.Duration(trusted), time.Duration(expires))
		}
	}
}

// history is a lease and its renewals in true time; local and server are the rates of the clocks.
type history struct {
	timing        lease.Timing
	random        *rand.Rand
	local, server float64
}

// play returns when trust ended and when the lease did, in true nanoseconds.
func (h history) play() (trusted, expires float64) {
	base := time.Now()
	trust := lease.NewTrust(base, h.timing)
	expires = h.execute(0)
	for sent := 0.0; sent < float64(h.timing.LeaseDuration); sent += h.random.Float64() * float64(h.timing.LeaseDuration) / 4 {
		executed := sent + h.random.ExpFloat64()*float64(time.Second)
		if executed >= expires {
			break // RENEW never creates
		}
		// Scripts run one after the other: one that was overtaken is followed by a shorter remaining time at worst.
		expires = max(expires, h.execute(executed))
		if answered := h.random.IntN(3) > 0; answered {
			trust = trust.Extend(base.Add(time.Duration(sent * h.local)))
		}
	}
	return float64(trust.Deadline().Sub(base)) / h.local, expires
}

// execute is when the lease ends that the server's clock begins at an instant of true time.
func (h history) execute(at float64) float64 {
	return at + (float64(h.timing.LeaseDuration)-float64(time.Millisecond))/h.server
}

func TestTheErrorsTellWhatToDoNext(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"held": {&lease.HeldError{Scope: "a/b", Owner: "x", Token: 7, ExpiresIn: 3 * time.Second},
			"lease a/b is held by x with token 7 for another 3s unless it is renewed"},
		"held for ever by another kind of program": {&lease.HeldError{Scope: "a/b", Owner: "by-hand"},
			"lease a/b is held by by-hand and never expires: remove the key leasehold:{a/b}:lease if nobody holds it any more"},
		"held by another kind of program": {&lease.HeldError{Scope: "a/b", Owner: "by-hand", ExpiresIn: time.Second},
			"lease a/b is held by by-hand for another 1s unless it is renewed"},
		"gone": {&lease.LostError{Scope: "a/b"}, "lease a/b: it is gone from Redis, expired or removed"},
		"another's": {&lease.LostError{Scope: "a/b", Owner: "x", Token: 7},
			"lease a/b: it belongs to x with token 7 now"},
		"of another kind of program": {&lease.LostError{Scope: "a/b", Owner: "by-hand"}, "lease a/b: it belongs to by-hand now"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, tc.want)
		}
	}
}

func TestBothSidesOfEachBoundOfATiming(t *testing.T) {
	t.Parallel()
	const s, day = time.Second, 24 * time.Hour
	for name, tc := range map[string]struct {
		within, beyond lease.Timing
	}{
		"the shortest lease":   {lease.Timing{5 * s, 0, 0, s}, lease.Timing{5*s - 1, 0, 0, s}},
		"the longest lease":    {lease.Timing{day, s, 0, s}, lease.Timing{day + 1, s, 0, s}},
		"the longest interval": {lease.Timing{30 * s, 10 * s, 0, 2 * s}, lease.Timing{30 * s, 10*s + 1, 0, s}},
		"no interval":          {lease.Timing{30 * s, 0, 0, s}, lease.Timing{30 * s, -1, 0, s}},
		"no timeout":           {lease.Timing{30 * s, s, 0, s}, lease.Timing{30 * s, s, -1, s}},
		"the shortest grace":   {lease.Timing{30 * s, s, 0, s}, lease.Timing{30 * s, s, 0, s - 1}},
		"the longest grace":    {lease.Timing{30 * s, s, 0, 20 * s}, lease.Timing{30 * s, s, 0, 20*s + 1}},
	} {
		if err := tc.within.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tc.beyond.Validate() == nil {
			t.Errorf("%s: %+v is accepted", name, tc.beyond)
		}
	}
}

func TestAnOwnerIsThirtyTwoLowerCaseHexDigits(t *testing.T) {
	t.Parallel()
	const good = "0123456789abcdef0123456789abcdef"
	for text, want := range map[string]bool{
		good: true, strings.Repeat("0", 32): true,
		"": false, good[:31]: false, good + "0": false, strings.ToUpper(good): false, good[:31] + "|": false,
		good[:31] + "g": false, good[:30] + "\u00e9": false, good[:15] + " " + good[16:]: false,
	} {
		if err := lease.Owner(text).Validate(); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzATokenThatIsReadIsWrittenTheSame(f *testing.F) {
	for _, seed := range []string{"", "0", "1", "01", "+1", "9007199254740991", "9007199254740992", "1e3", "\u0661"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := lease.ParseToken(text)
		switch {
		case err == nil && (token == 0 || token > lease.MaxToken || token.String() != text):
			t.Errorf("%q is read as %d", text, token)
		case err != nil && (token != 0 || !strings.Contains(err.Error(), "decimal number from 1 to 9007199254740991")):
			t.Errorf("%q: %d, %v", text, token, err)
		}
	})
}
