package controller

import (
	"errors"
	"strings"
	"testing"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

func TestARefusalSaysWhatToDoAndSilenceDoesNot(t *testing.T) {
	t.Parallel()
	for cause, want := range map[string]string{
		"WRONGTYPE Operation against a key holding the wrong kind of value":                      "leasehold:{finance/revenue}:server",
		"no fencing token is left for finance/revenue: the next one would be 9007199254740992":   "leasehold:{finance/revenue}:fence",
		"the request came late: it ran at server time 1 ms, outside its window":                  "clock",
		"NOAUTH Authentication required.":                                                        "password",
		"NOPERM this user has no permissions to run the 'evalsha' command":                       "rights",
		"OOM command not allowed when used memory > 'maxmemory'.":                                "maxmemory",
		"its self-test could not be finished: WRONGPASS invalid username-password pair":          "password",
		"dial tcp 127.0.0.1:1: connect: connection refused":                                      "",
		"dial tcp: lookup redis on 10.96.0.10:53: no such host":                                  "",
		"its self-test could not be finished: dial tcp 127.0.0.1:1: connect: connection refused": "",
		"READONLY You can't write against a read only replica.":                                  "primary",
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			got := adviceOn(&lease.NotExecutedError{Address: "r:6379", Cause: errors.New(cause)}, "finance/revenue")
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("advice %q, want one that contains %q", got, want)
			}
		})
	}
	unfit := &lease.NotExecutedError{Cause: &lease.UnsafeError{Code: "x", Text: "maxmemory-policy evicts keys: set noeviction"}}
	if adviceOn(unfit, "finance/revenue") == "" {
		t.Error("a Redis that is not fit counts as one that does not answer")
	}
}
