package v1alpha1_test

import (
	"strings"
	"testing"
)

// baseManifest is valid. Tests change one line of it.
const baseManifest = `apiVersion: leasehold.dev/v1alpha1
kind: ReportJob
metadata:
  generateName: report-
spec:
  jobID: revenue
  occurrence: 2026-11
  leaseDuration: 30s
  renewalInterval: 5s
  maxRuntime: 20m
  stopGracePeriod: 10s
  contention:
    timeout: 1h
  jobTemplate:
    metadata:
      labels: {team: finance}
    spec:
      template:
        metadata:
          annotations: {team: finance}
        spec:
          initContainers:
          - name: fetch
            image: fetch
          containers:
          - name: report
            image: report
`

// edit replaces a part of baseManifest, which must be there.
func edit(t *testing.T, old, instead string) string {
	t.Helper()
	if !strings.Contains(baseManifest, old) {
		t.Fatalf("the base manifest has no %q", old)
	}
	return strings.Replace(baseManifest, old, instead, 1)
}

// inJob adds a line to the Job's spec, inPod to the pod's, inContainer and inInit to the container's.
func inJob(t *testing.T, line string) string {
	t.Helper()
	return edit(t, "    spec:\n      template:", "    spec:\n      "+line+"\n      template:")
}

func inPod(t *testing.T, line string) string {
	t.Helper()
	return edit(t, "          initContainers:", "          "+line+"\n          initContainers:")
}

func inContainer(t *testing.T, line string) string {
	t.Helper()
	return edit(t, "          - name: report", "          - name: report\n            "+line)
}

func inInit(t *testing.T, line string) string {
	t.Helper()
	return edit(t, "          - name: fetch", "          - name: fetch\n            "+line)
}

// spec replaces the value of a field of spec, or adds the field.
func spec(t *testing.T, field, value string) string {
	t.Helper()
	for line := range strings.Lines(baseManifest) {
		if strings.HasPrefix(line, "  "+field+": ") {
			return edit(t, line, "  "+field+": "+value+"\n")
		}
	}
	return edit(t, "  jobTemplate:\n", "  "+field+": "+value+"\n  jobTemplate:\n")
}
