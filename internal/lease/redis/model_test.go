package redis_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

// ahead is a fence that no clock reaches: the tokens above it do not depend on when they are minted.
const ahead = lease.Token(1) << 50

// move is one thing that happens to a store; it returns what was said, without what depends on the time.
type move struct {
	name string
	do   func(t *testing.T, b leasetest.Backend) string
}

// mover draws moves of a few owners and terms on one scope.
type mover struct {
	random *rand.Rand
	owners []lease.Owner
	memory *leasetest.Memory
}

// term is the present holder's, or any.
func (m *mover) term() lease.Term {
	owner, token := lease.SplitValue(m.memory.Get(scope))
	if token != 0 && m.random.IntN(2) == 0 {
		return lease.Term{Scope: scope, Owner: owner, Token: token}
	}
	return lease.Term{Scope: scope, Owner: m.owners[m.random.IntN(len(m.owners))], Token: ahead + lease.Token(m.random.IntN(12))}
}

func (m *mover) next() move {
	term, step := m.term(), time.Duration(m.random.IntN(90))*time.Second
	switch m.random.IntN(16) {
	case 0, 1, 2, 3:
		return m.acquire(term)
	case 4, 5:
		return move{"renew " + term.Value(), func(t *testing.T, b leasetest.Backend) string {
			return said(b.Store.Renew(t.Context(), leasetest.Renewals(ttl, term))[0])
		}}
	case 6, 7:
		return move{"release " + term.Value(), func(t *testing.T, b leasetest.Backend) string {
			return said(b.Store.Release(t.Context(), term))
		}}
	case 8:
		return move{"withdraw " + string(term.Owner), func(t *testing.T, b leasetest.Backend) string {
			return said(b.Store.ReleaseOwner(t.Context(), scope, term.Owner))
		}}
	case 9:
		return move{"observe", func(t *testing.T, b leasetest.Backend) string {
			seen, err := b.Store.Observe(t.Context(), scope)
			return fmt.Sprint(said(err), seen.Owner, seen.Token, seen.ExpiresIn > 0)
		}}
	case 10, 11:
		return m.complete(term)
	case 12:
		return raw1("the lease lapses", func(r leasetest.Raw) { r.Remove(scope) })
	case 13:
		return raw1(fmt.Sprintf("%v of a quarantine pass", step), func(r leasetest.Raw) { r.PutClockBack(scope, -step) })
	case 14:
		return m.disaster(step)
	}
	left := time.Duration(m.random.IntN(2)) * ttl
	return raw1("a program of another kind", func(r leasetest.Raw) { r.Set(scope, "by-hand", left) })
}

func raw1(name string, do func(leasetest.Raw)) move {
	return move{name, func(_ *testing.T, b leasetest.Backend) string { do(b.Raw); return "" }}
}

func (m *mover) acquire(term lease.Term) move {
	request := lease.AcquireRequest{
		Scope: scope, Owner: term.Owner, TTL: ttl, Longest: time.Duration(m.random.IntN(2)) * time.Minute,
	}
	if m.random.IntN(2) == 0 {
		request.Floor = term.Token
	}
	return move{fmt.Sprintf("acquire for %s above %d", term.Owner, request.Floor), func(t *testing.T, b leasetest.Backend) string {
		grant, err := b.Store.Acquire(t.Context(), request)
		return fmt.Sprint(said(err), grant.Term)
	}}
}

func (m *mover) complete(term lease.Term) move {
	request := lease.CompleteRequest{
		Term: term, Occurrence: fmt.Sprint(m.random.IntN(3)), Inputs: fmt.Sprint(m.random.IntN(2)), Retention: time.Hour,
	}
	return move{fmt.Sprintf("complete %s from %s by %s", request.Occurrence, request.Inputs, term.Value()),
		func(t *testing.T, b leasetest.Backend) string {
			got, err := b.Store.Complete(t.Context(), request)
			return fmt.Sprintf("%s %s %d %+v", said(err), got.Verdict, got.Newest, lease.CompletionRecord{
				Owner: got.Record.Owner, Token: got.Record.Token, Inputs: got.Record.Inputs,
			})
		}}
}

func (m *mover) disaster(step time.Duration) move {
	switch m.random.IntN(4) {
	case 0:
		return raw1("everything is lost", func(r leasetest.Raw) { r.LoseEverything(); r.SetFence(scope, ahead) })
	case 1:
		return raw1("the fence is an old one", func(r leasetest.Raw) { r.SetFence(scope, ahead) })
	case 2:
		return raw1("the clock goes back", func(r leasetest.Raw) { r.PutClockBack(scope, 10*step) })
	}
	return raw1("another server answers", func(r leasetest.Raw) { r.ChangeServer(scope) })
}

// said is an error without times.
func said(err error) string {
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		return fmt.Sprintf("held by %s %d, ends %t;", held.Owner, held.Token, held.ExpiresIn > 0)
	}
	if lost, ok := errors.AsType[*lease.LostError](err); ok {
		return fmt.Sprintf("lost to %q %d;", lost.Owner, lost.Token)
	}
	if quarantined, ok := errors.AsType[*lease.QuarantinedError](err); ok {
		return fmt.Sprintf("wait about %v because of %s;", quarantined.Left.Round(10*time.Second), quarantined.Why)
	}
	return fmt.Sprintf("%v;", err)
}

// TestTheStoreInMemoryAndTheScriptsAgree plays the same long random game on both. Whatever tests use the store in memory for is
// true of Redis only if they do.
func TestTheStoreInMemoryAndTheScriptsAgree(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	seen := map[string]bool{}
	for seed := range uint64(60) {
		memory := leasetest.NewMemory()
		r.LoseEverything()
		backends := [2]leasetest.Backend{{Store: memory, Raw: memory}, {Store: store, Raw: r}}
		m := &mover{memory: memory, random: rand.New(rand.NewPCG(seed, 5)), owners: []lease.Owner{
			leasetest.NewOwner(t), leasetest.NewOwner(t), leasetest.NewOwner(t),
		}}
		for _, b := range backends {
			b.Raw.SetFence(scope, ahead)
			leasetest.MustAcquire(t, b.Store, scope, ttl)
			b.Raw.Remove(scope)
		}
		var played []string
		for range 60 {
			next := m.next()
			inMemory, inRedis := next.do(t, backends[0]), next.do(t, backends[1])
			for word := range strings.FieldsFuncSeq(inMemory, func(c rune) bool { return strings.ContainsRune(" ;{", c) }) {
				seen[word] = true
			}
			played = append(played, next.name+": "+inMemory)
			if inMemory != inRedis || backends[0].Raw.Get(scope) != backends[1].Raw.Get(scope) {
				t.Fatalf("game %d: the store in memory and the scripts differ:\n%q %q\n%q %q\nafter\n%q", seed, inMemory,
					backends[0].Raw.Get(scope), inRedis, backends[1].Raw.Get(scope), played)
			}
		}
	}
	for word := range strings.FieldsSeq("accepted duplicate conflict rejected held lost data server 1m0s 30s") {
		if !seen[word] {
			t.Errorf("nothing was ever answered with %s: the test shows little", word)
		}
	}
}
