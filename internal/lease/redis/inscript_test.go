package redis

import (
	"testing"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

func TestARefusalFromWithinAScriptIsUnknownUnlessItComesBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lease.Outcome{
		"OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'":    lease.NotExecuted,
		"READONLY You can not run script with write flag on readonly replica.":                          lease.NotExecuted,
		"ERR The user executing the script can't publish to the channel mentioned in the command":       lease.Unknown,
		"ERR ACL failure in script: User leasehold has no permissions to run the 'spublish' command":    lease.Unknown,
		"NOPERM ACL failure in script: User leasehold has no permissions to run the 'spublish' command": lease.Unknown,
	} {
		if got := lease.OutcomeOf(classify("redis.example:6379", reply(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
