package renewal

import (
	"errors"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

var errHalted = errors.New("renewals were stopped")

// Reserve makes the subject's entry, Acquiring, before the lease is asked for: from now on Forget and Halt end it, even while
// the request is on its way. It replaces whatever the subject had before.
func (e *Engine) Reserve(subject Subject, scope lease.Scope, owner lease.Owner) {
	reserved := &entry{
		subject: subject, phase: Acquiring,
		renewal: lease.Renewal{Key: scope.LeaseKey(), Value: string(owner)}, deadline: never,
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	reserved.anchor = e.now()
	e.add(reserved)
}

// Track renews the lease that was just granted to the owner of the subject's reservation, and uses the reservation up. It
// answers false, and renews nothing, if the caller must give the lease back instead: when that owner has no reservation, because
// none was made or it was forgotten, halted or replaced meanwhile; when more than half of the trusted time has passed since the
// request was sent; and when ownership is uncertain already.
func (e *Engine) Track(subject Subject, grant lease.Grant, timing lease.Timing) bool {
	renewal := lease.NewRenewal(grant.Term, timing.LeaseDuration)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	x := e.current(subject, now)
	if x == nil || x.phase != Acquiring || x.renewal.Key != renewal.Key || x.renewal.Value != string(grant.Term.Owner) {
		return false
	}
	// The request was sent after the reservation. By package time it seems earlier than that after a suspend.
	sent := max(x.anchor, e.clock.ElapsedAt(grant.At))
	if now-sent > timing.Trusted()/2 || now >= sent+timing.UncertainAfter() {
		e.end(x, Untracked, nil)
		return false
	}
	x.phase, x.renewal, x.timing, x.anchor, x.vouched = Held, renewal, timing, sent, now
	e.believe(x, sent)
	return true
}

// Adopt takes over a lease that an earlier process was granted: it is Adopting until a renewal confirms it, and Uncertain if
// none does within the longest of renewalTimeout, renewalInterval and 1 s. Adopting what the subject has already vouches for
// it, and changes nothing else.
func (e *Engine) Adopt(subject Subject, term lease.Term, timing lease.Timing) {
	adopted := &entry{
		subject: subject, phase: Adopting, timing: timing, renewal: lease.NewRenewal(term, timing.LeaseDuration), anchor: never,
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	known := e.current(subject, now)
	if known != nil && known.renewal.Key == adopted.renewal.Key && known.renewal.Value == adopted.renewal.Value {
		e.vouch(known, now)
		return
	}
	adopted.deadline = now + max(timing.RenewalTimeout, timing.RenewalInterval, minAdoption)
	e.add(adopted)
	e.plan(adopted, waiting, now)
}

// Vouch says that the subject's owner lives, as far as the caller knows at this moment. It revives nothing.
func (e *Engine) Vouch(subject Subject) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	if x := e.current(subject, now); x != nil {
		e.vouch(x, now)
	}
}

// Halt stops renewing, so that the lease lapses. The state stays readable; Lost and Uncertain stay what they are. No renewal is
// sent any more once it returned, and the one that is on its way changes nothing.
func (e *Engine) Halt(subject Subject) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.current(subject, e.now()); x != nil && x.live() {
		e.end(x, Halted, errHalted)
	}
}

// Forget drops the entry. No renewal is sent any more once it returned, and the one that is on its way changes nothing.
func (e *Engine) Forget(subject Subject) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.entries[subject]; x != nil {
		e.end(x, Untracked, nil)
	}
}

// State returns what is known of the subject's lease; Untracked if nothing is. It looks at the clock itself: after a freeze
// of the process the caller may come before the supervisor.
func (e *Engine) State(subject Subject) State {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.current(subject, e.now()); x != nil {
		return e.state(x)
	}
	return State{Phase: Untracked}
}

func (e *Engine) state(x *entry) State {
	s := State{Phase: x.phase, Detail: x.detail(), LastResult: x.result, Renewals: uint64(x.renewals)}
	if x.renewal.Millis == 0 { // it was reserved and nothing more
		s.Term = lease.Term{Scope: x.renewal.Scope(), Owner: lease.Owner(x.renewal.Value)}
		return s
	}
	s.Term = x.renewal.Term()
	if x.anchor != never {
		s.Confirmed, s.Deadline = e.clock.At(x.anchor), e.clock.At(x.anchor+x.timing.Trusted())
	}
	return s
}

// Summary counts the entries by phase and gives the least time that is left of a held lease's trust; 0 if none is held.
func (e *Engine) Summary() (counts map[Phase]int, least time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	counts = map[Phase]int{}
	for _, x := range e.entries {
		counts[x.phase]++
		if left := x.anchor + x.timing.Trusted() - now; x.phase == Held && (counts[Held] == 1 || left < least) {
			least = left
		}
	}
	return counts, least
}
