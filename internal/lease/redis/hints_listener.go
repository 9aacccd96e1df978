package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

const (
	// minRelisten and maxRelisten are between two attempts to listen.
	minRelisten = 100 * time.Millisecond
	maxRelisten = 2 * time.Second
	// aliveInterval is how long a connection may be silent before it is asked for a sign of life, and how long that may take.
	aliveInterval = 2 * time.Second
)

// listener listens on one connection.
type listener struct {
	rdb  goredis.UniversalClient
	hint func(lease.Scope)
	over chan struct{}

	mu     sync.Mutex
	wanted map[lease.Scope]struct{}
	wake   chan struct{} // holds one signal: wanted is another than it was
}

func newListener(rdb goredis.UniversalClient, hint func(lease.Scope)) *listener {
	return &listener{rdb: rdb, hint: hint, over: make(chan struct{}), wake: make(chan struct{}, 1)}
}

func (l *listener) end() { close(l.over) }

// want says what to listen for from now on.
func (l *listener) want(scopes map[lease.Scope]struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted = scopes
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run listens until it is over, and begins again when it cannot.
func (l *listener) run(ctx context.Context) {
	pause := minRelisten
	for {
		begun := time.Now()
		if err := l.listen(ctx); errors.Is(err, errOver) {
			return
		}
		if time.Since(begun) > 2*maxRelisten {
			pause = minRelisten
		}
		if !l.pause(ctx, pause/2+rand.N(pause/2)) {
			return
		}
		pause = min(2*pause, maxRelisten)
	}
}

// pause waits; it returns false when it is over.
func (l *listener) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-l.over:
		return false
	case <-timer.C:
		return true
	}
}

var (
	errOver  = errors.New("nobody listens any more")
	errMoved = errors.New("another server keeps the scope now")
)

// subscription is one connection that listens, and what it listens for.
type subscription struct {
	*goredis.PubSub
	channels map[string]struct{}
	events   chan any
	failed   chan error
}

// listen opens a subscription to all that is wanted, and follows it until it fails.
func (l *listener) listen(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if cluster, ok := l.rdb.(*goredis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
	s := subscription{channels: map[string]struct{}{}, events: make(chan any), failed: make(chan error, 2)}
	added, _ := l.difference(s.channels)
	keeper, _ := l.keeper(ctx)
	s.PubSub = l.rdb.SSubscribe(ctx, added...)
	var work sync.WaitGroup
	defer func() {
		cancel()      // receive may wait for somebody to take an event
		_ = s.Close() // or for the server
		work.Wait()
	}()
	work.Go(func() { s.failed <- s.receive(ctx) })
	work.Go(func() { s.failed <- l.stay(ctx, keeper) })
	return l.follow(ctx, s)
}

// stay fails when another server keeps the scopes than when listening began. A primary that was replaced goes on answering, and
// only those who ask Sentinel, or a Cluster for its map, hear of its successor.
func (l *listener) stay(ctx context.Context, keeper string) error {
	looks := time.NewTicker(aliveInterval)
	defer looks.Stop()
	for {
		select {
		case <-ctx.Done():
			return errOver
		case <-looks.C:
		}
		if now, err := l.keeper(ctx); err == nil && now != keeper {
			return errMoved
		}
	}
}

// keeper names the server that keeps the scopes: by its address in a Cluster, and else by its run id, on another connection than
// the one that listens. It is empty for a server that does not tell.
func (l *listener) keeper(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	cluster, is := l.rdb.(*goredis.ClusterClient)
	if !is {
		text, err := l.rdb.Info(ctx, "server").Result()
		return parseInfo(text)["run_id"], err
	}
	rdb, err := cluster.MasterForKey(ctx, l.anyChannel())
	if err != nil {
		return "", err
	}
	return rdb.Options().Addr, nil
}

// anyChannel is one of the wanted channels; in a Cluster there is only one.
func (l *listener) anyChannel() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for scope := range l.wanted {
		return scope.ReleasedChannel()
	}
	return ""
}

func (l *listener) follow(ctx context.Context, s subscription) error {
	for {
		var err error
		select {
		case <-ctx.Done():
			err = errOver
		case <-l.over:
			err = errOver
		case err = <-s.failed:
		case <-l.wake:
			err = l.apply(ctx, s)
		case event := <-s.events:
			err = l.tell(event, s.channels)
		}
		if err != nil {
			return err
		}
	}
}

// receive passes on what the server sends, and fails when it is silent for too long.
func (s subscription) receive(ctx context.Context) error {
	asked := false
	for {
		event, err := s.ReceiveTimeout(ctx, aliveInterval)
		if silence, ok := errors.AsType[net.Error](err); ok && silence.Timeout() && !asked {
			asked = true
			if err = s.Ping(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		asked = false
		select {
		case s.events <- event:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// difference returns the channels that are to be subscribed to, and no longer to be.
func (l *listener) difference(channels map[string]struct{}) (added, removed []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for scope := range l.wanted {
		channel := scope.ReleasedChannel()
		if _, known := channels[channel]; !known {
			channels[channel] = struct{}{}
			added = append(added, channel)
		}
	}
	for channel := range channels {
		if _, still := l.wanted[scopeOfChannel(channel)]; !still {
			delete(channels, channel)
			removed = append(removed, channel)
		}
	}
	return added, removed
}

// apply subscribes to what has become wanted, and ends what is not any more.
func (l *listener) apply(ctx context.Context, s subscription) error {
	added, removed := l.difference(s.channels)
	var errs []error
	if len(added) > 0 {
		errs = append(errs, s.SSubscribe(ctx, added...))
	}
	if len(removed) > 0 {
		errs = append(errs, s.SUnsubscribe(ctx, removed...))
	}
	return errors.Join(errs...)
}

// tell hints at what the server said. A subscription that has begun is a hint as well: what was released before was not heard.
func (l *listener) tell(event any, channels map[string]struct{}) error {
	channel := ""
	switch e := event.(type) {
	case *goredis.Message:
		channel = e.Channel
	case *goredis.Subscription:
		if _, wanted := channels[e.Channel]; wanted && e.Kind == "sunsubscribe" {
			return errMoved
		}
		if e.Kind == "ssubscribe" {
			channel = e.Channel
		}
	}
	if _, wanted := channels[channel]; wanted {
		l.hint(scopeOfChannel(channel))
	}
	return nil
}

// scopeOfChannel takes the scope out of the name of its channel.
func scopeOfChannel(channel string) lease.Scope {
	_, rest, _ := strings.Cut(channel, "{")
	scope, _, _ := strings.Cut(rest, "}")
	return lease.Scope(scope)
}
