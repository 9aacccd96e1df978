package redis

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// lacking are the words by which servers say that the user lacks a right, in a script and outside.
var lacking = []string{"NOPERM", "ACL failure in script", "The user executing the script can't"}

// lacks recognizes an answer that says that the user lacks a right.
func lacks(err error) bool { return isReply(err) && containsAny(err.Error(), lacking...) }

// missesCommand recognizes an answer that says that a command does not exist.
func missesCommand(err error) bool {
	return isReply(err) && containsAny(strings.ToLower(err.Error()), "unknown command", "unknown redis command")
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// probe sends each command of the scripts by itself, to find out which one the user may not run, or the server does not have.
// cause is what a script said.
func (n node) probe(ctx context.Context, cause error) ([]Finding, error) {
	key := n.scratch.LeaseKey()
	commands := [][]any{
		{"eval", "return 1", 1, key}, {"time"}, {"info", "server"}, {"getrange", key, 0, 0}, {"exists", key}, {"pttl", key},
		{"set", key, "x", "px", scratchTTL}, {"pexpire", key, scratchTTL}, {"del", key},
		{"spublish", n.scratch.ReleasedChannel(), "x"},
	}
	pipe := n.rdb.Pipeline()
	sent := make([]*goredis.Cmd, len(commands))
	for i, args := range commands {
		sent[i] = pipe.Do(ctx, args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var found []Finding
	for i, args := range commands {
		more, err := n.judgeProbe(fmt.Sprint(args[0]), sent[i].Err())
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	if len(found) == 0 {
		found = []Finding{{CodeRight, Fatal, fmt.Sprintf("a script may not do what it does: %.*s; give the user %s the rights that"+
			" docs/protocol.md lists", maxFindingTextBytes, cause, n.user)}}
	}
	return slices.Compact(found), nil // what may not be reached is found once per command
}

// aclObject finds what the user may not reach, in the words of the versions.
var aclObject = regexp.MustCompile(`access (?:a|one of the|the) (key|channel)`)

// judgeProbe makes a finding of what a command was answered with; none if it may be run.
func (n node) judgeProbe(command string, err error) ([]Finding, error) {
	switch {
	case missesCommand(err):
		return []Finding{{CodeCommand, Fatal, fmt.Sprintf("the command %s is missing or was renamed, and scripts use it; remove its"+
			" rename-command from the configuration of Redis", strings.ToUpper(command))}}, nil
	case lacks(err):
		right := "+" + command
		if object := aclObject.FindStringSubmatch(err.Error()); object != nil {
			right = map[string]string{"key": "~leasehold:*", "channel": "&leasehold:*"}[object[1]]
		}
		return []Finding{{CodeRight, Fatal, fmt.Sprintf("the user %s lacks the right %s, which leases need; run ACL SETUSER %s %s",
			n.user, right, n.user, right)}}, nil
	case err == nil || isReply(err) && !refused(err):
		return nil, nil
	}
	return nil, n.inconclusive(err)
}
