package clock

import "time"

// MaxDivergence is by how much wall clock and monotonic clock may differ between two looks. NTP slews both alike; the looks of
// a process that gets no turn are both late.
const MaxDivergence = 2 * time.Second

// Reading is what the clocks show at one moment.
type Reading struct {
	// Now is package time's, of which the monotonic reading counts.
	Now time.Time
	// Wall is the wall clock.
	Wall time.Time
	// Boot is CLOCK_BOOTTIME, from any origin; 0 if there is none.
	Boot time.Duration
}

// Source reads the clocks. It must be safe for concurrent use.
type Source func() Reading

// PackageTime reads package time alone: no suspend is noticed, and in a testing/synctest bubble time is the bubble's.
func PackageTime() Reading {
	now := time.Now()
	return Reading{Now: now, Wall: now.Round(0)}
}

// Clock tells the time that has passed, suspends included. It may be used by several goroutines.
type Clock struct {
	read  Source
	first Reading
}

// New makes a clock that begins now. A nil source is PackageTime.
func New(read Source) *Clock {
	if read == nil {
		read = PackageTime
	}
	return &Clock{read: read, first: read()}
}

// Now is an instant to be compared with others of this clock. Its wall clock time is that of the beginning plus what has
// passed, so a step of the wall clock does not move it.
func (c *Clock) Now() time.Time { return c.At(c.Elapsed()) }

// At is the instant at which so much time has passed since the clock began.
func (c *Clock) At(elapsed time.Duration) time.Time { return c.first.Now.Add(elapsed) }

// ElapsedAt is how much time had passed at an instant of this clock or of package time; it is negative before the clock began.
func (c *Clock) ElapsedAt(instant time.Time) time.Duration { return instant.Sub(c.first.Now) }

// Elapsed is how much time has passed since the clock began.
func (c *Clock) Elapsed() time.Duration {
	r := c.read()
	elapsed := r.Now.Sub(c.first.Now)
	if c.first.Boot == 0 {
		return elapsed
	}
	return max(elapsed, r.Boot-c.first.Boot)
}

// Watch notices when wall clock and monotonic clock do not agree. One goroutine uses it.
type Watch struct {
	read Source
	last Reading
}

// NewWatch makes a watch on the clock's source that looks for the first time now.
func (c *Clock) NewWatch() *Watch { return &Watch{read: c.read, last: c.read()} }

// Look says by how much the wall clock went further than the monotonic clock since the last look, and whether that is more
// than MaxDivergence, either way.
func (w *Watch) Look() (divergence time.Duration, differs bool) {
	now := w.read()
	divergence = now.Wall.Sub(w.last.Wall) - now.Now.Sub(w.last.Now)
	w.last = now
	return divergence, divergence.Abs() > MaxDivergence
}
