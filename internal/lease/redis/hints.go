package redis

import (
	"context"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// mostListeners bounds the connections to a Cluster, where each scope has one of its own, as its slot may move. Scopes beyond it
// get no hints.
const mostListeners = 64

// Hints listens for releases, on connections of its own. It is a lease.Hints.
//
// A single Redis, or a primary behind Sentinels, has one connection for all scopes; in a Cluster each has its own, up to 64. A
// connection that is silent is asked for a sign of life. One that broke is made anew, and so is one whose slot has moved.
type Hints struct {
	rdb     goredis.UniversalClient
	cluster bool

	mu      sync.Mutex
	watched map[lease.Scope]struct{}
	changed chan struct{} // holds one signal: watched is another than it was
}

var _ lease.Hints = (*Hints)(nil)

// NewHints makes the subscription; it connects when it runs. Close it after use.
func NewHints(options Options) *Hints {
	quiet()
	rdb := options.connect(newConnections(options.dial))
	_, cluster := rdb.(*goredis.ClusterClient)
	return &Hints{rdb: rdb, cluster: cluster, watched: map[lease.Scope]struct{}{}, changed: make(chan struct{}, 1)}
}

// Close closes all connections.
func (h *Hints) Close() error { return h.rdb.Close() }

// Watch is lease.Hints's.
func (h *Hints) Watch(scope lease.Scope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.watched[scope]; !known {
		h.watched[scope] = struct{}{}
		h.signal()
	}
}

// Unwatch is lease.Hints's.
func (h *Hints) Unwatch(scope lease.Scope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.watched[scope]; known {
		delete(h.watched, scope)
		h.signal()
	}
}

func (h *Hints) signal() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Run is lease.Hints's.
func (h *Hints) Run(ctx context.Context, hint func(lease.Scope)) error {
	listeners := map[lease.Scope]*listener{} // by group
	var work sync.WaitGroup
	defer work.Wait()
	for {
		groups := h.groups()
		for group, l := range listeners {
			if groups[group] == nil {
				l.end()
				delete(listeners, group)
			}
		}
		for group, scopes := range groups {
			if listeners[group] == nil && len(listeners) < mostListeners {
				l := newListener(h.rdb, hint)
				listeners[group] = l
				work.Go(func() { l.run(ctx) })
			}
			if l := listeners[group]; l != nil {
				l.want(scopes)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.changed:
		}
	}
}

// groups sorts the watched scopes by the connection they are listened for on: all on one, or in a Cluster each on its own.
func (h *Hints) groups() map[lease.Scope]map[lease.Scope]struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	groups := map[lease.Scope]map[lease.Scope]struct{}{}
	for scope := range h.watched {
		group := lease.Scope("")
		if h.cluster {
			group = scope
		}
		if groups[group] == nil {
			groups[group] = map[lease.Scope]struct{}{}
		}
		groups[group][scope] = struct{}{}
	}
	return groups
}
