package renewal

import (
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Reserve makes the subject's entry, Acquiring, before the lease is asked for: from now on Forget and Halt end it, even while
// the request is on its way. It replaces whatever the subject had before.
func (e *Engine) Reserve(subject Subject, scope lease.Scope, owner lease.Owner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.add(&entry{
		subject: subject, term: lease.Term{Scope: scope, Owner: owner}, phase: Acquiring,
		reserved: now, vouched: now, deadline: now.Add(never),
	}, now)
}

// Track renews the lease that was just granted to the owner of the subject's reservation, and uses the reservation up. It
// answers false, and renews nothing, if the caller must give the lease back instead: when that owner has no reservation, because
// none was made or it was forgotten, halted or replaced meanwhile; when more than half of the trusted time has passed since the
// request was sent; and when ownership is uncertain already.
func (e *Engine) Track(subject Subject, grant lease.Grant, timing lease.Timing) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	known := e.current(subject, now)
	if known == nil || known.phase != Acquiring || known.term.Scope != grant.Term.Scope || known.term.Owner != grant.Term.Owner {
		return false
	}
	sent := grant.At
	if sent.Before(known.reserved) {
		sent = known.reserved
	}
	trust := lease.NewTrust(sent, timing)
	if now.Sub(sent) > timing.Trusted()/2 || !trust.UncertainAt().After(now) {
		e.remove(known)
		return false
	}
	e.add(&entry{
		subject: subject, term: grant.Term, timing: timing, phase: Held,
		trust: trust, deadline: trust.UncertainAt(), confirmed: sent, vouched: now,
	}, jittered(trust, timing))
	return true
}

// Adopt takes over a lease that an earlier process was granted: it is Adopting until a renewal confirms it, and Uncertain if
// none does within the longest of renewalTimeout, renewalInterval and 1 s. Adopting what the subject has already vouches for
// it, and changes nothing else.
func (e *Engine) Adopt(subject Subject, term lease.Term, timing lease.Timing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if known := e.current(subject, now); known != nil && known.term == term {
		known.vouched = now
		return
	}
	e.add(&entry{
		subject: subject, term: term, timing: timing, phase: Adopting, vouched: now,
		deadline: now.Add(max(timing.RenewalTimeout, timing.RenewalInterval, minAdoption)),
	}, now)
}

// Vouch says that the subject's owner lives, as far as the caller knows at this moment. It revives nothing.
func (e *Engine) Vouch(subject Subject) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if entry := e.current(subject, now); entry != nil {
		entry.vouched = now
	}
}

// Halt stops renewing, so that the lease lapses. The state stays readable; Lost and Uncertain stay what they are. No renewal is
// sent any more when it returns, and the one that is on its way changes nothing.
func (e *Engine) Halt(subject Subject) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.current(subject, time.Now()); entry != nil && entry.live() {
		entry.end(Halted, "renewals were stopped")
	}
}

// Forget drops the entry. No renewal is sent any more when it returns, and the one that is on its way changes nothing.
func (e *Engine) Forget(subject Subject) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.entries[subject]; entry != nil {
		e.remove(entry)
	}
}

func (e *Engine) remove(entry *entry) {
	entry.forgotten = true
	delete(e.entries, entry.subject)
}

// State returns what is known of the subject's lease; Untracked if nothing is. It looks at the clock itself: after a freeze
// of the process the caller may come before the supervisor.
func (e *Engine) State(subject Subject) State {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.current(subject, time.Now()); entry != nil {
		return entry.state()
	}
	return State{Phase: Untracked}
}

// Summary counts the entries by phase and gives the least time that is left of a held lease's trust; 0 if none is held.
func (e *Engine) Summary() (counts map[Phase]int, least time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	counts = map[Phase]int{}
	for _, entry := range e.entries {
		counts[entry.phase]++
		if left := entry.trust.Deadline().Sub(now); entry.phase == Held && (counts[Held] == 1 || left < least) {
			least = left
		}
	}
	return counts, least
}
