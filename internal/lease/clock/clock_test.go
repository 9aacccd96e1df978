package clock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease/clock"
)

// machine is a set of clocks that a test moves. Package time's monotonic reading is that of the bubble.
type machine struct {
	mu          sync.Mutex
	suspended   time.Duration
	withoutBoot bool
}

func (m *machine) read() clock.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := clock.PackageTime()
	if !m.withoutBoot {
		r.Boot = time.Since(origin) + m.suspended + time.Hour
	}
	return r
}

// origin is when every bubble begins.
var origin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (m *machine) suspend(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspended += d
}

func TestTimePassesWhileTheMachineIsSuspended(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		m    *machine
		want time.Duration
	}{
		"with boot time":    {&machine{}, 90 * time.Second},
		"without boot time": {&machine{withoutBoot: true}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := clock.New(tc.m.read)
				began := c.Now()
				time.Sleep(10 * time.Second)
				tc.m.suspend(time.Minute)
				time.Sleep(20 * time.Second)
				now := c.Now()
				if got := c.Elapsed(); got != tc.want || now.Sub(began) != tc.want || now.Round(0).Sub(began.Round(0)) != tc.want {
					t.Errorf("%v passed, from %v to %v", got, began, now)
				}
				if !c.At(tc.want).Equal(now) || c.ElapsedAt(now) != tc.want {
					t.Errorf("%v is not %v after the beginning", now, tc.want)
				}
			})
		})
	}
}

func TestTheClockIsPackageTimeUntilTheFirstSuspend(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]clock.Source{"none": nil, "boot time": (&machine{}).read} {
		synctest.Test(t, func(t *testing.T) {
			c := clock.New(source)
			for range 100 {
				time.Sleep(7 * time.Second)
				if now := c.Now(); !now.Equal(time.Now()) || time.Until(now) != 0 {
					t.Errorf("source %s: %v, want %v", name, now, time.Now())
				}
			}
		})
	}
}

// TestTheSystemsClockRunsOn looks at the real one for a moment.
func TestTheSystemsClockRunsOn(t *testing.T) {
	t.Parallel()
	c := clock.New(clock.System)
	before := time.Now()
	last := c.Now()
	for range 10_000 {
		now := c.Now()
		if now.Before(last) {
			t.Fatalf("it went back by %v", last.Sub(now))
		}
		last = now
	}
	if ahead := time.Until(last); ahead > time.Second || last.Before(before) {
		t.Errorf("it is %v ahead of package time, and the machine was not suspended", ahead)
	}
}

func TestAWatchSeesWhatIsMoreThanTwoSecondsApart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wall, monotonic time.Duration
		differs         bool
	}{
		"nothing happens":           {time.Second, time.Second, false},
		"a late look":               {time.Hour, time.Hour, false},
		"slewed":                    {1083 * time.Millisecond, time.Second, false},
		"just within":               {3 * time.Second, time.Second, false},
		"just beyond":               {3*time.Second + 1, time.Second, true},
		"suspended for a minute":    {61 * time.Second, time.Second, true},
		"stepped back, just within": {-time.Second, time.Second, false},
		"stepped back":              {-time.Second - 1, time.Second, true},
		"stepped back by years":     {-24 * 3650 * time.Hour, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			reading := clock.Reading{Now: now, Wall: now.Round(0)}
			w := clock.New(func() clock.Reading { return reading }).NewWatch()
			for range 3 {
				reading.Now, reading.Wall = reading.Now.Add(tc.monotonic), reading.Wall.Add(tc.wall)
				if by, differs := w.Look(); differs != tc.differs || by != tc.wall-tc.monotonic {
					t.Errorf("apart by %v: %t, want %v: %t", by, differs, tc.wall-tc.monotonic, tc.differs)
				}
			}
		})
	}
}
