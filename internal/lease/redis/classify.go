package redis

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// refusals are the answers by which a server says that it did not run a script. They are looked for anywhere in the text:
// proxies and older servers put words of their own in front, as in "ERR READONLY You can't write against a read only replica".
// within marks those that a server also gives in the middle of a script, at its first write or before: our scripts read each key
// before they write any, and what they write is refused as a whole or not at all.
var refusals = []struct {
	text, why string
	within    bool
}{
	{"READONLY", "the server is a replica", true},
	{"NOREPLICAS", "min-replicas-to-write is not met", true},
	{"OOM command not allowed", "maxmemory is reached", true},
	{"MISCONF", "the server cannot save to disk", true},
	{"WRONGTYPE", "the key holds another kind of value", true},
	{"NOSCRIPT", "the script cache was emptied", false},
	{"LOADING", "the server reads its data set", false},
	{"MASTERDOWN", "the replica has lost its primary", false},
	{"CLUSTERDOWN", "the cluster has no owner for the slot", false},
	{"TRYAGAIN", "the slot is moving", false},
	{"CROSSSLOT", "the keys are not of one slot: is their hash tag kept?", false},
	{"MOVED ", "another node owns the slot", false},
	{"ASK ", "the slot is moving", false},
	{"BUSY ", "another script runs for too long", false},
	{"OOM allow-oom flag is not set", "maxmemory is reached", false},
	{"max number of clients", "maxclients is reached", false},
	{"DENIED", "the server is in protected mode", false},
	{"NOAUTH", "a password is needed", false},
	{"WRONGPASS", "the user or password is wrong", false},
	{"invalid password", "the password is wrong", false},
	{"AUTH <password> called without any password", "the server wants no password", false},
	{"Client sent AUTH, but no password is set", "the server wants no password", false},
	{"NOPERM", "the ACL user lacks a right", false},
	// Servers before 7.0 do not know the first line of our scripts.
	{"Error compiling script", "the server is older than Redis 7.0", false},
	{"unknown command", "the server or a proxy lacks a command", false},
}

// inScript are the words by which servers say that an error comes from the middle of a script.
var inScript = []string{"@user_script", "Error running script", "ACL failure in script", "The user executing the script"}

// missingRight finds which command the user may not run, where the server says so. Names of users have no spaces.
var missingRight = regexp.MustCompile(`has no permissions to run the '([^' ]+)' command`)

// firstCommands are those that no script comes to for the first time after it wrote something.
var firstCommands = []string{"time", "info", "getrange", "exists", "pttl", "set", "pexpire", "del"}

// plainScripts write by one command only, whatever their path: a right that is missing within was missed before any write. The
// others, the releases, remove the lease before they publish, and a Redis 7.0 does not say which right it was.
var plainScripts = []script{acquireScript, renewScript, observeScript, completeScript}

// classify says whether a failed exchange was certainly not executed, or may have been. The default is unknown.
func classify(address string, err error) error {
	if notExecuted(err) {
		return &lease.NotExecutedError{Address: address, Cause: err}
	}
	return &lease.UnknownError{Address: address, Cause: err}
}

func notExecuted(err error) bool {
	var dial *dialError
	if errors.As(err, &dial) || errors.Is(err, goredis.ErrPoolTimeout) || errors.Is(err, goredis.ErrPoolExhausted) {
		return true
	}
	return refused(err)
}

// refused recognizes an answer of the server itself; a text that comes from elsewhere proves nothing.
func refused(err error) bool {
	if !isReply(err) {
		return false
	}
	text := err.Error()
	within := containsAny(text, inScript...)
	if within && lacks(err) {
		if right := missingRight.FindStringSubmatch(text); right != nil {
			return slices.Contains(firstCommands, right[1])
		}
		return slices.ContainsFunc(plainScripts, func(s script) bool { return strings.Contains(text, s.sha) })
	}
	for _, refusal := range refusals {
		if strings.Contains(text, refusal.text) && (refusal.within || !within) {
			return true
		}
	}
	return false
}

func isNoScript(err error) bool {
	return isReply(err) && strings.Contains(err.Error(), "NOSCRIPT") && !containsAny(err.Error(), inScript...)
}

// isDemoted recognizes a server that is no primary any more: every connection to it is useless.
func isDemoted(err error) bool {
	return errors.Is(err, errReplica) || isReply(err) && strings.Contains(err.Error(), "READONLY") && !lacks(err)
}

// isReply recognizes an error that a server answered with.
func isReply(err error) bool {
	var answer goredis.Error
	return errors.As(err, &answer) && !errors.Is(err, goredis.Nil)
}
