package leasetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

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
