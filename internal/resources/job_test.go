package resources

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// goldenCases are the folders' files: testdata/NAME.yaml is the ReportJob, testdata/NAME.golden.yaml its Job.
var goldenCases = []string{"plain", "everything-set", "hostile"}

func execution() *v1alpha1.Execution {
	return &v1alpha1.Execution{
		ID: testExecution, Owner: testExecution, Attempt: 2, Token: "91234567890",
		LeaseKey: "leasehold:{finance/revenue}:lease",
		Job:      JobName("revenue-2026-11", "91234567890", testExecution),
	}
}

func readReportJob(t *testing.T, name string) *v1alpha1.ReportJob {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var reportJob v1alpha1.ReportJob
	if err := yaml.UnmarshalStrict(manifest, &reportJob); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &reportJob
}

func TestJobForMatchesTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range goldenCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reportJob := readReportJob(t, name)
			granted := execution()
			if granted.Trigger = reportJob.Spec.Trigger; granted.Trigger != nil {
				granted.RetryOf = "fedcba9876543210fedcba9876543210"
			}
			job, err := JobFor(reportJob, granted)
			if err != nil {
				t.Fatal(err)
			}
			compareWithGolden(t, name, job)
		})
	}
}

func compareWithGolden(t *testing.T, name string, job *batchv1.Job) {
	t.Helper()
	got, err := yaml.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden.yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run go test -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestJobForSharesNothingWithTheReportJob(t *testing.T) {
	t.Parallel()
	reportJob := readReportJob(t, "everything-set")
	before := reportJob.DeepCopy()
	job, err := JobFor(reportJob, execution())
	if err != nil {
		t.Fatal(err)
	}
	job.Labels["changed"] = "yes"
	job.Spec.Template.Labels["changed"] = "yes"
	job.Spec.Template.Spec.Containers[0].Command[0] = "changed"
	job.Spec.Template.Spec.Containers[0].Env[0].Value = "changed"
	if diff := cmp.Diff(before, reportJob); diff != "" {
		t.Errorf("the ReportJob changed with its Job (-before +after):\n%s", diff)
	}
}

func TestJobForRoundsDurationsUpAndRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		maxRuntime, grace v1alpha1.Duration
		wantRuntime       int64
		wantError         string
	}{
		"whole seconds stay":      {maxRuntime: "20m", grace: "10s", wantRuntime: 1202},
		"a part of one counts":    {maxRuntime: "1500ms", grace: "10s", wantRuntime: 4},
		"a bad maxRuntime":        {maxRuntime: "1d", grace: "10s", wantError: "spec.maxRuntime"},
		"a missing grace is none": {maxRuntime: "1h", wantError: "spec.stopGracePeriod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reportJob := readReportJob(t, "plain")
			reportJob.Spec.MaxRuntime, reportJob.Spec.StopGracePeriod = tc.maxRuntime, tc.grace
			job, err := JobFor(reportJob, execution())
			if tc.wantError != "" {
				checkErrorNames(t, err, tc.wantError)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := []int64{*job.Spec.ActiveDeadlineSeconds, *job.Spec.Template.Spec.ActiveDeadlineSeconds}
			if diff := cmp.Diff([]int64{tc.wantRuntime, tc.wantRuntime}, got); diff != "" {
				t.Errorf("activeDeadlineSeconds of Job and pod (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJobForKeepsAReferenceOutOfItsOwnVariables(t *testing.T) {
	t.Parallel()
	reportJob := readReportJob(t, "plain")
	reportJob.Spec.Occurrence = "$(HOME)"
	job, err := JobFor(reportJob, execution())
	if err != nil {
		t.Fatal(err)
	}
	want := corev1.EnvVar{Name: v1alpha1.EnvOccurrence, Value: "$$(HOME)"}
	if diff := cmp.Diff(want, job.Spec.Template.Spec.Containers[0].Env[2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func checkErrorNames(t *testing.T, err error, field string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), field) {
		t.Errorf("error %v does not name %s", err, field)
	}
}
