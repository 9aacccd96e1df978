package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// client is a machine that runs one process at a time, which competes for every scope.
type client struct {
	workload
	proxy   *proxy
	history *history
	// gate is locked while the process is paused.
	gate    sync.RWMutex
	process atomic.Pointer[process]
}

// process is one life of a client. A killed process makes no more requests.
type process struct {
	store  *redis.Store
	killed chan struct{}
}

// live calls f with a context that ends when the process is killed.
func (p *process) live(ctx context.Context, f func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-p.killed:
		case <-ctx.Done():
		}
	}()
	f(ctx)
}

// start begins a process, and kills the one before.
func (c *client) start() {
	before := c.process.Swap(&process{redis.New(redis.Options{Address: c.proxy.address}), make(chan struct{})})
	if before != nil {
		close(before.killed)
		c.proxy.cut()
		_ = before.store.Close() // its connections are cut
	}
}

// pause stops the process, not its connections.
func (c *client) pause(ctx context.Context, d time.Duration) {
	go func() {
		c.gate.Lock()
		defer c.gate.Unlock()
		wait(ctx, d)
	}()
}

// passGate waits for the end of a pause.
func (c *client) passGate() {
	c.gate.RLock()
	defer c.gate.RUnlock()
}

// wait lets time pass, or returns false at the end of the context.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// records are what is known elsewhere: the highest confirmed token of each scope.
type records map[lease.Scope]*atomic.Uint64

func (r records) floor(scope lease.Scope) lease.Token { return lease.Token(r[scope].Load()) }

func (r records) raise(scope lease.Scope, token lease.Token) {
	for known := r[scope].Load(); uint64(token) > known; known = r[scope].Load() {
		if r[scope].CompareAndSwap(known, uint64(token)) {
			return
		}
	}
}

// worker is a client's part in one scope.
type worker struct {
	client  *client
	scope   lease.Scope
	records records
	random  *rand.Rand
}

// run competes for the scope until the context ends.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		p := w.client.process.Load()
		p.live(ctx, func(ctx context.Context) { w.attempt(ctx, p) })
		w.pace(ctx, 50*time.Millisecond, 400*time.Millisecond)
	}
}

// attempt is one execution of a report: a new owner asks for the lease.
func (w *worker) attempt(ctx context.Context, p *process) {
	owner := lease.Owner(fmt.Sprintf("%016x%016x", w.random.Uint64(), w.random.Uint64()))
	var e event
	w.request(ctx, p, func(ctx context.Context, r recorder) {
		e = r.acquire(ctx, lease.AcquireRequest{
			Scope: w.scope, Owner: owner, TTL: ttl, Floor: w.records.floor(w.scope), Longest: ttl,
		})
	})
	switch {
	case e.answer == ok:
		w.records.raise(w.scope, e.token)
		w.hold(ctx, p, lease.Term{Scope: w.scope, Owner: owner, Token: e.token})
	case e.answer == unknown && w.chance(75):
		w.insist(ctx, p, func(ctx context.Context, r recorder) event { return r.withdraw(ctx, w.scope, owner) })
	case w.chance(30):
		w.request(ctx, p, func(ctx context.Context, r recorder) { r.observe(ctx, w.scope) })
	}
}

// hold renews a lease for a while, and gives it back.
func (w *worker) hold(ctx context.Context, p *process, term lease.Term) {
	end := time.Now().Add(w.between(300*time.Millisecond, w.client.holds))
	for time.Now().Before(end) {
		w.pace(ctx, 200*time.Millisecond, 1500*time.Millisecond)
		if w.chance(w.client.pauses) {
			w.client.history.fault("pause of a report")
			w.pace(ctx, trusted, ttl+3*time.Second)
			if w.chance(50) {
				break // it resumes where it gives the lease back
			}
		}
		var e event
		w.request(ctx, p, func(ctx context.Context, r recorder) { e = r.renew(ctx, term) })
		if ctx.Err() != nil || e.answer == gone || e.answer == held {
			return
		}
	}
	if w.chance(w.client.vanishes) {
		w.client.history.fault("vanished report")
		return
	}
	w.insist(ctx, p, func(ctx context.Context, r recorder) event { return r.release(ctx, term) })
}

// insist repeats a request until something is known of it, a few times at most.
func (w *worker) insist(ctx context.Context, p *process, send func(context.Context, recorder) event) {
	for range 4 {
		var e event
		w.request(ctx, p, func(ctx context.Context, r recorder) { e = send(ctx, r) })
		if e.answer != unknown && e.answer != refused {
			return
		}
		w.pace(ctx, 20*time.Millisecond, 300*time.Millisecond)
	}
}

// request makes one request unless the process was killed, and not before its pause is over.
func (w *worker) request(ctx context.Context, p *process, send func(context.Context, recorder)) {
	w.client.passGate()
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.between(300*time.Millisecond, 1500*time.Millisecond))
	defer cancel()
	send(ctx, recorder{w.client.storeFor(w.scope, p.store), w.client.history})
}

func (w *worker) chance(percent int) bool { return w.random.IntN(100) < percent }

func (w *worker) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.random.Int64N(int64(most-least)))
}

// pace lets some time pass.
func (w *worker) pace(ctx context.Context, least, most time.Duration) {
	wait(ctx, w.between(least, most))
}
