package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/controller"
	leaseclock "github.com/leasehold-dev/leasehold/internal/lease/clock"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

const (
	// leaderElectionID names the Lease of the leader.
	leaderElectionID = "controller-manager.leasehold.dev"
	// probeInterval is how often Redis is asked for the metric.
	probeInterval = 5 * time.Second
	// fitnessInterval is how often Redis is tested, as often as the store does it for a lease that is asked for.
	fitnessInterval = time.Minute
	// shutdownTimeout bounds the wait for what is under way at the end; it fits into the grace period of the Deployment.
	shutdownTimeout = 5 * time.Second
)

// run builds the manager and serves until the context ends.
func run(ctx context.Context, opts options) error {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&opts.log)))
	log := ctrl.Log.WithName("manager")
	log.Info("starting", "version", version, "redis", opts.redis.addresses)
	ticking := leaseclock.New(leaseclock.System)
	mgr, leadership, err := newManager(opts, ticking)
	if err != nil {
		return err
	}
	store, hints := redis.New(opts.redis.store()), redis.NewHints(opts.redis.store())
	defer func() {
		if err := errors.Join(store.Close(), hints.Close()); err != nil {
			log.Error(err, "close the connections to Redis")
		}
	}()
	parts := parts{store: store, hints: hints, leadership: leadership, clock: ticking, maxSilence: opts.maxStale}
	if parts.sharedKeys, err = controller.ParseSharedLeaseKeys(opts.sharedKeys); err != nil {
		return err
	}
	if err := parts.assemble(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newManager makes the manager, and its leadership; that is nil if no leader is elected.
func newManager(opts options, ticking *leaseclock.Clock) (manager.Manager, *controller.Leadership, error) {
	config, err := restConfig(opts.kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("no way to the API server (in a pod there is one; elsewhere give --kubeconfig): %w", err)
	}
	managed := ctrl.Options{
		Scheme:                  runtime.NewScheme(),
		Metrics:                 metricsserver.Options{BindAddress: opts.metricsAddress},
		HealthProbeBindAddress:  opts.healthAddress,
		GracefulShutdownTimeout: new(shutdownTimeout),
	}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(managed.Scheme); err != nil {
			return nil, nil, err
		}
	}
	if managed.Cache, err = controller.CacheOptions(); err != nil {
		return nil, nil, err
	}
	var leadership *controller.Leadership
	if opts.leaderElect {
		lock, err := controller.NewLeaderLock(config, opts.leaderElectNS, leaderElectionID)
		if err != nil {
			return nil, nil, err
		}
		// The manager itself elects nobody: it would end with its leadership, and with it the renewals.
		leadership = controller.NewLeadership(lock, controller.LeaderLeaseDuration, ticking)
	}
	mgr, err := ctrl.NewManager(config, managed)
	return mgr, leadership, err
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		return ctrl.GetConfig()
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// The API server's own fairness bounds the operator; the client's default of 5 requests a second would delay stops.
	config.QPS = -1
	return config, nil
}

// parts are what the operator is assembled from.
type parts struct {
	store      *redis.Store
	hints      *redis.Hints
	leadership *controller.Leadership
	clock      *leaseclock.Clock
	sharedKeys controller.SharedLeaseKeys
	maxSilence time.Duration
}

// assemble puts the operator's parts into the manager. None of them needs Redis to be there.
func (p parts) assemble(ctx context.Context, mgr manager.Manager) error {
	signals := &controller.Signals{}
	measures := controller.NewMetrics(metrics.Registry, version)
	renewals := ctrl.Log.WithName("renewals")
	engine := renewal.New(renewal.Options{
		Store: p.store, Notify: signals.Changed, Observe: measures.Renewed, Clock: p.clock, MaxSilence: p.maxSilence,
		Report: func(err error) { renewals.Error(err, "a renewal went wrong in a way it must not; the others go on") },
	})
	if err := metrics.Registry.Register(controller.NewLeaseCollector(engine)); err != nil {
		return err
	}
	reconciler := &controller.ReportJobReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
		Store: p.store, Leases: engine, Leadership: p.leadership, Hints: p.hints,
		SharedLeaseKeys: p.sharedKeys,
		Recorder:        mgr.GetEventRecorder("leasehold"),
		Metrics:         measures,
		Log:             ctrl.Log.WithName("transition"),
		Clock:           clock.RealClock{}, Random: rand.Reader, Jitter: controller.Spread(mathrand.Float64),
	}
	if err := reconciler.SetupWithManager(ctx, mgr, signals); err != nil {
		return err
	}
	probe := &controller.StoreProbe{Store: p.store, Metrics: measures, Log: ctrl.Log.WithName("store"), Every: probeInterval}
	fit := &fitness{test: p.store.SelfTest, log: ctrl.Log.WithName("store"), every: fitnessInterval, told: map[string]string{}}
	for _, runnable := range []manager.Runnable{manager.RunnableFunc(engine.Run), probe, fit} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	return addChecks(mgr)
}

// addChecks says that the process lives and serves. Whether Redis answers is no part of it: without Redis the operator is
// needed to say so and to stop reports, and a restart mends nothing.
func addChecks(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("ping", healthz.Ping)
}
