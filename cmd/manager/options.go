package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"

	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// options are the flags, read and checked.
type options struct {
	redis          redisOptions
	kubeconfig     string
	leaderElect    bool
	leaderElectNS  string
	metricsAddress string
	healthAddress  string
	log            zap.Options
	showVersion    bool
}

// redisOptions say where Redis is and how to enter. The password is never a flag: arguments are public on a machine.
type redisOptions struct {
	address      string
	username     string
	passwordFile string
	tls          bool
	db           int
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
	flags.StringVar(&o.redis.address, "redis-address", "redis.leasehold-system.svc:6379",
		"host:port of the Redis that holds the leases")
	flags.StringVar(&o.redis.username, "redis-username", "", "ACL user in Redis; empty for the default user")
	flags.StringVar(&o.redis.passwordFile, "redis-password-file", "",
		"file with the password for Redis; a missing or empty file means none")
	flags.BoolVar(&o.redis.tls, "redis-tls", false, "speak TLS with Redis and check its certificate against the system's roots")
	flags.IntVar(&o.redis.db, "redis-db", 0, "number of the database in Redis; every program that shares the leases uses the same")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"kubeconfig file; empty for $KUBECONFIG, the service account of the pod, or ~/.kube/config, in this order")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "run only as the leader among the replicas")
	flags.StringVar(&o.leaderElectNS, "leader-election-namespace", "",
		"namespace of the Lease by which the leader is elected; empty for the one the manager runs in")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "address of /metrics, plain HTTP; 0 for none")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	flags.BoolVar(&o.showVersion, "version", false, "print the version and end")
	o.log.BindFlags(flags)
}

func (o *options) validate(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected arguments %q: the manager takes flags only", rest)
	}
	if _, _, err := net.SplitHostPort(o.redis.address); err != nil {
		return fmt.Errorf("--redis-address %q is not host:port: %w", o.redis.address, err)
	}
	if o.redis.db < 0 {
		return fmt.Errorf("--redis-db %d is below 0", o.redis.db)
	}
	if o.redis.username != "" && o.redis.passwordFile == "" {
		return errors.New("--redis-username needs --redis-password-file")
	}
	return nil
}
