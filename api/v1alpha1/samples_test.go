package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatWeShowToUsersIsAccepted(t *testing.T) {
	t.Parallel()
	for name, manifest := range shown(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reportJob := object(t, manifest)
			reportJob.SetNamespace("")
			_, err := reportJobs.Create(t.Context(), reportJob,
				metav1.CreateOptions{FieldValidation: "Strict", DryRun: []string{metav1.DryRunAll}})
			checkRefusal(t, err, "")
		})
	}
}

// shown are the samples and the example of the reference.
func shown(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifests := map[string]string{}
	for _, file := range files {
		if name := filepath.Base(file); name != "kustomization.yaml" {
			manifests[name] = read(t, file)
		}
	}
	if len(manifests) < 4 {
		t.Fatalf("the samples are somewhere else: %v", files)
	}
	_, rest, _ := strings.Cut(read(t, "../../docs/reportjob.md"), "```yaml\n")
	manifests["docs/reportjob.md"], _, _ = strings.Cut(rest, "```")
	return manifests
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
