package controller

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// releaseRetry is the time between two rounds of releases.
const releaseRetry = 2 * time.Second

// releases are the leases of executions that have ended, and that Redis did not answer about when they were given back. Nothing
// waits for them. A renewal that was stuck on its way can have extended such a lease after the last word about it, which would
// keep the next report waiting for a whole leaseDuration. The zero value is ready.
type releases struct {
	mu sync.Mutex
	// until is when each must have run out by itself.
	until map[lease.Term]time.Time
}

// add gives a lease back later. It must have run out after two leaseDurations: a renewal that is carried out late extends it only
// if it has not run out by then.
func (r *releases) add(term lease.Term, leaseDuration time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[lease.Term]time.Time{}
	}
	r.until[term] = time.Now().Add(2 * leaseDuration)
}

// due returns what is to be given back, without what must have run out.
func (r *releases) due() []lease.Term {
	r.mu.Lock()
	defer r.mu.Unlock()
	var terms []lease.Term
	for term, until := range r.until {
		if time.Now().After(until) {
			delete(r.until, term)
			continue
		}
		terms = append(terms, term)
	}
	return terms
}

func (r *releases) drop(term lease.Term) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, term)
}

// run gives leases back until the context ends. It always returns nil.
func (r *releases) run(ctx context.Context, store lease.Store, log logr.Logger) error {
	ticker := time.NewTicker(releaseRetry)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			r.round(ctx, store, log)
		}
	}
}

// round tries each once. All together get the time of one request while Redis does not answer.
func (r *releases) round(ctx context.Context, store lease.Store, log logr.Logger) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for _, term := range r.due() {
		if err := store.Release(ctx, term); lease.OutcomeOf(err) == lease.Executed {
			r.drop(term)
			log.Info("Redis answered about a lease that was to be given back", "scope", string(term.Scope),
				"token", term.Token.String(), "released", err == nil)
		}
		if ctx.Err() != nil {
			return
		}
	}
}
