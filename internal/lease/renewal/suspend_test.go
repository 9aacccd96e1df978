package renewal_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/clock"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// machine has clocks that a test moves. Package time, which stands still during a suspend, is the bubble's.
type machine struct {
	mu             sync.Mutex
	stepped, slept time.Duration
}

func (m *machine) read() clock.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := clock.PackageTime()
	r.Wall = r.Wall.Add(m.stepped)
	r.Boot = r.Now.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) + time.Hour + m.slept
	return r
}

// suspend lets the machine sleep: the wall clock and boot time go on.
func (m *machine) suspend(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slept += d
	m.stepped += d
}

// step sets the wall clock.
func (m *machine) step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stepped += d
}

// onMachine runs a test with an engine on a machine whose clocks can be moved.
func onMachine(t *testing.T, test func(b *bench, m *machine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		withEngine(t, renewal.Options{Clock: clock.New(m.read)}, func(b *bench) { test(b, m) })
	})
}

// unrenewed is never renewed: it is uncertain 37 s after the grant.
var unrenewed = lease.Timing{LeaseDuration: time.Minute, StopGracePeriod: 10 * time.Second}

func TestALeaseThatEndedWhileTheMachineSleptIsUncertainWhenItWakes(t *testing.T) {
	t.Parallel()
	onMachine(t, func(b *bench, m *machine) {
		b.track(subject, timing)
		after(7 * time.Second)
		b.wantPhase(subject, renewal.Held)
		b.faults.All(leasetest.Hang)
		m.suspend(time.Hour)
		if got := b.engine.State(subject).Phase; got != renewal.Uncertain {
			b.Errorf("at once the lease is %s", got)
		}
		after(renewal.Tick)
		if n := b.signals(); n != 1 {
			b.Errorf("%d signals within a tick of the resume, want 1", n)
		}
	})
}

// TestTheSupervisorWakesWithinATick does not ask for the state, which looks at the clock by itself.
func TestTheSupervisorWakesWithinATick(t *testing.T) {
	t.Parallel()
	onMachine(t, func(b *bench, m *machine) {
		b.track(subject, unrenewed)
		after(renewal.Tick / 2)
		m.suspend(time.Hour)
		after(renewal.Tick)
		if n := b.signals(); n != 1 {
			b.Errorf("%d signals within a tick of the resume, want 1", n)
		}
		b.wantPhase(subject, renewal.Uncertain)
	})
}

func TestClocksThatDoNotAgreeLetEveryLeaseBeVerifiedAtOnce(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(m *machine){
		"a short suspend":             func(m *machine) { m.suspend(2*time.Second + 1) },
		"the wall clock steps":        func(m *machine) { m.step(2*time.Second + 1) },
		"the wall clock steps back":   func(m *machine) { m.step(-time.Hour) },
		"the wall clock is far wrong": func(m *machine) { m.step(24 * 365 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onMachine(t, func(b *bench, m *machine) {
				b.track(subject, timing)
				b.track("never/renewed", unrenewed)
				after(300 * time.Millisecond)
				deadline := b.engine.State("never/renewed").Deadline
				move(m)
				after(renewal.Tick)
				for _, s := range []renewal.Subject{subject, "never/renewed"} {
					if state := b.engine.State(s); state.Phase != renewal.Held || state.Renewals != 1 {
						b.Errorf("after a tick: %+v", state)
					}
				}
				after(time.Second * 10)
				b.wantPhase(subject, renewal.Held)
				if state := b.engine.State("never/renewed"); !state.Deadline.Equal(deadline) || state.Renewals != 1 {
					b.Errorf("a lease that is not renewed was trusted until %v, and is %+v", deadline, state)
				}
			})
		})
	}
}

func TestClocksThatNearlyAgreeChangeNothing(t *testing.T) {
	t.Parallel()
	onMachine(t, func(b *bench, m *machine) {
		b.track("never/renewed", unrenewed)
		for range 15 {
			m.step(2 * time.Second)
			after(renewal.Tick)
			m.step(-2 * time.Second)
			after(renewal.Tick)
		}
		if state := b.engine.State("never/renewed"); state.Phase != renewal.Held || state.Renewals != 0 {
			b.Errorf("%+v", state)
		}
	})
}

