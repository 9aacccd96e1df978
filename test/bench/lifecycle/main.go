// Command lifecycle counts what one report costs the API server, beside a plain Job with the same pod in the same run, and times
// how soon the next report starts. The counts are those of the API server's own audit log. It prints one "name value" a line:
//
//	writes_per_report, events_per_report           requests that write, by the operator, from apply to Succeeded; and its events
//	refused_writes_per_report                      those among them that the API server refused, such as conflicts
//	job_writes_per_report                          what the Job controller writes for the report's Job besides, events left out
//	writes_per_plain_job, events_per_plain_job     the same by the Job controller, for a plain Job
//	writes_ratio                                   writes_per_report over writes_per_plain_job
//	running_writes_per_5min                        by the operator while a report runs: 0, renewals go to Redis
//	running_events_per_5min                        its events meanwhile
//	leader_election_writes_per_5min                the operator's Lease, whatever runs
//	takeover_after_sigkill_s, _ratio               from SIGKILL of the report's process to the waiting report's container
//	                                               running, and that over leaseDuration + 2 s
//	takeover_after_deletion_s, _ratio              the same after the ReportJob was deleted; its report ignores SIGTERM
//	handoff_to_next_pod_ms_p50, _p99               from the last line of a report that ends by itself to the next pod's creation
//	handoff_after_seen_ms_p50, _p99                the same from when a watch shows that its container has ended
//
// make bench-lifecycle brings the cluster up and runs it.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// options are how much is measured.
type options struct {
	reports, takeovers, handoffs int
	quiet                        time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.reports, "reports", 10, "reports and plain Jobs whose writes are counted")
	flag.IntVar(&o.takeovers, "takeovers", 5, "takeovers of each kind")
	flag.IntVar(&o.handoffs, "handoffs", 20, "handoffs from one report to the next")
	flag.DurationVar(&o.quiet, "quiet", 5*time.Minute, "how long a running report is left alone")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-lifecycle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	deploy := exec.CommandContext(ctx, "hack/deploy-local")
	deploy.Stdout, deploy.Stderr = os.Stderr, os.Stderr
	if err := deploy.Run(); err != nil {
		return fmt.Errorf("hack/deploy-local: %w", err)
	}
	b, err := newBench(ctx)
	if err != nil {
		return err
	}
	for _, measure := range []func(context.Context, options) error{b.writes, b.takeovers, b.handoffs, b.quiet} {
		if err := measure(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// figure prints one figure.
func figure(name string, value float64) { fmt.Printf("%s %.3f\n", name, value) }

// quantile returns the nearest-rank quantile: of 20 values the 0.99 one is the greatest.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
