package leasetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

var completionCases = map[string]func(*testing.T, Backend){
	"a result is recorded once":                            completesOnce,
	"a stale result is refused":                            staleIsRejected,
	"a result is remembered for as long as was asked":      remembersCompletion,
	"a completion that makes no sense is not executed":     nonsenseCompletion,
	"a completion does not hide that data was lost":        completionHidesNoLoss,
	"of two executions with one token only one completes":  oneTokenCompletesOnce,
	"a completion changes neither the lease nor its fence": completionChangesNoLease,
}

func observesForEver(t *testing.T, b Backend) {
	b.Raw.Set(scope, "by-hand", 0)
	seen, err := b.Store.Observe(t.Context(), scope)
	if err != nil || seen.Owner != "by-hand" || seen.Token != 0 || seen.ExpiresIn != 0 {
		t.Errorf("got %+v, %v", seen, err)
	}
}

func remembersCompletion(t *testing.T, b Backend) {
	request := completion(MustAcquire(t, b.Store, scope, ttl).Term)
	for _, retention := range []time.Duration{lease.MinRetention, lease.MaxRetention} {
		request.Retention = retention
		if got, err := b.Store.Complete(t.Context(), request); err != nil || got.Verdict != lease.Accepted {
			t.Fatalf("%v: %+v, %v", retention, got, err)
		}
		if left := b.Raw.DoneTTL(scope, request.Occurrence); left > retention || left < retention-5*time.Second {
			t.Errorf("the completion is remembered for %v, want %v", left, retention)
		}
		again := request
		again.Retention = time.Hour // a duplicate changes nothing
		if got, err := b.Store.Complete(t.Context(), again); err != nil || got.Verdict != lease.Duplicate {
			t.Errorf("once more: %+v, %v", got, err)
		}
		if left := b.Raw.DoneTTL(scope, request.Occurrence); left < retention-5*time.Second {
			t.Errorf("after a duplicate the completion is remembered for %v, want %v", left, retention)
		}
		b.Raw.Forget(scope, request.Occurrence)
	}
}

func nonsenseCompletion(t *testing.T, b Backend) {
	good := completion(MustAcquire(t, b.Store, scope, ttl).Term)
	for name, spoil := range map[string]func(*lease.CompleteRequest){
		"no occurrence":          func(r *lease.CompleteRequest) { r.Occurrence = "" },
		"an occurrence too long": func(r *lease.CompleteRequest) { r.Occurrence = strings.Repeat("x", lease.MaxOccurrenceLength+1) },
		"a line break":           func(r *lease.CompleteRequest) { r.Inputs = "a\nb" },
		"texts too long":         func(r *lease.CompleteRequest) { r.Location = strings.Repeat("x", lease.MaxCompletionText) },
		"a retention too short":  func(r *lease.CompleteRequest) { r.Retention = lease.MinRetention - 1 },
		"a retention too long":   func(r *lease.CompleteRequest) { r.Retention = lease.MaxRetention + 1 },
		"no token":               func(r *lease.CompleteRequest) { r.Term.Token = 0 },
		"a token too high":       func(r *lease.CompleteRequest) { r.Term.Token = lease.MaxToken + 1 },
		"no owner":               func(r *lease.CompleteRequest) { r.Term.Owner = "" },
		"a scope with a brace":   func(r *lease.CompleteRequest) { r.Term.Scope = "a}b" },
	} {
		request := good
		spoil(&request)
		_, err := b.Store.Complete(t.Context(), request)
		if err == nil {
			t.Errorf("%s: completed", name)
		}
		checkOutcome(t, err, lease.NotExecuted)
	}
	good.Location = strings.Repeat("x", lease.MaxCompletionText-len(good.Inputs)-len(good.Digest))
	for _, want := range []lease.Verdict{lease.Accepted, lease.Duplicate} {
		got, err := b.Store.Complete(t.Context(), good)
		if err != nil || got.Verdict != want || got.Record.Location != good.Location {
			t.Errorf("the longest text: %s, %v, want %s", got.Verdict, err, want)
		}
	}
}

