package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/leaderelection"
)

// electionPause is the time between two elections in which this process stands: after a lost one the API server may be away.
const electionPause = time.Second

// Election elects the leader among the replicas, again and again. A replica that loses does not end: the renewal engine goes on
// with the leases it has, so that an API server that is away costs no report, and nothing else is done until it leads again; see
// Leadership.
type Election struct {
	Leadership *Leadership
	Log        logr.Logger
	// Elected is called in a goroutine of its own whenever this process begins to lead, Lost when it no longer does.
	Elected func(ctx context.Context)
	Lost    func()
}

// NeedLeaderElection says that every replica stands for election. The manager ends it after the controllers, so that the Lease is
// given up when nothing is under way any more.
func (e *Election) NeedLeaderElection() bool { return false }

// Start stands for election until the context ends. The error says that the times of leader election do not fit together.
func (e *Election) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock:          e.Leadership,
			LeaseDuration: LeaderLeaseDuration, RenewDeadline: LeaderRenewDeadline, RetryPeriod: LeaderRetryPeriod,
			ReleaseOnCancel: true,
			Callbacks:       leaderelection.LeaderCallbacks{OnStartedLeading: e.elected, OnStoppedLeading: e.lost},
		})
		if err != nil {
			return fmt.Errorf("leader election cannot begin: %w", err)
		}
		elector.Run(ctx)
		pause(ctx, electionPause)
	}
	return nil
}

func (e *Election) elected(ctx context.Context) {
	e.Log.Info("this replica leads", "identity", e.Leadership.Identity())
	e.Elected(ctx)
}

func (e *Election) lost() {
	e.Leadership.resign()
	e.Log.Info("this replica does not lead", "identity", e.Leadership.Identity())
	e.Lost()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
