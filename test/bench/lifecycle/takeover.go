package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// leaseDuration is the default of a ReportJob, and the bound is what a takeover may take at most: a lease that nobody gives back
// runs out, and who waits asks again soon after.
const (
	leaseDuration = 30 * time.Second
	takeoverBound = leaseDuration + 2*time.Second
)

// takeovers times how soon a waiting report runs when the one before it is gone.
func (b *bench) takeovers(ctx context.Context, o options) error {
	for what, end := range map[string]func(context.Context, *v1alpha1.ReportJob) error{
		"sigkill":  b.killReport,
		"deletion": func(ctx context.Context, rj *v1alpha1.ReportJob) error { return b.client.Delete(ctx, rj) },
	} {
		var took []time.Duration
		err := b.withNamespace(ctx, what, func(namespace string) error {
			times, err := b.watchPods(ctx, namespace)
			if err != nil {
				return err
			}
			for i := range o.takeovers {
				d, err := b.takeover(ctx, takeover{namespace, fmt.Sprint(i), times, end})
				if err != nil {
					return err
				}
				took = append(took, d)
			}
			return nil
		})
		if err != nil {
			return err
		}
		median := quantile(took, 0.5)
		figure("takeover_after_"+what+"_s", median.Seconds())
		figure("takeover_after_"+what+"_ratio", median.Seconds()/takeoverBound.Seconds())
	}
	return nil
}

// takeover is one run: where, which, and how the first report comes to its end.
type takeover struct {
	namespace, run string
	times          *podTimes
	end            func(context.Context, *v1alpha1.ReportJob) error
}

func (b *bench) takeover(ctx context.Context, t takeover) (time.Duration, error) {
	jobID := "takeover-" + t.run
	// A process that is the first of its container and handles no signal does not hear SIGTERM.
	first := newReport(t.namespace, "first-"+t.run, jobID, "exec sleep 3600")
	next := newReport(t.namespace, "next-"+t.run, jobID, quickScript)
	if err := b.client.Create(ctx, first); err != nil {
		return 0, err
	}
	if err := b.untilPhase(ctx, first, v1alpha1.PhaseRunning); err != nil {
		return 0, err
	}
	if err := b.client.Create(ctx, next); err != nil {
		return 0, err
	}
	if err := b.untilPhase(ctx, next, v1alpha1.PhaseWaiting); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := t.end(ctx, first); err != nil {
		return 0, err
	}
	var running time.Time
	err := eventually(ctx, next.Name+" runs", func() (bool, error) {
		running, _, _ = t.times.of(next.Name)
		return !running.IsZero(), nil
	})
	if err != nil {
		return 0, err
	}
	return running.Sub(begun), b.untilPhase(ctx, next, v1alpha1.PhaseSucceeded)
}

// killReport kills the report's process through the container runtime, behind Kubernetes's back.
func (b *bench) killReport(ctx context.Context, rj *v1alpha1.ReportJob) error {
	var pod corev1.Pod
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: rj.Namespace, Name: rj.Status.Execution.Pod}, &pod); err != nil {
		return err
	}
	if len(pod.Status.ContainerStatuses) == 0 {
		return errors.New("pod " + pod.Name + " shows no container")
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	out, err := exec.CommandContext(ctx, "hack/cluster/cluster", "ctr", "tasks", "kill", "-s", "SIGKILL", id).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr tasks kill %s: %w\n%s", id, err, out)
	}
	return nil
}
