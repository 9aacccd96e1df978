package redis

import (
	"errors"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// refusals are the answers by which a server says that it did not run a script. They are looked for anywhere in the text:
// proxies and older servers put words of their own in front, as in "ERR READONLY You can't write against a read only replica".
var refusals = []struct{ text, why string }{
	{"NOSCRIPT", "the script cache was emptied"},
	{"LOADING", "the server reads its data set"},
	{"READONLY", "the server is a replica"},
	{"MASTERDOWN", "the replica has lost its primary"},
	{"CLUSTERDOWN", "the cluster has no owner for the slot"},
	{"TRYAGAIN", "the slot is moving"},
	{"MOVED ", "another node owns the slot"},
	{"ASK ", "the slot is moving"},
	{"NOREPLICAS", "min-replicas-to-write is not met"},
	{"BUSY ", "another script runs for too long"},
	{"OOM command not allowed", "maxmemory is reached"},
	{"OOM allow-oom flag is not set", "maxmemory is reached"},
	{"MISCONF", "the server cannot save to disk"},
	{"max number of clients reached", "maxclients is reached"},
	{"NOAUTH", "a password is needed"},
	{"WRONGPASS", "the user or password is wrong"},
	{"invalid password", "the password is wrong"},
	{"AUTH <password> called without any password", "the server wants no password"},
	{"NOPERM", "the ACL user lacks a right"},
	// Every script reads its keys before it writes any, so a key of another type ends it with nothing written.
	{"WRONGTYPE", "the key holds another kind of value"},
	// Servers before 7.0 do not know the first line of our scripts.
	{"Error compiling script", "the server is older than Redis 7.0"},
	{"unknown command", "the server or a proxy lacks a command"},
}

// refusedWithin marks a right that was found missing in the middle of a script, perhaps after it wrote: a release removes the
// lease before it publishes. Some servers put NOPERM in front.
const refusedWithin = "ACL failure in script"

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
	var answer goredis.Error
	if !errors.As(err, &answer) || strings.Contains(answer.Error(), refusedWithin) {
		return false
	}
	for _, refusal := range refusals {
		if strings.Contains(answer.Error(), refusal.text) {
			return true
		}
	}
	return false
}

func isNoScript(err error) bool {
	var answer goredis.Error
	return errors.As(err, &answer) && strings.Contains(answer.Error(), "NOSCRIPT")
}

// isDemoted recognizes a server that is no primary any more: every connection to it is useless.
func isDemoted(err error) bool {
	var answer goredis.Error
	return errors.As(err, &answer) && strings.Contains(answer.Error(), "READONLY")
}
