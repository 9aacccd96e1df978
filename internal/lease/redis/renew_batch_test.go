package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// TestARenewalAllocatesNothing is not parallel: it counts what the whole process allocates.
func TestARenewalAllocatesNothing(t *testing.T) {
	store, _, _ := startStore(t)
	renewals := acquireMany(t, store, 100)
	perBatch := testing.AllocsPerRun(50, func() {
		if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
			t.Error(err)
		}
	})
	// The context, the pipeline and the slice of errors are one each for the batch.
	if perRenewal := perBatch / float64(len(renewals)); perRenewal > 0.5 {
		t.Errorf("%.2f allocations for a renewal, %.0f for a batch of %d", perRenewal, perBatch, len(renewals))
	}
}

// TestBatchesOfEveryKindShareWhatIsUsedAgain lets goroutines renew batches of different sizes and fates at the same time: each
// lease gets its own answer.
func TestBatchesOfEveryKindShareWhatIsUsedAgain(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	var held, gone, taken []lease.Term
	for i := range 300 {
		term := leasetest.MustAcquire(t, store, lease.Scope(fmt.Sprintf("many/%d", i)), ttl).Term
		switch i % 3 {
		case 0:
			held = append(held, term)
		case 1:
			r.Remove(term.Scope)
			gone = append(gone, term)
		case 2:
			r.Set(term.Scope, "thief|"+term.Token.String(), time.Hour)
			taken = append(taken, term)
		}
	}
	var work sync.WaitGroup
	for worker := range 6 {
		work.Go(func() {
			for n := range 60 {
				n = 1 + (n*7+worker*13)%100
				checkEach(t, store, [][]lease.Term{held[:n], gone[:n], taken[:n]})
			}
		})
	}
	work.Wait()
}

// checkEach renews leases that are held, gone and taken in one batch.
func checkEach(t *testing.T, store *redis.Store, kinds [][]lease.Term) {
	t.Helper()
	n := len(kinds[0])
	var terms []lease.Term
	for i := range n {
		terms = append(terms, kinds[0][i], kinds[1][i], kinds[2][i])
	}
	for i, err := range store.Renew(t.Context(), leasetest.Renewals(ttl, terms...)) {
		var lost *lease.LostError
		errors.As(err, &lost)
		ok := err == nil
		switch i % 3 {
		case 1:
			ok = lost != nil && lost.Gone() && lost.Scope == terms[i].Scope
		case 2:
			ok = lost != nil && lost.Owner == "thief" && lost.Token == terms[i].Token
		}
		if !ok {
			t.Errorf("renewal %d of %d, of %s: %v", i, len(terms), terms[i].Scope, err)
		}
	}
}

// TestRepliesOfOtherLengthsAreUnknown lets a server send what no script of ours sends, in front of the replies.
func TestRepliesOfOtherLengthsAreUnknown(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]string{
		"nothing at all":     "$0\r\n\r\n",
		"as long as allowed": "$192\r\n" + strings.Repeat("x", 192) + "\r\n",
		"too long":           "$193\r\n" + strings.Repeat("x", 193) + "\r\n",
		"10 MB":              "$10000000\r\n" + strings.Repeat("x", 10_000_000) + "\r\n",
		"a long status":      "+" + strings.Repeat("x", 500) + "\r\n",
		"another protocol":   "HTTP/1.1 400 Bad Request\r\n\r\n",
		"an empty line":      "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct, _, _ := startStore(t)
			proxy := newProxy(t, direct.Address())
			store := newStore(t, redis.Options{Address: proxy.address})
			renewals := acquireMany(t, store, 3)
			if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
				t.Fatal(err)
			}
			proxy.extraReply.Store(&extra)
			for i, err := range store.Renew(t.Context(), renewals) {
				checkUnknown(t, err)
				if err == nil || !strings.Contains(err.Error(), "belongs to another request") {
					t.Errorf("renewal %d: %v", i, err)
				}
			}
			if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
				t.Errorf("after that: %v", err)
			}
		})
	}
}

// TestABatchHealsAnEmptyScriptCache empties the cache, so that every renewal of a batch is sent twice, and checks that
// none ran twice.
func TestABatchHealsAnEmptyScriptCache(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	renewals := acquireMany(t, store, 100)
	r.must(r.client.ScriptFlush(t.Context()).Err())
	r.must(r.client.ConfigResetStat(t.Context()).Err())
	if err := errors.Join(store.Renew(t.Context(), renewals)...); err != nil {
		t.Fatal(err)
	}
	if got := calls(t, r, "pexpire"); got != len(renewals) {
		t.Errorf("%d renewals ran %d times", len(renewals), got)
	}
}
