package v1alpha1_test

import (
	"strings"
	"testing"
)

// timing is a spec with these durations; "" leaves the field out.
type timing struct{ lease, interval, runtime, grace, timeout string }

func (d timing) manifest() string {
	manifest := baseManifest
	for field, value := range map[string]string{"leaseDuration: 30s": d.lease, "renewalInterval: 5s": d.interval,
		"maxRuntime: 20m": d.runtime, "stopGracePeriod: 10s": d.grace} {
		name, _, _ := strings.Cut(field, ":")
		line := ""
		if value != "" {
			line = "  " + name + ": " + value + "\n"
		}
		manifest = strings.Replace(manifest, "  "+field+"\n", line, 1)
	}
	if d.timeout != "" {
		manifest = strings.Replace(manifest, "  jobTemplate:\n", "  renewalTimeout: "+d.timeout+"\n  jobTemplate:\n", 1)
	}
	return manifest
}

func TestTimingsAreCheckedTogetherAtApplyTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timing timing
		// refusal is what the message must say; empty: the timing is valid.
		refusal string
	}{
		"the defaults":          {timing: timing{}},
		"the article's numbers": {timing: timing{"30s", "5s", "20m", "10s", ""}},
		"the shortest lease":    {timing: timing{"5s", "500ms", "5s", "1s", ""}},
		"a lease below the shortest": {timing{"4999ms", "250ms", "20m", "1s", ""},
			"spec.leaseDuration: Invalid value: \"4999ms\": must be 5s to 24h"},
		"the longest lease":         {timing: timing{"24h", "8h", "24h", "10s", ""}},
		"a lease above the longest": {timing{"24h1ms", "5s", "48h", "10s", ""}, "must be 5s to 24h"},
		"an interval of a third":    {timing: timing{"60s", "20s", "20m", "6s", ""}},
		"an interval above a third": {timing{"60s", "20001ms", "20m", "5s", ""},
			"renewalInterval 20001ms is too long: it must be at most a third of leaseDuration 60s"},
		"the shortest interval": {timing: timing{"30s", "250ms", "20m", "10s", ""}},
		"an interval below it": {timing{"30s", "249ms", "20m", "10s", ""},
			"must be 0s, which never renews, or at least 250ms"},
		"a lease that just fits": {timing: timing{"15s", "2s", "20m", "6s", ""}},
		"a grace a second too long": {timing{"15s", "2s", "20m", "7s", ""},
			"leaseDuration 15s is too short: 80% of it must be at least 2 x renewalInterval 2s + stopGracePeriod 7s + 2s"},
		"a grace in parts of a second": {timing{"30s", "5s", "20m", "1500ms", ""}, "must be 1s to 1h in whole seconds"},
		"a grace of nothing":           {timing{"30s", "5s", "20m", "0s", ""}, "must be 1s to 1h in whole seconds"},
		"a runtime of one lease":       {timing: timing{"30s", "5s", "30s", "10s", ""}},
		"a runtime below one lease": {timing{"30s", "5s", "29s", "10s", ""},
			"maxRuntime 29s is too short: it must be at least leaseDuration 30s"},
		"a week of runtime":           {timing: timing{"30s", "5s", "168h", "10s", ""}},
		"more than a week of runtime": {timing{"30s", "5s", "169h", "10s", ""}, "must be 1s to 168h"},
		"no renewals, all fits":       {timing: timing{"1m", "0s", "37s", "10s", ""}},
		"no renewals, a second too long": {timing{"1m", "0s", "38s", "10s", ""},
			"maxRuntime 38s + stopGracePeriod 10s + 1s must fit into 80% of leaseDuration 1m"},
		"a timeout that just fits": {timing: timing{"30s", "5s", "20m", "10s", "8s"}},
		"a timeout too long": {timing{"30s", "5s", "20m", "10s", "8001ms"},
			"renewalInterval 5s + renewalTimeout 8001ms + stopGracePeriod 10s + 1s must fit into 80% of leaseDuration 30s"},
		"a timeout without renewals": {timing{"1m", "0s", "37s", "10s", "1s"}, "renewalInterval must not be 0s"},
		"the shortest timeout":       {timing: timing{"30s", "5s", "20m", "10s", "100ms"}},
		"a timeout below it":         {timing{"30s", "5s", "20m", "10s", "99ms"}, "must be 100ms to 24h"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := create(t, tc.timing.manifest())
			checkRefusal(t, err, tc.refusal)
		})
	}
}

// checkRefusal compares the API server's answer with what it should say; an empty refusal wants none.
func checkRefusal(t *testing.T, err error, refusal string) {
	t.Helper()
	switch {
	case refusal == "" && err != nil:
		t.Errorf("refused: %v", err)
	case refusal != "" && err == nil:
		t.Errorf("accepted; want a refusal that says %q", refusal)
	case refusal != "" && !strings.Contains(err.Error(), refusal):
		t.Errorf("refused with other words than %q: %v", refusal, err)
	}
}
