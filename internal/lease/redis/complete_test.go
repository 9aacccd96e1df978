package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	owner := strings.Repeat("ab", 16)
	for name, want := range map[string]lease.CompletionRecord{
		"empty":            {},
		"plain":            {Inputs: "sha256:1", Digest: "sha256:2", Location: "s3://reports/1"},
		"bars in it":       {Inputs: "|1|", Digest: "||", Location: "|"},
		"inputs alone":     {Inputs: "i"},
		"digest alone":     {Digest: "d"},
		"location alone":   {Location: "l"},
		"more than a byte": {Inputs: "\u00e4\u00f6", Digest: "\u20ac", Location: "\xff\xfe"},
	} {
		want.Owner, want.Token, want.At = lease.Owner(owner), lease.MaxToken, time.UnixMilli(1764547200123)
		text := fmt.Sprintf("%s|%d|%d|%d|%d|%s%s%s", owner, want.Token, want.At.UnixMilli(), len(want.Inputs), len(want.Digest),
			want.Inputs, want.Digest, want.Location)
		for code, verdict := range verdicts {
			got, err := readCompletion(code + "|" + text)
			if diff := cmp.Diff(lease.Completion{Verdict: verdict, Record: want}, got); err != nil || diff != "" {
				t.Errorf("%s, %s: %v (-want +got):\n%s", name, code, err, diff)
			}
		}
	}
}

func FuzzAnyCompletionIsReadWithoutHarm(f *testing.F) {
	for _, seed := range []string{
		"", "accepted", "accepted|", "accepted|a|1|2|0|0|", "done|a|1|2|1|1|xyz", "stale|5", "stale|x", "stale|9007199254740992",
		"conflict|a|1|2|9|9|x", "duplicate|a|1|2|-1|0|x", "accepted|a|1|2|9223372036854775807|1|x", "other|x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readCompletion(text)
		if err != nil {
			return
		}
		if got.Newest > lease.MaxToken || got.Record.Token > lease.MaxToken || got.Verdict == "" {
			t.Errorf("%q is read as %+v", text, got)
		}
		if (got.Record.Owner == "") && got.Record.Token == 0 && !strings.HasPrefix(text, "stale|") {
			t.Errorf("%q is read as %+v, a verdict without a record", text, got)
		}
	})
}
