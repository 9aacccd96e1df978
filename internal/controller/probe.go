package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// StoreProbe asks the store from time to time whether it answers, so that the metric is right when no report needs it.
type StoreProbe struct {
	Store   lease.Store
	Metrics *Metrics
	// Log is told when the answer changes.
	Log logr.Logger
	// Every is the time between two questions, and the longest time an answer may take.
	Every time.Duration
}

// NeedLeaderElection says that every replica asks for itself.
func (p *StoreProbe) NeedLeaderElection() bool { return false }

// Start asks until the context ends. It always returns nil.
func (p *StoreProbe) Start(ctx context.Context) error {
	ticker := time.NewTicker(p.Every)
	defer ticker.Stop()
	// Silence is the normal case: the first answer is told only if it is none.
	reachable := true
	for {
		err := p.ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		p.tell(reachable, err)
		reachable = err == nil
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (p *StoreProbe) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.Every)
	defer cancel()
	return p.Store.Check(ctx)
}

func (p *StoreProbe) tell(before bool, err error) {
	p.Metrics.StoreReachable(err == nil)
	switch {
	case before && err != nil:
		p.Log.Error(err, "Redis gives no usable answer; ReportJobs wait until it does", "address", p.Store.Address())
	case !before && err == nil:
		p.Log.Info("Redis answers", "address", p.Store.Address())
	}
}
