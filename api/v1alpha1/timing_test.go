package v1alpha1_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// bounds are timings at a bound, which are valid, and one step beyond it, with all that the one refusal must say.
type bounds map[string]struct {
	within, beyond timing
	refusal        string
}

func (b bounds) check(t *testing.T) {
	t.Helper()
	for name, tc := range b {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := create(t, tc.within.manifest())
			checkRefusal(t, err, "")
			_, err = create(t, tc.beyond.manifest())
			checkRefusal(t, err, tc.refusal)
		})
	}
}

func TestEachDurationHasItsOwnBounds(t *testing.T) {
	t.Parallel()
	bounds{
		"the shortest lease": {timing{"5s", "500ms", "5s", "1s", ""}, timing{"4999ms", "500ms", "5s", "1s", ""},
			`spec.leaseDuration: Invalid value: "4999ms": must be 5s to 24h`},
		"the longest lease": {timing{"24h", "8h", "24h", "10s", ""}, timing{"24h1ms", "5s", "48h", "10s", ""},
			`spec.leaseDuration: Invalid value: "24h1ms": must be 5s to 24h`},
		"the shortest interval": {timing{"30s", "250ms", "20m", "10s", ""}, timing{"30s", "249ms", "20m", "10s", ""},
			`spec.renewalInterval: Invalid value: "249ms": must be 0s, which never renews, or at least 250ms`},
		"no interval": {timing{"1m", "0s", "37s", "10s", ""}, timing{"1m", "1ms", "1m", "10s", ""},
			`spec.renewalInterval: Invalid value: "1ms": must be 0s, which never renews, or at least 250ms`},
		"the shortest runtime": {timing{"1m", "0s", "1s", "10s", ""}, timing{"1m", "0s", "999ms", "10s", ""},
			`spec.maxRuntime: Invalid value: "999ms": must be 1s to 168h`},
		"the longest runtime": {timing{"30s", "5s", "168h", "10s", ""}, timing{"30s", "5s", "168h1ms", "10s", ""},
			`spec.maxRuntime: Invalid value: "168h1ms": must be 1s to 168h`},
		"the shortest grace": {timing{"30s", "5s", "20m", "1s", ""}, timing{"30s", "5s", "20m", "0s", ""},
			`spec.stopGracePeriod: Invalid value: "0s": must be 1s to 1h in whole seconds`},
		"a grace of whole seconds": {timing{"30s", "5s", "20m", "2000ms", ""}, timing{"30s", "5s", "20m", "2001ms", ""},
			`spec.stopGracePeriod: Invalid value: "2001ms": must be 1s to 1h in whole seconds`},
		"the longest grace": {timing{"2h", "5s", "2h", "1h", ""}, timing{"2h", "5s", "2h", "3601s", ""},
			`spec.stopGracePeriod: Invalid value: "3601s": must be 1s to 1h in whole seconds`},
		"the shortest timeout": {timing{"30s", "5s", "20m", "10s", "100ms"}, timing{"30s", "5s", "20m", "10s", "99ms"},
			`spec.renewalTimeout: Invalid value: "99ms": must be 100ms to 24h`},
	}.check(t)
}

func TestTimingsAreCheckedTogetherAtApplyTime(t *testing.T) {
	t.Parallel()
	bounds{
		"an interval of a third": {timing{"60s", "20s", "20m", "6s", ""}, timing{"60s", "20001ms", "20m", "5s", ""},
			"spec.renewalInterval: Invalid value: " +
				"renewalInterval 20001ms is too long: it must be at most a third of leaseDuration 60s"},
		"a grace that fits": {timing{"15s", "2s", "20m", "6s", ""}, timing{"15s", "2s", "20m", "7s", ""},
			"spec.leaseDuration: Invalid value: " +
				"leaseDuration 15s is too short: 80% of it must be at least 2 x renewalInterval 2s + stopGracePeriod 7s + 2s"},
		"an interval that fits": {timing{"30s", "6s", "20m", "10s", ""}, timing{"30s", "6001ms", "20m", "10s", ""},
			"spec.leaseDuration: Invalid value: " +
				"leaseDuration 30s is too short: 80% of it must be at least 2 x renewalInterval 6001ms + stopGracePeriod 10s + 2s"},
		"a runtime of one lease": {timing{"30s", "5s", "30s", "10s", ""}, timing{"30s", "5s", "29999ms", "10s", ""},
			"spec.maxRuntime: Invalid value: maxRuntime 29999ms is too short: it must be at least leaseDuration 30s"},
		"no renewals": {timing{"1m", "0s", "37s", "10s", ""}, timing{"1m", "0s", "37001ms", "10s", ""},
			"spec.maxRuntime: Invalid value: renewalInterval 0s never renews the lease, so " +
				"maxRuntime 37001ms + stopGracePeriod 10s + 1s must fit into 80% of leaseDuration 1m"},
		"a timeout that fits": {timing{"30s", "5s", "20m", "10s", "8s"}, timing{"30s", "5s", "20m", "10s", "8001ms"},
			"spec.renewalTimeout: Invalid value: renewalInterval 5s + renewalTimeout 8001ms + " +
				"stopGracePeriod 10s + 1s must fit into 80% of leaseDuration 30s"},
		"a timeout of renewals": {timing{"1m", "1s", "1m", "10s", "1s"}, timing{"1m", "0s", "37s", "10s", "1s"},
			"spec.renewalTimeout: Invalid value: renewalInterval 0s never renews the lease, so there is nothing to time out"},
	}.check(t)
}

