package redis_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// published is the document for those who take part in the protocol with programs of their own.
const published = "../../../docs/protocol.md"

func scriptFiles() []string {
	return []string{"acquire.lua", "renew.lua", "release.lua", "release_owner.lua", "observe.lua", "complete.lua"}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// fenced returns the contents of the document's code blocks of one language.
func fenced(t *testing.T, language string) []string {
	t.Helper()
	var blocks []string
	for _, found := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllStringSubmatch(read(t, published), -1) {
		blocks = append(blocks, found[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block of %s", published, language)
	}
	return blocks
}

func TestThePublishedScriptsAreTheOnesThatRun(t *testing.T) {
	t.Parallel()
	var want []string
	for _, file := range scriptFiles() {
		source := read(t, file)
		want = append(want, source)
		row := fmt.Sprintf("| `%s` | `%s` |", file, goredis.NewScript(source).Hash())
		if !strings.Contains(read(t, published), row) {
			t.Errorf("%s lacks the line %s", published, row)
		}
	}
	if diff := cmp.Diff(want, fenced(t, "lua")); diff != "" {
		t.Errorf("scripts (-run +published):\n%s", diff)
	}
}

// vector is a conversation with a server that begins without data.
type vector struct {
	name  string
	steps []step
}

type step struct{ command, reply string }

func vectors(t *testing.T) []vector {
	t.Helper()
	var all []vector
	for text := range strings.SplitSeq(strings.TrimSpace(fenced(t, "vectors")[0]), "\n\n") {
		lines := strings.Split(text, "\n")
		v := vector{name: strings.TrimPrefix(lines[0], "# ")}
		if lines = lines[1:]; len(lines) == 0 || len(lines)%2 != 0 {
			t.Fatalf("vector %q has commands without replies", v.name)
		}
		for i := 0; i < len(lines); i += 2 {
			command, isCommand := strings.CutPrefix(lines[i], "> ")
			reply, isReply := strings.CutPrefix(lines[i+1], "< ")
			if !isCommand || !isReply {
				t.Fatalf("vector %q has no command and reply in %q", v.name, lines[i:i+2])
			}
			v.steps = append(v.steps, step{command, reply})
		}
		all = append(all, v)
	}
	return all
}

func TestThePublishedVectorsAreWhatTheServerSays(t *testing.T) {
	t.Parallel()
	address, _ := leasetest.StartRedis(t)
	r := newRaw(t, address)
	for _, v := range vectors(t) {
		r.LoseEverything()
		for _, s := range v.steps {
			if got := r.send(t, s.command); !matches(s.reply, got) {
				t.Errorf("%s:\n> %s\n< %s\nthe document says\n< %s", v.name, s.command, got, s.reply)
			}
		}
	}
}

// send sends a command as the document writes it, and returns the reply as the document would write it.
func (r raw) send(t *testing.T, command string) string {
	t.Helper()
	var args []any
	for i, word := range strings.Fields(command) {
		if i == 1 && args[0] == "EVAL" {
			word = read(t, word)
		}
		args = append(args, word)
	}
	reply, err := r.client.Do(t.Context(), args...).Result()
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(reply)
}

// matches compares a reply part by part.
func matches(want, got string) bool {
	wanted, parts := strings.Split(want, "|"), strings.Split(got, "|")
	if len(wanted) != len(parts) {
		return false
	}
	for i, part := range parts {
		low, high, isRange := strings.Cut(wanted[i], "..")
		if isRange && !within(part, low, high) || !isRange && part != wanted[i] {
			return false
		}
	}
	return true
}

func within(text, low, high string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	least, errLow := strconv.ParseInt(low, 10, 64)
	most, errHigh := strconv.ParseInt(high, 10, 64)
	return err == nil && errLow == nil && errHigh == nil && least <= n && n <= most
}

func TestThePublishedRightsSuffice(t *testing.T) {
	t.Parallel()
	const password = "rights-secret-16"
	address, _ := leasetest.StartRedis(t)
	r := newRaw(t, address)
	rule := []any{"ACL", "SETUSER", "leasehold", "on", ">" + password}
	for right := range strings.FieldsSeq(fenced(t, "acl")[0]) {
		rule = append(rule, right)
	}
	r.must(r.client.Do(t.Context(), rule...).Err())
	file := t.TempDir() + "/password"
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		t.Fatal(err)
	}
	store := newStore(t, redis.Options{Address: address, Username: "leasehold", PasswordFile: file, DB: 1})
	grant := leasetest.MustAcquire(t, store, scope, ttl)
	if _, isHeld := errors.AsType[*lease.HeldError](acquireErr(t, store, scope)); !isHeld {
		t.Error("a held lease is not said to be held")
	}
	_, observed := store.Observe(t.Context(), scope)
	_, completed := store.Complete(t.Context(), lease.CompleteRequest{Term: grant.Term, Occurrence: "x", Retention: time.Hour})
	for name, err := range map[string]error{
		"check":    store.Check(t.Context()),
		"observe":  observed,
		"complete": completed,
		"renew":    store.Renew(t.Context(), leasetest.Renewals(ttl, grant.Term))[0],
		"release":  store.Release(t.Context(), grant.Term),
		"withdraw": store.ReleaseOwner(t.Context(), scope, grant.Term.Owner),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
