//go:build e2e

package e2e

import (
	"fmt"
)

// report is a ReportJob of the tests: what differs from one to the next.
type report struct {
	name, jobID, script string
	// timing is the YAML of the duration fields, indented by two; empty takes the defaults.
	timing string
	// more is the YAML of further fields of the spec, indented by two; empty has a report that is not repeated.
	more string
	// memory is the container's limit; empty for none.
	memory string
}

// These times keep a test short and are valid together.
const shortTiming = `
  leaseDuration: 15s
  renewalInterval: 2s
  stopGracePeriod: 4s`

// manifest renders the report for the restricted Pod Security standard.
func (r report) manifest() string {
	if r.more == "" {
		r.more = onceOnly
	}
	resources := ""
	if r.memory != "" {
		resources = fmt.Sprintf("\n            resources: {limits: {memory: %s}}", r.memory)
	}
	return fmt.Sprintf(`apiVersion: leasehold.dev/v1alpha1
kind: ReportJob
metadata: {name: %s}
spec:
  jobID: %s%s%s
  jobTemplate:
    spec:
      template:
        spec:
          securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
          containers:
          - name: report
            image: docker.io/local/busybox:1
            imagePullPolicy: IfNotPresent%s
            securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
            command: ["/bin/sh", "-c", %q]
`, r.name, r.jobID, r.timing, r.more, resources, r.script)
}

// onceOnly has the first attempt decide.
const onceOnly = `
  retry: {maxAttempts: 1}`

const (
	// quickScript shows what the report can know of its lease and ends well.
	quickScript = `env | grep ^LEASEHOLD_ | sort; sleep 1; echo done`
	// obedientScript runs for long and ends at once when it is told to.
	obedientScript = `trap 'echo told to stop; exit 0' TERM; echo started; while :; do sleep 0.2; done`
	// stubbornScript does not listen.
	stubbornScript = `trap 'echo told to stop, going on' TERM; echo started; while :; do sleep 0.2; done`
)
