package histories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// ttl is the lease of every client: the shortest there is.
const ttl = lease.MinLeaseDuration

// trusted is how long after its request a confirmation may be relied on.
var trusted = lease.Timing{LeaseDuration: ttl}.Trusted()

// kind is what was asked for.
type kind string

const (
	acquire  kind = "acquire"
	renew    kind = "renew"
	release  kind = "release"
	withdraw kind = "withdraw" // ReleaseOwner
	observe  kind = "observe"
	remove   kind = "remove"  // a person removes the key
	restart  kind = "restart" // the server, without its data: concerns every scope
)

// answer is what became of it.
type answer string

const (
	ok          answer = "ok"
	held        answer = "held by" // another holds the lease, or for an observation, somebody
	gone        answer = "gone"
	quarantined answer = "quarantined"
	refused     answer = "not executed"
	unknown     answer = "unknown"
)

// holder is an owner with his token.
type holder struct {
	owner lease.Owner
	token lease.Token
}

// event is one request and its answer. Instants are since the history began, by one monotonic clock.
type event struct {
	kind  kind
	scope lease.Scope
	// by is the term in whose name the request was made; an acquisition's token is the one that was granted.
	by lease.Owner
	// token is that of by, or the one that was granted.
	token lease.Token
	// floor is an acquisition's.
	floor      lease.Token
	call, back time.Duration
	// anchor is what the client counts its trust from; not before call.
	anchor time.Duration
	answer answer
	// seen is the holder that the answer names.
	seen holder
}

func (e event) String() string {
	text := fmt.Sprintf("%8.3f-%8.3f s  %-8s", e.call.Seconds(), e.back.Seconds(), e.kind)
	if e.by != "" {
		text += fmt.Sprintf(" by %.6s with token %d:", string(e.by), e.token)
	}
	if e.kind == acquire {
		text += fmt.Sprintf(" above %d:", e.floor)
	}
	text += " " + string(e.answer)
	if e.seen.owner != "" {
		text += fmt.Sprintf(" %.6s with token %d", string(e.seen.owner), e.seen.token)
	}
	return text
}

// history is what was recorded. Its methods may be called from any goroutine.
type history struct {
	begun time.Time

	mu     sync.Mutex
	events []event
	faults map[string]int
}

func newHistory() *history { return &history{begun: time.Now(), faults: map[string]int{}} }

func (h *history) now() time.Duration { return time.Since(h.begun) }

func (h *history) add(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// begin adds an event whose answer is not known yet, and returns its place.
func (h *history) begin(e event) int {
	e.answer = unknown
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	return len(h.events) - 1
}

// end puts the event with its answer in its place.
func (h *history) end(place int, e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[place] = e
}

// all returns a copy of what was recorded so far.
func (h *history) all() []event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// fault counts something that went wrong on purpose.
func (h *history) fault(kind string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[kind]++
}

// summary counts the operations, by their answers, and the faults, by their kinds.
func (h *history) summary() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	answers := map[string]int{}
	for _, e := range h.events {
		answers[strings.TrimSuffix(string(e.answer), " by")]++
	}
	total := 0
	for _, n := range h.faults {
		total += n
	}
	return fmt.Sprintf("operations %d (%s), faults %d (%s)", len(h.events), counts(answers), total, counts(h.faults))
}

func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, of[name])
	}
	return strings.Join(names, ", ")
}

// byScope sorts the events of each scope by when they were sent. A restart is every scope's.
func byScope(events []event) map[lease.Scope][]event {
	scopes := map[lease.Scope][]event{}
	for _, e := range events {
		if e.kind != restart {
			scopes[e.scope] = append(scopes[e.scope], e)
		}
	}
	for scope := range scopes {
		for _, e := range events {
			if e.kind == restart {
				scopes[scope] = append(scopes[scope], e)
			}
		}
		slices.SortFunc(scopes[scope], func(a, b event) int { return cmp.Compare(a.call, b.call) })
	}
	return scopes
}

// recorder makes requests to a store and records them.
type recorder struct {
	store   lease.Store
	history *history
}

// record makes one request; send returns the error of the store.
func (r recorder) record(e event, send func(*event) error) event {
	e.call = r.history.now()
	e.anchor = e.call
	place := r.history.begin(e)
	err := send(&e)
	e.back = r.history.now()
	e.answer, e.seen = read(err)
	r.history.end(place, e)
	return e
}

var outcomes = map[lease.Outcome]answer{lease.Executed: ok, lease.NotExecuted: refused, lease.Unknown: unknown}

// read sorts the error of a store's method.
func read(err error) (answer, holder) {
	if h, is := errors.AsType[*lease.HeldError](err); is {
		return held, holder{h.Owner, h.Token}
	}
	if lost, is := errors.AsType[*lease.LostError](err); is && lost.Gone() {
		return gone, holder{}
	} else if is {
		return held, holder{lost.Owner, lost.Token}
	}
	if _, is := errors.AsType[*lease.QuarantinedError](err); is {
		return quarantined, holder{}
	}
	return outcomes[lease.OutcomeOf(err)], holder{}
}

func (r recorder) acquire(ctx context.Context, request lease.AcquireRequest) event {
	return r.record(event{kind: acquire, scope: request.Scope, by: request.Owner, floor: request.Floor}, func(e *event) error {
		grant, err := r.store.Acquire(ctx, request)
		if err == nil {
			e.token, e.anchor = grant.Term.Token, grant.At.Sub(r.history.begun)
		}
		return err
	})
}

func (r recorder) renew(ctx context.Context, term lease.Term) event {
	renewal := lease.NewRenewal(term, ttl)
	return r.record(event{kind: renew, scope: term.Scope, by: term.Owner, token: term.Token}, func(*event) error {
		return r.store.Renew(ctx, []*lease.Renewal{&renewal})[0]
	})
}

func (r recorder) release(ctx context.Context, term lease.Term) event {
	return r.record(event{kind: release, scope: term.Scope, by: term.Owner, token: term.Token}, func(*event) error {
		return r.store.Release(ctx, term)
	})
}

func (r recorder) withdraw(ctx context.Context, scope lease.Scope, owner lease.Owner) event {
	return r.record(event{kind: withdraw, scope: scope, by: owner}, func(*event) error {
		return r.store.ReleaseOwner(ctx, scope, owner)
	})
}

func (r recorder) observe(ctx context.Context, scope lease.Scope) event {
	var seen lease.Observation
	e := r.record(event{kind: observe, scope: scope}, func(*event) (err error) {
		seen, err = r.store.Observe(ctx, scope)
		if err == nil {
			return &lease.HeldError{Scope: scope, Owner: seen.Owner, Token: seen.Token}
		}
		return err
	})
	return e
}
