// Command lease measures the lease core: renewals per second beside the server's ceiling and other lock libraries, what 100,000
// held leases cost and how late the latest renewal is, and how long a release takes to become a grant in another process.
//
// It prints one "name value" a line. Each ratio is between two things measured in turn, several times over, in one run, on
// servers that it starts on loopback and ends itself. Goals stand in docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// plan says how much is measured.
type plan struct {
	rounds   int           // of each comparison
	slice    time.Duration // for which one side of a comparison runs
	leases   int           // that are renewed in a comparison
	held     []int         // how many leases are held in the measurements of lateness
	interval time.Duration // of their renewals
	handoffs int
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == waiterCommand {
		os.Exit(waiterMain(os.Args[2:]))
	}
	quick := flag.Bool("quick", false, "measure little: a smoke test of about 30 s")
	only := flag.String("only", "", "comma-separated: renew, held, delay, handoff; empty for all")
	flag.Parse()
	p := plan{rounds: 5, slice: 2 * time.Second, leases: 10_000, handoffs: 300}
	p.held, p.interval = []int{10_000, 100_000}, 10*time.Second
	if *quick {
		p = plan{rounds: 1, slice: time.Second, leases: 10_000, held: []int{10_000}, interval: 5 * time.Second, handoffs: 20}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, p, strings.Split(*only, ",")); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, p plan, only []string) error {
	for _, part := range []struct {
		name    string
		measure func(context.Context, plan) error
	}{{"renew", measureRenewals}, {"held", measureHeld}, {"delay", measureDelay}, {"handoff", measureHandoff}} {
		if only[0] != "" && !slices.Contains(only, part.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", part.name)
		if err := part.measure(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

func report(name string, value float64) { fmt.Printf("%s %.4g\n", name, value) }

// median returns the middle of the values.
func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns the value below which the fraction lies.
func quantile(values []float64, fraction float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(fraction*float64(len(sorted))), len(sorted)-1)]
}
