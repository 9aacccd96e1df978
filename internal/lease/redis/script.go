package redis

import (
	"context"
	_ "embed"

	goredis "github.com/redis/go-redis/v9"
)

// script is a Lua script and the name Redis knows it by.
type script struct {
	source string
	sha    string
	keys   int
}

func newScript(source string, keys int) script {
	return script{source: source, sha: goredis.NewScript(source).Hash(), keys: keys}
}

var (
	//go:embed acquire.lua
	acquireSource string
	//go:embed renew.lua
	renewSource string
	//go:embed release.lua
	releaseSource string
	//go:embed release_owner.lua
	releaseOwnerSource string
	//go:embed observe.lua
	observeSource string
	//go:embed complete.lua
	completeSource string

	acquireScript      = newScript(acquireSource, 3)
	renewScript        = newScript(renewSource, 1)
	releaseScript      = newScript(releaseSource, 1)
	releaseOwnerScript = newScript(releaseOwnerSource, 1)
	observeScript      = newScript(observeSource, 1)
	completeScript     = newScript(completeSource, 3)
)

// call is one run of a script that the client must never repeat by itself: a reply that was lost says nothing of whether the
// script ran. Embedding the library's command and overriding NoRetry is honoured for single commands and pipelines alike.
type call struct{ *goredis.Cmd }

// NoRetry forbids every retry of the library.
func (call) NoRetry() bool { return true }

// newCall builds an EVALSHA, or an EVAL that also loads the script. The nonce is the first argument of every script.
func (s script) newCall(ctx context.Context, q question, whole bool) call {
	name, text := "evalsha", s.sha
	if whole {
		name, text = "eval", s.source
	}
	args := make([]any, 0, 4+len(q.keys)+len(q.args))
	args = append(args, name, text, s.keys)
	for _, key := range q.keys {
		args = append(args, key)
	}
	args = append(args, q.nonce)
	args = append(args, q.args...)
	cmd := goredis.NewCmd(ctx, args...)
	// In a cluster the key in this position decides which node is asked.
	cmd.SetFirstKeyPos(3)
	return call{cmd}
}

// question is one run of a script: its keys, its nonce and its further arguments.
type question struct {
	keys  []string
	nonce string
	args  []any
}
