package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// renewBatch is a pipeline of renewals. Renewals are by far the most frequent requests, and all of one form, so their commands,
// arguments, nonces and the room for their replies are used again: a renewal allocates nothing of its own.
type renewBatch struct {
	client  *client
	calls   []*renewCall
	cmds    []goredis.Cmder
	answers []answer
}

const (
	// mostSpares is how many batches are kept for later: twice as many as an engine has on its way.
	mostSpares = 8
	// longestSpare is the size beyond which a batch is not kept, in renewals.
	longestSpare = 256
)

// spares holds the batches that nobody uses at present.
var spares = make(chan *renewBatch, mostSpares)

func spareBatch() *renewBatch {
	select {
	case b := <-spares:
		return b
	default:
		return &renewBatch{}
	}
}

// newRenewBatch prepares the commands.
func (c *client) newRenewBatch(ctx context.Context, renewals []*lease.Renewal) *renewBatch {
	b := spareBatch()
	b.client = c
	for len(b.calls) < len(renewals) {
		b.calls = append(b.calls, newRenewCall(ctx))
	}
	b.cmds, b.answers = b.cmds[:0], b.answers[:0]
	_, single := any(c.rdb).(*goredis.Client)
	last := c.nonces.last.Add(uint64(len(renewals)))
	for i, r := range renewals {
		call := b.calls[i]
		if !single {
			call.renew(ctx)
		}
		call.prepare(r, c.nonces.prefix, last-uint64(i))
		b.cmds = append(b.cmds, call.cmd)
	}
	return b
}

// done gives the batch back. Nothing of it may be used any more.
func (b *renewBatch) done() {
	for _, call := range b.calls[:len(b.cmds)] {
		call.forget()
	}
	clear(b.cmds)
	clear(b.answers)
	b.client = nil
	if len(b.calls) > longestSpare {
		return
	}
	select {
	case spares <- b:
	default:
	}
}

// exchange sends the pipeline and reads its replies. An empty script cache is left to the caller; all other errors are
// classified.
func (b *renewBatch) exchange(ctx context.Context) []answer {
	pipe := b.client.rdb.Pipeline()
	_ = pipe.BatchProcess(ctx, b.cmds...) // queues; errors come with Exec
	_, pipeErr := pipe.Exec(ctx)
	failed := false
	for i := range b.cmds {
		a := b.calls[i].read(pipeErr)
		b.answers = append(b.answers, a)
		failed = failed || a.err != nil
	}
	if failed {
		b.client.finish(ctx, b.answers)
	}
	return b.answers
}

const (
	// longestReply is longer than any answer of renew.lua: a nonce, "|other|" and 128 bytes, and CRLF. What is longer comes from
	// elsewhere.
	longestReply = 192
	// nonceDigits are enough for 64 bits in base 32.
	nonceDigits = 13
	digits      = "0123456789abcdefghijklmnopqrstuv"
	// unread marks a command whose reply was never come to.
	unread = -1
)

// renewCall is one EVALSHA of renew.lua. The library's command reads the reply into room of ours, and forbids every retry.
type renewCall struct {
	cmd   *goredis.ZeroCopyStringCmd
	args  []any
	nonce []byte
	reply []byte
}

// The places of the arguments that differ from renewal to renewal.
const (
	keyArg    = 3
	nonceArg  = 4
	valueArg  = 5
	millisArg = 6
)

func newRenewCall(ctx context.Context) *renewCall {
	c := &renewCall{reply: make([]byte, longestReply)}
	c.args = []any{"evalsha", renewScript.sha, renewScript.keys, nil, nil, nil, nil}
	c.renew(ctx)
	return c
}

// renew makes a new command. A cluster's client remembers in a command which slot it goes to, so there a command serves once.
func (c *renewCall) renew(ctx context.Context) {
	c.cmd = goredis.NewZeroCopyStringCmd(ctx, c.reply, c.args...)
	c.cmd.SetFirstKeyPos(keyArg)
}

// prepare fills in what is renewed. Pointers are written as what they point to, and need no room of their own.
func (c *renewCall) prepare(r *lease.Renewal, prefix string, number uint64) {
	if len(c.nonce) != len(prefix)+nonceDigits {
		c.nonce = make([]byte, len(prefix)+nonceDigits)
		c.args[nonceArg] = c.nonce
	}
	copy(c.nonce, prefix)
	for i := len(c.nonce) - 1; i >= len(prefix); i-- {
		c.nonce[i] = digits[number%uint64(len(digits))]
		number /= uint64(len(digits))
	}
	c.args[keyArg], c.args[valueArg], c.args[millisArg] = &r.Key, &r.Value, &r.Millis
	c.cmd.SetErr(nil)
	c.cmd.SetVal(unread)
}

// forget lets go of the renewal.
func (c *renewCall) forget() { c.args[keyArg], c.args[valueArg], c.args[millisArg] = nil, nil, nil }

// read takes the reply and checks its nonce. A call that the pipeline never got to carries the pipeline's error.
func (c *renewCall) read(pipeErr error) answer {
	n, err := c.cmd.Result()
	if err == nil && n == unread {
		err = pipeErr
	}
	switch {
	case err != nil && isForeign(err):
		return answer{err: fmt.Errorf("%w (%w)", errShifted, err)}
	case err != nil && !errors.Is(err, goredis.Nil):
		return answer{err: err}
	}
	return c.own(c.reply[:max(n, 0)])
}

// own is the answer in a reply, if it begins with the nonce.
func (c *renewCall) own(reply []byte) answer {
	rest, ours := bytes.CutPrefix(reply, c.nonce)
	switch {
	case !ours || len(rest) == 0 || rest[0] != '|':
		return answer{err: errShifted}
	case string(rest[1:]) == "ok":
		return answer{text: "ok"} // as most are: a constant needs no room
	}
	return answer{text: string(rest[1:])}
}

// isForeign recognizes replies that no script of ours gives: of another kind, or longer. The library has no name for them.
func isForeign(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "redis: can't parse reply") || strings.HasPrefix(text, "redis: buffer too small") ||
		strings.HasPrefix(text, "redis: invalid reply")
}
