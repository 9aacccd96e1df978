package redis

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// watched feeds a clockWatch: each reading is told how much time passed here and how far the server's clock went.
type watched struct {
	watch         clockWatch
	local, server time.Time
}

func newWatched() *watched {
	w := &watched{local: time.Unix(1000, 0), server: time.Unix(9_000_000, 0)} // the readings have nothing to do with each other
	w.read(0, 0)
	return w
}

func (w *watched) read(passed, went time.Duration) {
	w.local, w.server = w.local.Add(passed), w.server.Add(went)
	w.watch.observe(clockSample{server: w.server, sent: w.local, received: w.local.Add(time.Millisecond)})
}

func TestAClockIsJudgedByItsProgress(t *testing.T) {
	t.Parallel()
	const s, ms = time.Second, time.Millisecond
	type step struct{ passed, went time.Duration }
	for name, tc := range map[string]struct {
		steps []step
		says  string
	}{
		"it keeps time":                      {[]step{{s, s}, {time.Minute, time.Minute}, {time.Hour, time.Hour}}, ""},
		"it is slewed forward for a minute":  {[]step{{time.Minute, 65 * s}}, ""},
		"it is slewed back for an hour":      {[]step{{time.Hour, 55*time.Minute + s}}, ""},
		"it is slewed in small pieces":       {[]step{{6 * s, 6500 * ms}, {6 * s, 6500 * ms}, {6 * s, 6500 * ms}}, ""},
		"it steps forward by less than 2 s":  {[]step{{s, 2900 * ms}}, ""},
		"it steps forward by more than 2 s":  {[]step{{s, 3200 * ms}}, "went forward by 3.2s"},
		"it steps forward by an hour":        {[]step{{s, time.Hour}}, "went forward by 1h0m0s"},
		"it steps forward after an hour":     {[]step{{time.Hour, 70 * time.Minute}}, "went forward by 1h10m0s"},
		"it steps back by 29 s":              {[]step{{s, -28 * s}}, ""},
		"it steps back by 31 s":              {[]step{{s, -31 * s}}, "went by -31s"},
		"it steps back by an hour":           {[]step{{5 * s, 5*s - time.Hour}}, "went by -59m55s"},
		"it runs 11 % fast":                  {[]step{{4 * s, 4440 * ms}, {4 * s, 4440 * ms}, {4 * s, 4440 * ms}}, "went by 13.32s"},
		"it runs 11 % slow":                  {[]step{{20 * s, 17800 * ms}}, "went by 17.8s"},
		"it runs 11 % fast for too short":    {[]step{{4 * s, 4440 * ms}, {5 * s, 5550 * ms}}, ""},
		"it stands still":                    {[]step{{s, s}, {1100 * ms, 0}}, "stood still for 1.099s"},
		"it is read twice in a moment":       {[]step{{ms, 0}}, ""},
		"it stands still for half a second":  {[]step{{500 * ms, 0}}, ""},
		"it almost stands still":             {[]step{{12 * s, ms}}, "went by 1ms"},
		"it jumps, and then keeps time":      {[]step{{s, time.Hour}, {time.Minute, time.Minute}}, "went forward by 1h0m0s"},
		"a reading that overtook is no step": {[]step{{0, -time.Hour}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatched()
			for _, step := range tc.steps {
				w.read(step.passed, step.went)
			}
			if got := w.watch.fault; (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("the fault is %q, want %q", got, tc.says)
			}
			if wrong := !w.watch.jumped.IsZero(); wrong != (tc.says != "") {
				t.Errorf("wrong: %t", wrong)
			}
		})
	}
}

func TestAClockThatJumpedIsTrustedAgainAfterOneLongestLease(t *testing.T) {
	t.Parallel()
	w := newWatched()
	if left := w.watch.left(w.local, time.Hour); left != 0 {
		t.Errorf("a clock that keeps time: %v left", left)
	}
	w.read(time.Second, time.Minute)
	found := w.local.Add(time.Millisecond)
	for _, tc := range []struct{ after, longest, want time.Duration }{
		{0, time.Minute, time.Minute},
		{59 * time.Second, time.Minute, time.Second},
		{time.Minute, time.Minute, 0},
		{time.Hour, time.Minute, 0},
		{time.Minute, time.Hour, 59 * time.Minute},
	} {
		if left := w.watch.left(found.Add(tc.after), tc.longest); left != tc.want {
			t.Errorf("%v after the jump, with a longest lease of %v: %v left, want %v", tc.after, tc.longest, left, tc.want)
		}
	}
	w.read(30*time.Second, 30*time.Second)
	w.read(time.Second, time.Minute)
	if left := w.watch.left(w.local.Add(time.Millisecond), time.Minute); left != time.Minute {
		t.Errorf("after a second jump %v are left, want one minute", left)
	}
}

// TestAClockThatIsSlewedIsNeverSuspected reads a clock at random instants, over a network that takes up to a second.
func TestAClockThatIsSlewedIsNeverSuspected(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 14))
	for range 2000 {
		var watch clockWatch
		local, server := time.Unix(5000, 0), time.Unix(0, 0)
		rate := 1 + 0.0833*(2*random.Float64()-1)
		for range 50 {
			pass := func(most time.Duration) {
				passed := time.Duration(random.Float64() * float64(most))
				local, server = local.Add(passed), server.Add(time.Duration(rate*float64(passed)))
			}
			pass(time.Minute)
			sample := clockSample{sent: local}
			pass(time.Second)
			sample.server = server
			pass(time.Second)
			sample.received = local
			watch.observe(sample)
		}
		if watch.fault != "" {
			t.Fatalf("at a rate of %v: %s", rate, watch.fault)
		}
	}
}
