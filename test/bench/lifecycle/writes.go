package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

const quickScript = "sleep 1; echo done"

// writes counts what reports and plain Jobs cost, one after the other, so that none makes another one wait.
func (b *bench) writes(ctx context.Context, o options) error {
	var plainWrites float64
	err := b.withNamespace(ctx, "plain", func(namespace string) error {
		for i := range o.reports {
			if err := b.runJob(ctx, newJob(namespace, fmt.Sprintf("plain-%d", i), quickScript)); err != nil {
				return err
			}
		}
		all, err := settled(ctx, namespace)
		each := func(who ...func(write) bool) float64 {
			return count(all, append(who, in(namespace))...) / float64(o.reports)
		}
		plainWrites = each(by(jobController), not(write.isEvent))
		figure("writes_per_plain_job", plainWrites)
		figure("events_per_plain_job", each(by(jobController), write.isEvent))
		return err
	})
	if err != nil {
		return err
	}
	return b.withNamespace(ctx, "reports", func(namespace string) error {
		for i := range o.reports {
			name := fmt.Sprintf("report-%d", i)
			rj := newReport(namespace, name, name, quickScript)
			if err := b.client.Create(ctx, rj); err != nil {
				return err
			}
			if err := b.untilPhase(ctx, rj, v1alpha1.PhaseSucceeded); err != nil {
				return err
			}
		}
		all, err := settled(ctx, namespace)
		each := func(who ...func(write) bool) float64 {
			return count(all, append(who, in(namespace))...) / float64(o.reports)
		}
		figure("writes_per_report", each(by(operator), not(write.isEvent)))
		figure("refused_writes_per_report", each(by(operator), not(write.isEvent), write.isRefused))
		figure("events_per_report", each(by(operator), write.isEvent))
		figure("job_writes_per_report", each(by(jobController), not(write.isEvent)))
		figure("writes_ratio", each(by(operator), not(write.isEvent))/plainWrites)
		return err
	})
}

func (b *bench) runJob(ctx context.Context, job *batchv1.Job) error {
	if err := b.client.Create(ctx, job); err != nil {
		return err
	}
	return eventually(ctx, "Job "+job.Name+" is complete", func() (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(job), job)
		for _, condition := range job.Status.Conditions {
			if condition.Type == batchv1.JobComplete && condition.Status == corev1.ConditionTrue {
				return true, err
			}
		}
		return false, err
	})
}

// quiet counts what the operator writes while a report runs and nothing happens.
func (b *bench) quiet(ctx context.Context, o options) error {
	return b.withNamespace(ctx, "quiet", func(namespace string) error {
		rj := newReport(namespace, "quiet", "quiet", "exec sleep 3600")
		if err := b.client.Create(ctx, rj); err != nil {
			return err
		}
		if err := b.untilPhase(ctx, rj, v1alpha1.PhaseRunning); err != nil {
			return err
		}
		if _, err := settled(ctx, namespace); err != nil {
			return err
		}
		from := time.Now()
		select {
		case <-time.After(o.quiet):
		case <-ctx.Done():
			return ctx.Err()
		}
		all, err := readAudit(ctx)
		scale := float64(5*time.Minute) / float64(o.quiet)
		within := between(from, from.Add(o.quiet))
		figure("running_writes_per_5min", scale*count(all, within, by(operator), not(write.isEvent), not(write.isLease)))
		figure("running_events_per_5min", scale*count(all, within, by(operator), write.isEvent))
		figure("leader_election_writes_per_5min", scale*count(all, within, by(operator), write.isLease))
		return err
	})
}
