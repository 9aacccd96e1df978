package main

import (
	"flag"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/leasehold-dev/leasehold/internal/controller"
)

const (
	// defaultMaxStale lets reports run on through five minutes without an API server: the last look at a report may be a minute
	// old when they begin, and the next leader needs half a minute after them.
	defaultMaxStale = 7 * time.Minute
	// minMaxStale is twice the time between two looks at a running report.
	minMaxStale = 2 * time.Minute
)

// options are the flags, read and checked.
type options struct {
	redis          redisOptions
	kubeconfig     string
	leaderElect    bool
	leaderElectNS  string
	sharedKeys     string
	maxStale       time.Duration
	metricsAddress string
	healthAddress  string
	log            zap.Options
	showVersion    bool
}

// parse reads the arguments. What is wrong with them, or the help asked for, is written to stderr.
func parse(args []string, stderr io.Writer) (options, error) {
	// A stack trace says nothing about a Redis that is away; --zap-stacktrace-level=error brings them back.
	opts := options{log: zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder, StacktraceLevel: zapcore.PanicLevel}}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.SetOutput(stderr)
	opts.register(flags)
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if err := opts.validate(flags.Args()); err != nil {
		_, _ = fmt.Fprintf(stderr, "manager: %v\nmanager --help lists the flags\n", err)
		return options{}, err
	}
	return opts, nil
}

func (o *options) register(flags *flag.FlagSet) {
	o.redis.register(flags)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"kubeconfig file; empty for $KUBECONFIG, the service account of the pod, or ~/.kube/config, in this order")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "run only as the leader among the replicas")
	flags.StringVar(&o.leaderElectNS, "leader-election-namespace", "",
		"namespace of the Lease by which the leader is elected; empty for the one the manager runs in")
	flags.StringVar(&o.sharedKeys, "shared-lease-keys", "",
		"which spec.leaseKey may be used where: comma-separated namespace/key, with * and ? as in file names; empty for none")
	flags.DurationVar(&o.maxStale, "max-stale-evidence", defaultMaxStale,
		"how long a lease is renewed without a word from the API server about its report; at least 2m")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "address of /metrics, plain HTTP; 0 for none")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	flags.BoolVar(&o.showVersion, "version", false, "print the version and end")
	o.log.BindFlags(flags)
}

func (o *options) validate(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected arguments %q: the manager takes flags only", rest)
	}
	if o.maxStale < minMaxStale {
		return fmt.Errorf("--max-stale-evidence is %s; a running report is looked at once a minute, so it needs at least %s",
			o.maxStale, minMaxStale)
	}
	if _, err := controller.ParseSharedLeaseKeys(o.sharedKeys); err != nil {
		return fmt.Errorf("--shared-lease-keys: %w", err)
	}
	return o.redis.validate()
}
