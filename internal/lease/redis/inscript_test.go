package redis

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// answered are the texts that servers answer with, one a line: server, outcome and text.
const answered = "testdata/errors.txt"

var sha = regexp.MustCompile(`<sha:(\w+\.lua)>`)

// shaOf puts the SHA-1 of the script in the place of its file's name.
func shaOf(mark string) string {
	return map[string]script{
		"acquire.lua": acquireScript, "renew.lua": renewScript, "release.lua": releaseScript, "release_owner.lua": releaseOwnerScript,
		"observe.lua": observeScript, "complete.lua": completeScript,
	}[sha.FindStringSubmatch(mark)[1]].sha
}

func TestWhatServersAnswerIsNotExecutedOnlyIfNothingCanHaveBeenWritten(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(answered)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[lease.Outcome]int{}
	for number, line := range strings.Split(string(content), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.SplitN(line, "|", 3)
		if len(cells) != 3 {
			t.Fatalf("%s:%d has %d columns", answered, number+1, len(cells))
		}
		want := lease.Outcome(strings.ReplaceAll(strings.TrimSpace(cells[1]), " ", "_"))
		text := sha.ReplaceAllStringFunc(strings.TrimSpace(cells[2]), shaOf)
		seen[want]++
		if got := lease.OutcomeOf(classify("redis.example:6379", reply(text))); got != want {
			t.Errorf("%s:%d: %s answers %q: %s, want %s", answered, number+1, strings.TrimSpace(cells[0]), text, got, want)
		}
		// The same words prove nothing when they are not an answer.
		if got := lease.OutcomeOf(classify("redis.example:6379", fmt.Errorf("somebody says %s", text))); got != lease.Unknown {
			t.Errorf("%s:%d: not an answer, and %s", answered, number+1, got)
		}
	}
	if seen[lease.NotExecuted] < 40 || seen[lease.Unknown] < 20 {
		t.Errorf("read %v: the test reads the wrong file", seen)
	}
}

func TestOnlyAnEmptyScriptCacheAndADemotedServerAreTakenForThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ noScript, demoted bool }{
		"NOSCRIPT No matching script. Please use EVAL.":                                                       {noScript: true},
		"ERR NOSCRIPT No matching script":                                                                     {noScript: true},
		"READONLY You can't write against a read only replica.":                                               {demoted: true},
		"ERR READONLY You can't write against a read only replica.":                                           {demoted: true},
		"NOPERM User READONLY has no permissions to run the 'evalsha' command":                                {},
		"ERR ACL failure in script: User NOSCRIPT has no permissions to run the 'spublish' command":           {},
		"ERR user_script:1: NOSCRIPT script: 0, on @user_script:1.":                                           {},
		"ERR Error running script (call to f_0): @user_script:2: -READONLY You can't write against a replica": {demoted: true},
	} {
		if got := isNoScript(reply(text)); got != want.noScript {
			t.Errorf("%s: an empty script cache: %t", text, got)
		}
		if got := isDemoted(reply(text)); got != want.demoted {
			t.Errorf("%s: demoted: %t", text, got)
		}
	}
}

func TestARefusalFromWithinAScriptIsUnknownUnlessItComesBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	const missing = "ERR The user executing the script can't run this command or subcommand script: %s, on @user_script:12."
	for _, s := range []script{acquireScript, renewScript, observeScript, completeScript} {
		if !refused(reply(fmt.Sprintf(missing, s.sha))) {
			t.Errorf("a script that writes by one command may have written: %.40s", s.source)
		}
		// Two writing commands on one path would make the rule wrong.
		if writes := regexp.MustCompile(`redis\.call\('(DEL|HSET|HDEL|INCR|SPUBLISH|PUBLISH)'`).FindString(s.source); writes != "" {
			t.Errorf("a script writes by %s too: %.40s", writes, s.source)
		}
	}
	for _, s := range []script{releaseScript, releaseOwnerScript} {
		if refused(reply(fmt.Sprintf(missing, s.sha))) {
			t.Errorf("a release whose right to publish is missing is called not executed: %.40s", s.source)
		}
	}
}
