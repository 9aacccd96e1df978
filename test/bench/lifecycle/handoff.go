package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// handoffScript is long enough for the next report to be waiting by the end. Its last line is the last thing that it does.
const handoffScript = "sleep 3; echo done"

// handoffs lets reports of one jobID follow each other, with one waiting at any time.
func (b *bench) handoffs(ctx context.Context, o options) error {
	return b.withNamespace(ctx, "handoff", func(namespace string) error {
		times, err := b.watchPods(ctx, namespace)
		if err != nil {
			return err
		}
		chain, err := b.chain(ctx, namespace, o.handoffs)
		if err != nil {
			return err
		}
		created, err := podsCreated(ctx, namespace)
		if err != nil {
			return err
		}
		if len(created) != len(chain) {
			return fmt.Errorf("%d pods were created for %d reports", len(created), len(chain))
		}
		var sinceEnd, sinceSeen []time.Duration
		for i, rj := range chain[:len(chain)-1] {
			_, seen, pod := times.of(rj.Name)
			ended, err := b.lastLine(ctx, namespace, pod)
			if err != nil {
				return err
			}
			sinceEnd = append(sinceEnd, created[i+1].Sub(ended))
			sinceSeen = append(sinceSeen, created[i+1].Sub(seen))
		}
		figure("handoff_to_next_pod_ms_p50", millis(quantile(sinceEnd, 0.5)))
		figure("handoff_to_next_pod_ms_p99", millis(quantile(sinceEnd, 0.99)))
		figure("handoff_after_seen_ms_p50", millis(quantile(sinceSeen, 0.5)))
		figure("handoff_after_seen_ms_p99", millis(quantile(sinceSeen, 0.99)))
		return nil
	})
}

// chain runs one report more than there are handoffs. Each is made when the one before it runs, and must be seen waiting.
func (b *bench) chain(ctx context.Context, namespace string, handoffs int) ([]*v1alpha1.ReportJob, error) {
	var chain []*v1alpha1.ReportJob
	for i := range handoffs + 1 {
		rj := newReport(namespace, fmt.Sprintf("handoff-%d", i), "handoff", handoffScript)
		if err := b.client.Create(ctx, rj); err != nil {
			return nil, err
		}
		if i > 0 {
			if err := b.untilPhase(ctx, rj, v1alpha1.PhaseWaiting); err != nil {
				return nil, err
			}
		}
		chain = append(chain, rj)
		if err := b.untilPhase(ctx, rj, v1alpha1.PhaseRunning); err != nil {
			return nil, err
		}
	}
	return chain, b.untilPhase(ctx, chain[handoffs], v1alpha1.PhaseSucceeded)
}

// podsCreated is when the API server answered each creation of a pod, in microseconds, where creationTimestamp has seconds.
func podsCreated(ctx context.Context, namespace string) ([]time.Time, error) {
	all, err := settled(ctx, namespace)
	var created []time.Time
	for _, w := range all {
		isPod := w.Verb == "create" && w.ObjectRef.Resource == "pods" && w.ObjectRef.Subresource == ""
		if isPod && w.ObjectRef.Namespace == namespace && w.User.Username == jobController && !w.isRefused() {
			created = append(created, w.StageTimestamp)
		}
	}
	return created, err
}

// lastLine is when the container runtime took the pod's last line, to the nanosecond and by this machine's clock.
func (b *bench) lastLine(ctx context.Context, namespace, pod string) (time.Time, error) {
	text, err := b.plain.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Timestamps: true}).DoRaw(ctx)
	if err != nil {
		return time.Time{}, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	stamp, _, _ := strings.Cut(lines[len(lines)-1], " ")
	return time.Parse(time.RFC3339Nano, stamp)
}
