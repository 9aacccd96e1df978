package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
)

// client is one pool of connections. Renewals have one of their own, so that a rush of other requests cannot delay them.
type client struct {
	address string
	rdb     goredis.UniversalClient
	conns   *connections
	nonces  nonces
	// shifted counts replies that belonged to another request.
	shifted *atomic.Uint64
}

func newClient(options Options) *client {
	conns := newConnections(options.dial)
	rdb := options.connect(conns)
	if cluster, is := rdb.(*goredis.ClusterClient); is {
		// The library reads the map of slots anew after a redirect, and else now and then: a node that is gone redirects nobody.
		conns.whenLost(func(ctx context.Context) { cluster.ReloadState(ctx) })
	}
	return &client{
		address: options.name(),
		rdb:     rdb,
		conns:   conns,
		nonces:  newNonces(),
		shifted: &atomic.Uint64{},
	}
}

// nonces numbers requests. The prefix keeps two processes, or two pools, from expecting the same one.
type nonces struct {
	prefix string
	last   *atomic.Uint64
}

func newNonces() nonces {
	var prefix [4]byte
	_, _ = rand.Read(prefix[:]) // never fails: it ends the program instead
	return nonces{prefix: hex.EncodeToString(prefix[:]), last: &atomic.Uint64{}}
}

func (n nonces) next() string { return n.prefix + strconv.FormatUint(n.last.Add(1), 36) }

// errShifted marks a reply that belongs to another request.
var errShifted = errors.New("the reply belongs to another request: the connection is out of step and was dropped")

// answer is the reply to one question, without its nonce, or the error in its place.
type answer struct {
	text string
	err  error
}

// ask runs one script once. A question that met an empty script cache is asked once more, with the source: the server certainly
// did not run it.
func (c *client) ask(ctx context.Context, s script, q question) (string, error) {
	a := c.exchange(ctx, s, []question{q}, false)[0]
	if a.err != nil && isNoScript(a.err) {
		q.nonce = c.nonces.next()
		a = c.exchange(ctx, s, []question{q}, true)[0]
	}
	return a.text, a.err
}

// exchange sends one pipeline and reads its replies; load sends the script's source with the first question, and in a Cluster,
// where each node has a cache of its own, with each.
func (c *client) exchange(ctx context.Context, s script, questions []question, load bool) []answer {
	pipe := c.rdb.Pipeline()
	calls := make([]call, len(questions))
	for i, q := range questions {
		calls[i] = s.newCall(ctx, q, load && (i == 0 || c.isCluster()))
		_ = pipe.Process(ctx, calls[i]) // queues; errors come with Exec
	}
	_, pipeErr := pipe.Exec(ctx)
	answers := make([]answer, len(questions))
	for i, q := range questions {
		answers[i] = read(calls[i], q.nonce, pipeErr)
	}
	c.finish(ctx, answers)
	return answers
}

// finish drops the connections if an answer shows that they are useless, and classifies every error but an empty script
// cache, which is for the caller to mend.
func (c *client) finish(ctx context.Context, answers []answer) {
	useless := func(a answer) bool { return errors.Is(a.err, errShifted) || isDemoted(a.err) }
	if slices.ContainsFunc(answers, useless) {
		c.conns.drop()
	}
	if slices.ContainsFunc(answers, func(a answer) bool { return isElsewhere(a.err) }) {
		c.conns.lost(ctx)
	}
	for i := range answers {
		if errors.Is(answers[i].err, errShifted) {
			c.shifted.Add(1)
		}
		if err := answers[i].err; err != nil && !isNoScript(err) {
			answers[i].err = classify(c.address, err)
		}
	}
}

// isElsewhere recognizes a node that does not have the slot, or not yet. The library follows such a redirect, unless a node was
// asked directly.
func isElsewhere(err error) bool {
	return isReply(err) && containsAny(err.Error(), "MOVED ", "CLUSTERDOWN")
}

// read takes the reply of one call and checks its nonce. A call that the pipeline never got to carries the pipeline's error.
func read(c call, nonce string, pipeErr error) answer {
	value, err := c.Result()
	if err == nil && value == nil {
		err = pipeErr
	}
	if err != nil && !errors.Is(err, goredis.Nil) {
		return answer{err: err}
	}
	// Every script answers a text. Any other kind of reply is another request's.
	text, _ := value.(string)
	got, rest, _ := strings.Cut(text, "|")
	if got != nonce {
		return answer{err: errShifted}
	}
	return answer{text: rest}
}
