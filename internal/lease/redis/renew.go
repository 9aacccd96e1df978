package redis

import (
	"context"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Renew runs renew.lua for all in one pipeline, on the renewals' own connections.
func (s *Store) Renew(ctx context.Context, renewals []*lease.Renewal) []error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	questions := make([]question, len(renewals))
	for i, r := range renewals {
		questions[i] = question{
			keys:  []string{r.Key},
			nonce: s.renewal.nonces.next(),
			args:  []any{r.Value, r.Millis},
		}
	}
	answers := s.renewal.askAll(ctx, renewScript, questions)
	errs := make([]error, len(renewals))
	for i, r := range renewals {
		errs[i] = s.kept(r.Scope(), answers[i].text, answers[i].err)
	}
	return errs
}
