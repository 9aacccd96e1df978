package redis

import (
	"errors"
	"strings"
	"testing"
)

func TestAReplyIsAsLongAsAnyThatIsAskedForOrTheConnectionEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		received string
		allowed  bool
	}{
		"a short answer":                   {"$4\r\nn|ok\r\n", true},
		"a length of seven digits":         {"$4194304\r\nxx", true},
		"a length of eight digits":         {"$10000000\r\nxx", false},
		"a length beyond any memory":       {"$9999999999999\r\n", false},
		"a list beyond any memory":         {"*99999999\r\n", false},
		"a length in the second reply":     {"+OK\r\n$104857600\r\n", false},
		"a number that is no length":       {":123456789012\r\n", true},
		"digits in the middle of a line":   {"+took $123456789\r\n", true},
		"as many bytes as are allowed":     {"+" + strings.Repeat("x", maxReplyBytes-3) + "\r\n", true},
		"one byte more than that":          {"+" + strings.Repeat("x", maxReplyBytes-2) + "\r\n", false},
		"digits across what the wire cuts": {"$1048\x00576\x0000000\r\n", false}, // cut at the null characters
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := newReplyLimit()
			limit.request()
			var err error
			for part := range strings.SplitSeq(tc.received, "\x00") {
				err = errors.Join(err, limit.feed([]byte(part)))
			}
			if (err == nil) != tc.allowed {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEachRequestMayHaveItsOwnReply(t *testing.T) {
	t.Parallel()
	limit := newReplyLimit()
	reply := []byte("+" + strings.Repeat("x", maxReplyBytes/2) + "\r\n")
	for range 10 {
		limit.request()
		if err := limit.feed(reply); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(limit.feed(reply), limit.feed(reply)); err == nil {
		t.Error("without a request in between, three replies are allowed to be as long as one")
	}
}
