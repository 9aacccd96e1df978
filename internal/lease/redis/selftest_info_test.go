package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestServersAreToldApartByTheirInfo(t *testing.T) {
	t.Parallel()
	const rest = "maxmemory_policy:noeviction\r\naof_enabled:1\r\nrole:master\r\ncluster_enabled:0\r\n"
	for name, tc := range map[string]struct {
		info  string
		kind  string
		codes []string
	}{
		"Redis 6.2": {"# Server\r\nredis_version:6.2.14\r\n" + rest, "redis 6.2.14", []string{CodeVersion}},
		"Redis 7.0": {"# Server\r\nredis_version:7.0.15\r\n" + rest, "redis 7.0.15", nil},
		"Redis 8":   {"# Server\r\nredis_version:8.2.1\r\n" + rest, "redis 8.2.1", nil},
		"Redis 10":  {"redis_version:10.0.0\r\n" + rest, "redis 10.0.0", nil},
		"Valkey 8":  {"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.3\r\n" + rest, "valkey 8.1.3", nil},
		"Valkey 9":  {"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.0\r\n" + rest, "valkey 9.0.0", nil},
		"Dragonfly": {"redis_version:7.4.0\r\ndragonfly_version:df-v1.30\r\n" + rest, "dragonfly df-v1.30", []string{CodeDragonfly}},
		"KeyDB": {
			"redis_version:6.3.4\r\nmvcc_depth:0\r\n" + rest, "keydb 6.3.4", []string{CodeVersion},
		},
		"a KeyDB whose replicas are active": {
			strings.Replace("redis_version:6.3.4\r\nmvcc_depth:0\r\n"+rest, "role:master", "role:active-replica", 1), "keydb 6.3.4",
			[]string{CodeVersion, CodeActiveReplica},
		},
		"a proxy":        {"proxy:yes\r\n", "", []string{CodeInfoUnreadable}},
		"an odd version": {"redis_version:unstable\r\n" + rest, "redis unstable", []string{CodeVersion}},
		"nothing":        {"", "", []string{CodeInfoUnreadable}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := parseInfo(tc.info)
			var codes []string
			for _, finding := range f.judge(expectations{}) {
				codes = append(codes, finding.Code)
			}
			if kind, _ := f.kind(); kind != tc.kind {
				t.Errorf("it is called %q, want %q", kind, tc.kind)
			}
			if diff := cmp.Diff(tc.codes, codes); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvictionsAreCountedWithinOneProcess(t *testing.T) {
	t.Parallel()
	f := facts{"run_id": "b", "evicted_keys": "7"}
	for name, tc := range map[string]struct {
		before NodeReport
		want   bool
	}{
		"the first look":            {NodeReport{}, false},
		"more than at the last":     {NodeReport{At: time.Now(), RunID: "b", evicted: 6}, true},
		"as many as at the last":    {NodeReport{At: time.Now(), RunID: "b", evicted: 7}, false},
		"statistics were reset":     {NodeReport{At: time.Now(), RunID: "b", evicted: 9}, false},
		"another process was there": {NodeReport{At: time.Now(), RunID: "a", evicted: 0}, false},
	} {
		if got := f.evicting(expectations{before: tc.before}); (got != nil) != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSnapshotsThatCannotBeSeenAreNotDenied(t *testing.T) {
	t.Parallel()
	f := facts{"aof_enabled": "0"}
	const right = "cannot be seen without the right +config|get"
	if got := f.persistence(expectations{}); got == nil || !strings.Contains(got.Text, right) {
		t.Errorf("got %+v", got)
	}
	if got := f.persistence(expectations{saveKnown: true}); got == nil || !strings.Contains(got.Text, "no snapshots are made") {
		t.Errorf("got %+v", got)
	}
	for name, fit := range map[string]*Finding{
		"snapshots are made":    f.persistence(expectations{saveKnown: true, save: "3600 1"}),
		"the append-only file":  facts{"aof_enabled": "1"}.persistence(expectations{}),
		"a server that is mute": facts{}.persistence(expectations{}),
	} {
		if fit != nil {
			t.Errorf("%s: %+v", name, fit)
		}
	}
}