// A rule over several durations speaks only when each is valid by itself; what is just valid must not escape it.
func TestTheRulesHoldWhereADurationIsJustValid(t *testing.T) {
	t.Parallel()
	const interval, lease, runtime = "renewalInterval: Invalid", "leaseDuration: Invalid", "maxRuntime: Invalid"
	const timeout = "renewalTimeout: Invalid"
	for name, tc := range map[string]struct {
		timing  timing
		refusal string
	}{
		"the shortest lease, a long interval":  {timing{"5s", "1667ms", "20m", "1s", ""}, interval},
		"the longest lease, a long interval":   {timing{"24h", "28800001ms", "24h", "1s", ""}, interval},
		"the shortest lease, too full":         {timing{"5s", "1s", "20m", "1s", ""}, lease},
		"the longest interval, too full":       {timing{"30s", "10s", "20m", "10s", ""}, lease},
		"the longest grace, too full":          {timing{"1h", "5s", "1h", "1h", ""}, lease},
		"the shortest lease, a short runtime":  {timing{"5s", "500ms", "4999ms", "1s", ""}, runtime},
		"the longest lease, a short runtime":   {timing{"24h", "5s", "23h", "10s", ""}, runtime},
		"the shortest runtime":                 {timing{"30s", "5s", "1s", "10s", ""}, runtime},
		"not renewed, the shortest lease":      {timing{"5s", "0s", "2001ms", "1s", ""}, runtime},
		"not renewed, the longest lease":       {timing{"24h", "0s", "24h", "10s", ""}, runtime},
		"not renewed, the longest grace":       {timing{"2h", "0s", "1h", "1h", ""}, runtime},
		"not renewed, room for a second":       {timing{"5s", "0s", "1001ms", "2s", ""}, runtime},
		"not renewed, the longest runtime":     {timing{"30s", "0s", "168h", "10s", ""}, runtime},
		"timed out, the shortest lease":        {timing{"5s", "500ms", "20m", "1s", "1501ms"}, timeout},
		"timed out, the longest lease":         {timing{"24h", "5s", "24h", "10s", "24h"}, timeout},
		"timed out, the longest grace":         {timing{"2h", "5s", "2h", "1h", "36m"}, timeout},
		"timed out, interval and lease filled": {timing{"60s", "20s", "20m", "6s", "21001ms"}, timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := create(t, tc.timing.manifest())
			checkRefusal(t, err, "spec."+tc.refusal)
		})
	}
}

func TestOneMistakeGivesOneMessage(t *testing.T) {
	t.Parallel()
	const pattern = "in body should match '^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$'"
	longest := strings.Repeat("99999h", 5)
	for field, refusals := range map[string]map[string]string{
		"leaseDuration": {"1d": pattern, "2562048h": pattern, longest: "must be 5s to 24h", "1s": "must be 5s to 24h",
			"48h": "must be 5s to 24h", "10s": "renewalInterval 5s is too long", "15s": "leaseDuration 15s is too short"},
		"renewalInterval": {"1d": pattern, "2562048h": pattern, longest: "is too long", "249ms": "at least 250ms",
			"20s": "is too long", "0s": "maxRuntime 20m + stopGracePeriod 10s"},
		"maxRuntime":      {"1d": pattern, "2562048h": pattern, longest: "must be 1s to 168h", "0s": "must be 1s to 168h"},
		"stopGracePeriod": {"1d": pattern, "2562048h": pattern, longest: "must be 1s to 1h", "2h": "must be 1s to 1h"},
		"renewalTimeout": {"1d": pattern, "2562048h": pattern, longest: "must be 100ms to 24h", "25h": "must be 100ms to 24h",
			"24h": "must fit into 80% of leaseDuration 30s"},
	} {
		for value, refusal := range refusals {
			t.Run(field+" "+value, func(t *testing.T) {
				t.Parallel()
				_, err := create(t, spec(t, field, value))
				checkRefusal(t, err, refusal)
			})
		}
	}
	t.Run("a lease too short for no renewals", func(t *testing.T) {
		t.Parallel()
		_, err := create(t, timing{"30s", "0s", "5s", "30s", ""}.manifest())
		checkRefusal(t, err, "leaseDuration 30s is too short")
	})
}

// checkRefusal compares the API server's answer with what its one message should say; an empty refusal wants no refusal.
func checkRefusal(t *testing.T, err error, refusal string) {
	t.Helper()
	switch {
	case refusal == "" && err != nil:
		t.Errorf("refused: %v", err)
	case refusal != "" && err == nil:
		t.Errorf("accepted; want a refusal that says %q", refusal)
	case refusal != "" && !strings.Contains(err.Error(), refusal):
		t.Errorf("refused with other words than %q: %v", refusal, err)
	case refusal != "" && apierrors.IsInvalid(err) && mistakes(err) != 1:
		t.Errorf("refused for %d reasons instead of one: %v", mistakes(err), err)
	}
}

// mistakes counts the messages of a refusal but for the API server's remark, which has no field, that it looked no further.
func mistakes(err error) int {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return 0
	}
	count := 0
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "<nil>" {
			count++
		}
	}
	return count
}
