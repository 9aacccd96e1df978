//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

func TestKubectlApplyRefusesABadSpecWithTheFieldAndTheRule(t *testing.T) {
	t.Parallel()
	good := report{name: "bad", jobID: "bad", timing: shortTiming, script: quickScript}.manifest()
	for name, tc := range map[string]struct{ old, instead, want string }{
		"a lease too short":            {"leaseDuration: 15s", "leaseDuration: 1s", "spec.leaseDuration"},
		"renewals too rare":            {"renewalInterval: 2s", "renewalInterval: 8s", "spec.renewalInterval"},
		"a grace beyond the lease":     {"stopGracePeriod: 4s", "stopGracePeriod: 14s", "stopGracePeriod 14s"},
		"a duration nobody can parse":  {"leaseDuration: 15s", "leaseDuration: 1d", "spec.leaseDuration"},
		"a maxRuntime below the lease": {"leaseDuration: 15s", "leaseDuration: 15s\n  maxRuntime: 10s", "spec.maxRuntime"},
		"a guard that does not exist":  {"leaseDuration: 15s", "leaseDuration: 15s\n  guard: Supervise", "spec.guard"},
		"a jobID that is no key":       {"jobID: bad", "jobID: 'a{b}'", "spec.jobID"},
		"two pods at once": {"  jobTemplate:\n    spec:\n", "  jobTemplate:\n    spec:\n      parallelism: 2\n",
			"spec.jobTemplate.spec.parallelism"},
		"two pods in turn": {"  jobTemplate:\n    spec:\n", "  jobTemplate:\n    spec:\n      completions: 2\n",
			"spec.jobTemplate.spec.completions"},
		"a backoff of its own": {"  jobTemplate:\n    spec:\n", "  jobTemplate:\n    spec:\n      backoffLimit: 3\n",
			"spec.jobTemplate.spec.backoffLimit"},
		"a restart policy of its own": {"          containers:\n", "          restartPolicy: OnFailure\n          containers:\n",
			"spec.jobTemplate.spec.template.spec.restartPolicy"},
		"a misspelt field in the template": {"            command:", "            comand:", "comand"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(good, tc.old, tc.instead, 1)
			if bad == good {
				t.Fatalf("the manifest has no %q to replace", tc.old)
			}
			if said := refused(t, bad); !strings.Contains(said, tc.want) {
				t.Errorf("the refusal does not name %s:\n%s", tc.want, said)
			}
			if left := kubectl(t, "get", "reportjobs", "bad", "--ignore-not-found", "-o", "name"); left != "" {
				t.Errorf("a refused manifest left %s behind", left)
			}
		})
	}
}
