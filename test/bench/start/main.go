// Command start measures how long a report takes from kubectl apply to its pod running, beside a plain Job with the same
// pod on the same node, in turn and in one run. It prints one "name value" a line:
//
//	plain_start_ms_p50, plain_start_ms_p99           the plain Job, milliseconds
//	reportjob_start_ms_p50, reportjob_start_ms_p99   the ReportJob, milliseconds
//	start_added_ms_p50                               the median of the differences within each pair, milliseconds
//	start_ratio_p50, start_ratio_p99                 the quotients of the figures above
//
// make bench-start brings the cluster up and runs it.
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
)

func main() {
	runs := flag.Int("runs", 20, "pairs of starts to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench-start:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, runs int) error {
	deploy := exec.CommandContext(ctx, "hack/deploy-local")
	deploy.Stdout, deploy.Stderr = os.Stderr, os.Stderr
	if err := deploy.Run(); err != nil {
		return fmt.Errorf("hack/deploy-local: %w", err)
	}
	b, err := newBench(ctx)
	if err != nil {
		return err
	}
	plain, leased, err := b.pairs(ctx, runs)
	if err != nil {
		return err
	}
	printFigures(plain, leased)
	return b.cleanUp(context.WithoutCancel(ctx))
}

func printFigures(plain, leased []time.Duration) {
	added := make([]time.Duration, len(plain))
	for i := range plain {
		added[i] = leased[i] - plain[i]
	}
	for _, figure := range []struct {
		name  string
		value float64
	}{
		{"plain_start_ms_p50", millis(quantile(plain, 0.5))},
		{"plain_start_ms_p99", millis(quantile(plain, 0.99))},
		{"reportjob_start_ms_p50", millis(quantile(leased, 0.5))},
		{"reportjob_start_ms_p99", millis(quantile(leased, 0.99))},
		{"start_added_ms_p50", millis(quantile(added, 0.5))},
		{"start_ratio_p50", millis(quantile(leased, 0.5)) / millis(quantile(plain, 0.5))},
		{"start_ratio_p99", millis(quantile(leased, 0.99)) / millis(quantile(plain, 0.99))},
	} {
		fmt.Printf("%s %.3f\n", figure.name, figure.value)
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile returns the nearest-rank quantile: of 20 values the 0.99 one is the greatest.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(rank, 1), len(sorted))-1]
}
