package controller

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
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

func (r *releases) add(term lease.Term, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[lease.Term]time.Time{}
	}
	r.until[term] = until
}

// due returns what is to be given back, without what must have run out.
func (r *releases) due(now time.Time) []lease.Term {
	r.mu.Lock()
	defer r.mu.Unlock()
	var terms []lease.Term
	for term, until := range r.until {
		if now.After(until) {
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

// releaseLater goes on giving back a lease that nothing waits for. It must have run out after two leaseDurations: a renewal that
// is carried out late extends it only if it has not run out by then.
func (r *ReportJobReconciler) releaseLater(reportJob *v1alpha1.ReportJob, term lease.Term) {
	if timing, err := timingOf(&reportJob.Spec); err == nil {
		r.releases.add(term, r.Clock.Now().Add(2*timing.LeaseDuration))
	}
}

// repeatReleases gives leases back until the context ends. It always returns nil.
func (r *ReportJobReconciler) repeatReleases(ctx context.Context) error {
	ticker := time.NewTicker(releaseRetry)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if r.Leadership.MayAct() {
				r.repeatReleasesOnce(ctx)
			}
		}
	}
}

// repeatReleasesOnce tries each once. All together get the time of one request while Redis does not answer.
func (r *ReportJobReconciler) repeatReleasesOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for _, term := range r.releases.due(r.Clock.Now()) {
		if err := r.Store.Release(ctx, term); lease.OutcomeOf(err) == lease.Executed {
			r.releases.drop(term)
			r.Log.Info("Redis answered about a lease that was to be given back", "scope", string(term.Scope),
				"token", term.Token.String(), "released", err == nil)
		}
		if ctx.Err() != nil {
			return
		}
	}
}