func TestALeaseThatIsNotVerifiedIsUncertainThreeSecondsAfterTheJump(t *testing.T) {
	t.Parallel()
	for name, timing := range map[string]lease.Timing{"renewed": timing, "never renewed": unrenewed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onMachine(t, func(b *bench, m *machine) {
				b.track(subject, timing)
				synctest.Wait()
				b.faults.All(leasetest.Refuse)
				m.step(time.Minute)
				after(renewal.Tick + renewal.Verification - 1)
				b.wantPhase(subject, renewal.Held)
				after(1)
				state := b.engine.State(subject)
				if state.Phase != renewal.Uncertain || !strings.Contains(state.Detail, "went 1m0s apart") {
					b.Errorf("%+v", state)
				}
				if n := b.count(renewal.NotExecuted); n < 3000/250 || n > 4000/50 {
					b.Errorf("%d attempts", n)
				}
			})
		})
	}
}

// TestWhatWasSentBeforeTheJumpVerifiesNothing lets the store go away right after it ran a renewal whose reply is slow.
func TestWhatWasSentBeforeTheJumpVerifiesNothing(t *testing.T) {
	t.Parallel()
	atGateOf(t, func(t *testing.T, g *gate, e *renewal.Engine, m *machine) {
		g.hold(t, e, "a/slow", timing)
		after(5500 * time.Millisecond) // it is on its way
		m.step(time.Minute)
		after(renewal.Tick)
		g.open()
		synctest.Wait()
		if got := e.State("a/slow"); got.Renewals != 1 || len(g.batches()) != 2 {
			t.Fatalf("%+v after %d batches: want the late answer, and another renewal on its way", got, len(g.batches()))
		}
		after(renewal.Verification)
		if got := e.State("a/slow"); got.Phase != renewal.Uncertain {
			t.Errorf("unverified: %+v", got)
		}
		g.open()
	})
}

// TestARenewalIsSentWithinATickOfItsTimeAfterAShortSuspend has clocks that agree well enough.
func TestARenewalIsSentWithinATickOfItsTimeAfterAShortSuspend(t *testing.T) {
	t.Parallel()
	onMachine(t, func(b *bench, m *machine) {
		b.track(subject, timing)
		after(time.Second)
		m.suspend(1900 * time.Millisecond)
		after(2100*time.Millisecond + renewal.Tick)
		if state := b.engine.State(subject); state.Renewals != 1 {
			b.Errorf("6 s after the grant: %+v", state)
		}
	})
}

func TestAnEngineWithoutLeasesMindsNoClock(t *testing.T) {
	t.Parallel()
	onMachine(t, func(b *bench, m *machine) {
		after(time.Hour)
		m.step(time.Hour)
		after(time.Hour)
		b.track(subject, unrenewed)
		after(30 * time.Second)
		if state := b.engine.State(subject); state.Phase != renewal.Held || state.Renewals != 0 {
			b.Errorf("%+v", state)
		}
	})
}

func TestAGrantFromBeforeASuspendIsNotTracked(t *testing.T) {
	t.Parallel()
	for slept, want := range map[time.Duration]bool{12 * time.Second: true, 12*time.Second + 1: false, time.Hour: false} {
		onMachine(t, func(b *bench, m *machine) {
			m.suspend(time.Hour) // from then on, package time is not the engine's
			owner := leasetest.NewOwner(b)
			b.engine.Reserve(subject, lease.Scope(subject), owner)
			grant := lease.Grant{Term: lease.Term{Scope: lease.Scope(subject), Owner: owner, Token: 1}, At: time.Now()}
			m.suspend(slept)
			if got := b.engine.Track(subject, grant, timing); got != want {
				b.Errorf("after %v: %t", slept, got)
			}
		})
	}
}
