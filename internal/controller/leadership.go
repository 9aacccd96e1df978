package controller

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/leasehold-dev/leasehold/internal/lease/clock"
)

// The times of leader election, those of client-go's example. A candidate waits for one LeaderLeaseDuration after it saw the last
// renewal; the leader gives up when none succeeded for a LeaderRenewDeadline.
const (
	LeaderLeaseDuration = 15 * time.Second
	LeaderRenewDeadline = 10 * time.Second
	LeaderRetryPeriod   = 2 * time.Second
)

// Leadership is the lock of leader election, which also notes until when this process may act as the leader. Leader election by
// itself fences nothing: a process that was stopped and goes on learns only at its next renewal that another one leads, and acts
// until then on what it knew. The instant of the last renewal tells earlier.
//
//	renewal sent at t0, confirmed ──► may act until t0 + 4/5 of the lease duration
//	                                  another can lead from t0 + the lease duration on, or later: it counts from when it saw
//	                                  the renewal
//
// The rest is for the request that was checked and is on its way, and for clocks that do not run alike.
type Leadership struct {
	resourcelock.Interface
	clock *clock.Clock
	trust time.Duration

	mu        sync.Mutex
	leads     bool
	confirmed time.Duration // when the last confirmed renewal was sent, by the clock
}

// NewLeadership watches over a lock that is held for leaseDuration after each renewal.
func NewLeadership(lock resourcelock.Interface, leaseDuration time.Duration, c *clock.Clock) *Leadership {
	return &Leadership{Interface: lock, clock: c, trust: leaseDuration * 4 / 5}
}

// MayAct says whether this process is the only leader at this moment. A nil Leadership has no rivals.
func (l *Leadership) MayAct() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leads && l.clock.Elapsed()-l.confirmed < l.trust
}

// leadsUnconfirmed says that this process leads as far as it knows, and that this is not confirmed.
func (l *Leadership) leadsUnconfirmed() bool {
	if l == nil || l.MayAct() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leads
}

// Get reads who leads.
func (l *Leadership) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.resign()
	}
	return record, raw, err
}

// Create makes the lock.
func (l *Leadership) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update renews the lock, or gives it up.
func (l *Leadership) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l *Leadership) write(record resourcelock.LeaderElectionRecord, do func() error) error {
	if record.HolderIdentity != l.Identity() {
		l.resign()
		return do()
	}
	sent := l.clock.Elapsed()
	if err := do(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leads, l.confirmed = true, sent
	return nil
}

func (l *Leadership) resign() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leads = false
}

// namespaceFile is where a pod finds the name of its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// NewLeaderLock makes the Lease by which replicas elect their leader. An empty namespace is that of the pod.
func NewLeaderLock(config *rest.Config, namespace, name string) (resourcelock.Interface, error) {
	if namespace == "" {
		file, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, fmt.Errorf("in which namespace replicas elect their leader is unknown outside of a pod: name it: %w", err)
		}
		namespace = strings.TrimSpace(string(file))
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("this replica has no name for leader election: %w", err)
	}
	identity := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, name, identity, config, LeaderRenewDeadline)
}