// completionHidesNoLoss lets an execution complete after the store forgot it, and another ask that knows of its token.
func completionHidesNoLoss(t *testing.T, b Backend) {
	term := MustAcquire(t, b.Store, scope, ttl).Term
	b.Raw.LoseEverything()
	if got, err := b.Store.Complete(t.Context(), completion(term)); err != nil || got.Verdict != lease.Accepted {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err := b.Store.Acquire(t.Context(), lease.AcquireRequest{Scope: scope, Owner: NewOwner(t), TTL: ttl, Floor: term.Token})
	checkQuarantined(t, err, lease.DataLost, ttl)
}

func oneTokenCompletesOnce(t *testing.T, b Backend) {
	first := MustAcquire(t, b.Store, scope, ttl).Term
	second := lease.Term{Scope: scope, Owner: NewOwner(t), Token: first.Token}
	b.Raw.Set(scope, second.Value(), ttl) // as a store may grant that forgot the first, within the same ms
	checkCompletion(t, b, completion(first), lease.Completion{Verdict: lease.Rejected, Newest: first.Token})
	b.Raw.Remove(scope)
	accepted := 0
	for _, term := range []lease.Term{second, first} {
		got, err := b.Store.Complete(t.Context(), completion(term))
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict == lease.Accepted {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("%d completions were accepted", accepted)
	}
}

func completionChangesNoLease(t *testing.T, b Backend) {
	term := MustAcquire(t, b.Store, scope, ttl).Term
	if _, err := b.Store.Complete(t.Context(), completion(term)); err != nil {
		t.Fatal(err)
	}
	if got, fence := b.Raw.Get(scope), b.Raw.Fence(scope); got != term.Value() || fence != term.Token {
		t.Errorf("the lease holds %q and the fence %d", got, fence)
	}
	if left := b.Raw.TTL(scope); left > ttl || left < ttl-5*time.Second {
		t.Errorf("the lease lives for %v", left)
	}
	if err := b.Store.Release(t.Context(), term); err != nil {
		t.Errorf("release: %v", err)
	}
}

func observesHolder(t *testing.T, b Backend) {
	_, err := b.Store.Observe(t.Context(), scope)
	if lost, ok := errors.AsType[*lease.LostError](err); !ok || !lost.Gone() {
		t.Errorf("a free lease: %v", err)
	}
	grant := MustAcquire(t, b.Store, scope, ttl)
	before := time.Now()
	seen, err := b.Store.Observe(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	if seen.Owner != grant.Term.Owner || seen.Token != grant.Term.Token || seen.ExpiresIn <= 0 || seen.ExpiresIn > ttl {
		t.Errorf("got %+v, want %+v", seen, grant.Term)
	}
	if seen.At.Before(before) || seen.At.After(time.Now()) {
		t.Errorf("observed at %v, and asked at %v", seen.At, before)
	}
}

// completion is a request to complete an occurrence under a term.
func completion(term lease.Term) lease.CompleteRequest {
	return lease.CompleteRequest{
		Term: term, Occurrence: "2026-11", Inputs: "sha256:1|2", Digest: "sha256:9", Location: "s3://reports/|x",
		Retention: time.Hour,
	}
}

func completesOnce(t *testing.T, b Backend) {
	grant := MustAcquire(t, b.Store, scope, ttl)
	request := completion(grant.Term)
	want := lease.CompletionRecord{
		Owner: grant.Term.Owner, Token: grant.Term.Token, Inputs: request.Inputs, Digest: request.Digest, Location: request.Location,
	}
	checkCompletion(t, b, request, lease.Completion{Verdict: lease.Accepted, Record: want})
	request.Digest = "sha256:other"
	checkCompletion(t, b, request, lease.Completion{Verdict: lease.Duplicate, Record: want})

	b.Raw.Remove(scope)
	again := completion(MustAcquire(t, b.Store, scope, ttl).Term)
	checkCompletion(t, b, again, lease.Completion{Verdict: lease.Rejected, Record: want})
	again.Inputs = ""
	checkCompletion(t, b, again, lease.Completion{Verdict: lease.Conflict, Record: want})
	again.Occurrence = "2026-12"
	want = lease.CompletionRecord{Owner: again.Term.Owner, Token: again.Term.Token, Digest: again.Digest, Location: again.Location}
	checkCompletion(t, b, again, lease.Completion{Verdict: lease.Accepted, Record: want})
}

func staleIsRejected(t *testing.T, b Backend) {
	old := MustAcquire(t, b.Store, scope, ttl).Term
	b.Raw.Remove(scope)
	now := MustAcquire(t, b.Store, scope, ttl).Term
	checkCompletion(t, b, completion(old), lease.Completion{Verdict: lease.Rejected, Newest: now.Token})
	b.Raw.Remove(scope) // it lapsed, and still nobody newer is known than the one that held it last
	checkCompletion(t, b, completion(old), lease.Completion{Verdict: lease.Rejected, Newest: now.Token})
	request := completion(now)
	request.Inputs, request.Digest, request.Location = "", "", ""
	checkCompletion(t, b, request, lease.Completion{
		Verdict: lease.Accepted, Record: lease.CompletionRecord{Owner: now.Owner, Token: now.Token},
	})
	b.Raw.Set("finance/cron", "a-cron-box", ttl)
	foreign := completion(lease.Term{Scope: "finance/cron", Owner: NewOwner(t), Token: 5})
	checkCompletion(t, b, foreign, lease.Completion{Verdict: lease.Rejected})
	foreign.Occurrence = ""
	_, err := b.Store.Complete(t.Context(), foreign)
	checkOutcome(t, err, lease.NotExecuted)
}

func checkCompletion(t *testing.T, b Backend, request lease.CompleteRequest, want lease.Completion) {
	t.Helper()
	got, err := b.Store.Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(lease.CompletionRecord{}, "At")); diff != "" {
		t.Errorf("completion (-want +got):\n%s", diff)
	}
	if got.Record.Owner != "" && got.Record.At.IsZero() {
		t.Error("the record has no time")
	}
}
