package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

const (
	// scratchTTL is how long what a self-test leaves behind lives if its clean-up does not come through, in ms.
	scratchTTL = 10_000
	// latest is the end of a window that never closes, in ms since 1970.
	latest = int64(lease.MaxToken)
)

// node is one server that grants leases.
type node struct {
	address string
	rdb     *goredis.Client
	// draw draws a scope for a self-test, in one of the node's slots; scratch is the one that was drawn.
	draw    func(context.Context) lease.Scope
	scratch lease.Scope
	cluster bool
	user    string
	nonces  nonces
}

// newScratch draws a scope that nobody uses.
func newScratch() lease.Scope {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // never fails: it ends the program instead
	return lease.ScopeFor(scratchNamespace, hex.EncodeToString(bits[:]))
}

// test finds out whether the node is fit to keep leases. An error says that it could not be found out.
func (n node) test(ctx context.Context, before NodeReport) (NodeReport, error) {
	n.scratch = n.draw(ctx)
	report := NodeReport{Address: n.address, At: time.Now()}
	pipe := n.rdb.Pipeline()
	info := pipe.Info(ctx)
	save := pipe.ConfigGet(ctx, "save")
	_, _ = pipe.Exec(ctx) // each command has its own error
	switch err := info.Err(); {
	case err == nil:
		report.read(parseInfo(info.Val()), n, before, save)
	case isDemoted(err):
		report.Findings = []Finding{replicaFinding(err)}
	case !lacks(err) && !missesCommand(err):
		return report, n.inconclusive(err)
	}
	if report.fatal() {
		return report, nil // no script would say more
	}
	wrong, err := n.tryScripts(ctx)
	if err != nil {
		return report, err
	}
	report.Findings = append(report.Findings, wrong...)
	return report, nil
}

// read takes over what INFO tells.
func (r *NodeReport) read(f facts, n node, before NodeReport, save *goredis.MapStringStringCmd) {
	r.RunID, r.evicted = f["run_id"], f.number("evicted_keys")
	r.Version, _ = f.kind()
	r.Findings = f.judge(expectations{
		cluster: n.cluster, before: before, save: save.Val()["save"], saveKnown: save.Err() == nil,
	})
}

// inconclusive is the error of a self-test that a server did not answer, or cannot answer now.
func (n node) inconclusive(err error) error {
	return &lease.NotExecutedError{Address: n.address, Cause: fmt.Errorf("its self-test could not be finished: %w", err)}
}

// trial is a run of a script, and how its answer must begin.
type trial struct {
	script script
	q      question
	want   string
}

// tryScripts runs every script on the scratch scope, and removes what they left.
func (n node) tryScripts(ctx context.Context) ([]Finding, error) {
	defer n.cleanUp(ctx)
	owner, other := hex.EncodeToString([]byte("leasehold-self-1")), hex.EncodeToString([]byte("leasehold-self-2"))
	granted, err := n.run(ctx, []trial{n.acquire(owner, "ok|"), n.acquire(other, "busy|"), n.ask(observeScript, "ok|")})
	if err != nil {
		return n.findings(ctx, err)
	}
	_, token, _ := strings.Cut(granted[0], "|")
	value, channel := owner+"|"+token, n.scratch.ReleasedChannel()
	_, err = n.run(ctx, []trial{
		n.ask(renewScript, "ok", value, scratchTTL),
		{completeScript, question{
			keys: []string{n.scratch.LeaseKey(), n.scratch.FenceKey(), n.scratch.DoneKey("x")},
			args: []any{owner, token, "in", "out", "", scratchTTL},
		}, "accepted|"},
		n.ask(releaseScript, "ok", value, channel),
		n.ask(releaseOwnerScript, "gone", owner, channel),
	})
	return n.findings(ctx, err)
}

func (n node) acquire(owner, want string) trial {
	return trial{acquireScript, question{
		keys: []string{n.scratch.LeaseKey(), n.scratch.FenceKey(), n.scratch.ServerKey()},
		args: []any{owner, scratchTTL, 0, 0, latest, scratchTTL, 0},
	}, want}
}

// ask is a trial of a script that has the lease for its only key.
func (n node) ask(s script, want string, args ...any) trial {
	return trial{s, question{keys: []string{n.scratch.LeaseKey()}, args: args}, want}
}

// cleanUp removes what the scripts wrote. If it fails, that lapses.
func (n node) cleanUp(ctx context.Context) {
	_ = n.rdb.Del(ctx, n.scratch.LeaseKey(), n.scratch.FenceKey(), n.scratch.ServerKey(), n.scratch.DoneKey("x")).Err()
}

// strangeAnswer is a script's answer that is none of its contract.
type strangeAnswer struct{ want, got string }

func (e *strangeAnswer) Error() string {
	return fmt.Sprintf("a script answers %.*q and not %q", maxFindingTextBytes, e.got, e.want)
}

// run sends the scripts in one pipeline and returns what they answered, without the nonce. The error is of the first that was
// not run or answered wrongly.
func (n node) run(ctx context.Context, trials []trial) ([]string, error) {
	pipe := n.rdb.Pipeline()
	calls := make([]call, len(trials))
	for i, t := range trials {
		t.q.nonce = n.nonces.next()
		trials[i].q.nonce = t.q.nonce
		calls[i] = t.script.newCall(ctx, t.q, true)
		_ = pipe.Process(ctx, calls[i]) // queues; errors come with Exec
	}
	_, pipeErr := pipe.Exec(ctx)
	answers := make([]string, len(trials))
	for i, t := range trials {
		a := read(calls[i], t.q.nonce, pipeErr)
		if a.err != nil {
			return nil, a.err
		}
		if !strings.HasPrefix(a.text, t.want) {
			return nil, &strangeAnswer{t.want, a.text}
		}
		answers[i] = a.text
	}
	return answers, nil
}

// findings makes of an error what is wrong with the server, or an error if that cannot be said.
func (n node) findings(ctx context.Context, err error) ([]Finding, error) {
	strange, isStrange := errors.AsType[*strangeAnswer](err)
	switch {
	case err == nil:
		return nil, nil
	case isStrange:
		return []Finding{{CodeScript, Fatal, strange.Error() + "; is this a Redis, and does nothing else answer in its place?"}}, nil
	case isDemoted(err):
		return []Finding{replicaFinding(err)}, nil
	case lacks(err) || missesCommand(err):
		return n.probe(ctx, err)
	case isReply(err) && !refused(err):
		return []Finding{{CodeScript, Fatal, fmt.Sprintf("a script ends with: %.*s", maxFindingTextBytes, err)}}, nil
	}
	return nil, n.inconclusive(err)
}

// replicaFinding says that a server is, or became, a replica.
func replicaFinding(err error) Finding {
	return Finding{CodeReplica, Fatal, fmt.Sprintf("this server takes no writes: %.*s", maxFindingTextBytes, err)}
}
