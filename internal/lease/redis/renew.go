package redis

import (
	"context"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Renew runs renew.lua for all in one pipeline, on the renewals' own connections. Renewals that met an empty script cache are
// sent once more: the server certainly did not run them.
func (s *Store) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	batch := s.renewal.newRenewBatch(ctx, renewals)
	defer batch.done()
	answers := batch.exchange(ctx)
	errs := make([]error, len(renewals))
	var missed []int
	for i, r := range renewals {
		switch a := &answers[i]; {
		case a.err == nil && a.text == "ok":
		case a.err != nil && isNoScript(a.err):
			missed = append(missed, i)
		default:
			errs[i] = s.kept(r.Scope(), a.text, a.err)
		}
	}
	s.renewAgain(ctx, renewals, missed, errs)
	return errs
}

// renewAgain sends the renewals that met an empty script cache, with the script's source in front.
func (s *Store) renewAgain(ctx context.Context, renewals []*lease.Renewal, missed []int, errs []error) {
	if len(missed) == 0 {
		return
	}
	questions := make([]question, len(missed))
	for i, at := range missed {
		r := renewals[at]
		questions[i] = question{keys: []string{r.Key}, nonce: s.renewal.nonces.next(), args: []any{r.Value, r.Millis}}
	}
	for i, a := range s.renewal.exchange(ctx, renewScript, questions, true) {
		errs[missed[i]] = s.kept(renewals[missed[i]].Scope(), a.text, a.err)
	}
}
