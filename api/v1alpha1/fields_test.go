package v1alpha1_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

func TestFieldsThatNameThingsAreCheckedOneByOne(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 128)
	for name, tc := range map[string]struct{ field, value, refusal string }{
		"a plain jobID":              {"jobID", "revenue", ""},
		"a jobID of all kinds":       {"jobID", "Revenue.2026_v-1", ""},
		"the longest jobID":          {"jobID", long, ""},
		"a jobID too long":           {"jobID", long + "a", "spec.jobID"},
		"an empty jobID":             {"jobID", "''", "spec.jobID"},
		"a jobID with a brace":       {"jobID", "'a{b'", "spec.jobID"},
		"a jobID with a slash":       {"jobID", "a/b", "spec.jobID"},
		"a jobID with a bar":         {"jobID", "'a|b'", "spec.jobID"},
		"a jobID with a space":       {"jobID", "'a b'", "spec.jobID"},
		"a jobID that begins badly":  {"jobID", "'-a'", "spec.jobID"},
		"no occurrence":              {"occurrence", "''", ""},
		"a time as occurrence":       {"occurrence", "'2026-11-30T02:00:00+01:00'", ""},
		"an occurrence with a space": {"occurrence", "'a b'", "spec.occurrence"},
		"the longest occurrence":     {"occurrence", long, ""},
		"an occurrence too long":     {"occurrence", long + "a", "spec.occurrence"},
		"the only guard there is":    {"guard", "'Off'", ""},
		"a guard that is to come":    {"guard", "Supervise", "spec.guard"},
		"waiting":                    {"contention", "{policy: Wait, timeout: 0s}", ""},
		"the longest patience":       {"contention", "{timeout: 168h}", ""},
		"waiting too long": {"contention", "{timeout: 168h1ms}",
			`spec.contention.timeout: Invalid value: "168h1ms": must be 0s to 168h`},
		"a patience that is no time": {"contention", "{timeout: 2562048h}", "spec.contention.timeout in body should match"},
		"another policy":             {"contention", "{policy: Replace}", "spec.contention.policy"},
		"a field that is to come":    {"inputs", "{}", "unknown field \"spec.inputs\""},
		"skipping":                   {"contention", "{policy: Skip}", ""},
		"a suspended report":         {"suspend", "true", ""},
		"a suspension that is text":  {"suspend", "'true'", "spec.suspend"},
		"to go at once":              {"ttlSecondsAfterFinished", "0", ""},
		"to go before the end":       {"ttlSecondsAfterFinished", "-1", "spec.ttlSecondsAfterFinished"},
		"a lost node is waited for":  {"lostNode", "Wait", ""},
		"a lost node is fenced":      {"lostNode", "FenceAndTakeOver", ""},
		"a lost node is forgotten":   {"lostNode", "Forget", "spec.lostNode"},
		"a shared lease":             {"leaseKey", "group-close:eu", ""},
		"a lease of a namespace":     {"leaseKey", "finance/revenue", "spec.leaseKey"},
		"an empty lease key":         {"leaseKey", "''", "spec.leaseKey"},
		"a lease key with a brace":   {"leaseKey", "'a}b'", "spec.leaseKey"},
		"a lease key too long":       {"leaseKey", long + "a", "spec.leaseKey"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifest := spec(t, tc.field, tc.value)
			if tc.field == "contention" {
				manifest = edit(t, "  contention:\n    timeout: 1h\n", "  contention: "+tc.value+"\n")
			}
			_, err := create(t, manifest)
			checkRefusal(t, err, tc.refusal)
		})
	}
}

func TestANameThatIsTheJobIDIsNoLongerThanOne(t *testing.T) {
	t.Parallel()
	named := func(length int) string {
		return "metadata:\n  name: " + strings.Repeat("n", length) + "\n"
	}
	for name, tc := range map[string]struct {
		length  int
		jobID   string
		refusal string
	}{
		"the longest":                {128, "", ""},
		"too long":                   {129, "", "a name of more than 128 characters is too long for a jobID: set jobID"},
		"too long, with a jobID":     {129, "  jobID: revenue\n", ""},
		"the longest name, with one": {253, "  jobID: revenue\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifest := edit(t, "metadata:\n  generateName: report-\nspec:\n  jobID: revenue\n", named(tc.length)+"spec:\n"+tc.jobID)
			_, err := create(t, manifest)
			checkRefusal(t, err, tc.refusal)
		})
	}
}

func TestEveryDurationThatIsAcceptedDecodes(t *testing.T) {
	t.Parallel()
	refused := []string{"1d", "'2 weeks'", "PT1H", "'1 hour'", "'-30s'", "'600'", "1.5m", "''", "s", "30S", "1ns", "10y",
		"30s30", "9223372036854775807h", strings.Repeat("1s", 17)}
	for _, value := range refused {
		_, err := create(t, spec(t, "maxRuntime", value))
		checkRefusal(t, err, "spec.maxRuntime")
	}
	for _, value := range []string{"30s", "1m30s", "2m1500ms", "0h20m", "1h1m1s1ms", "090s"} {
		created, err := create(t, spec(t, "maxRuntime", value))
		if err != nil {
			t.Errorf("maxRuntime %s was refused: %v", value, err)
			continue
		}
		if _, err := time.ParseDuration(string(typed(t, created).Spec.MaxRuntime)); err != nil {
			t.Errorf("maxRuntime %s was accepted and Go cannot read it: %v", value, err)
		}
	}
}

func typed(t *testing.T, created *unstructured.Unstructured) *v1alpha1.ReportJob {
	t.Helper()
	var rj v1alpha1.ReportJob
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(created.Object, &rj); err != nil {
		t.Fatalf("the typed client cannot decode what the API server accepted: %v", err)
	}
	return &rj
}

func TestWhatIsLeftOutTakesTheDefaults(t *testing.T) {
	t.Parallel()
	created, err := create(t, timing{}.manifest())
	if err != nil {
		t.Fatal(err)
	}
	got := typed(t, created).Spec
	got.JobTemplate = v1alpha1.ReportJobSpec{}.JobTemplate
	want := v1alpha1.ReportJobSpec{JobID: "revenue", Occurrence: "2026-11", LeaseDuration: "30s", RenewalInterval: "5s",
		MaxRuntime: "20m", StopGracePeriod: "10s", Guard: v1alpha1.GuardOff,
		Contention: v1alpha1.Contention{Policy: v1alpha1.ContentionWait, Timeout: "1h"},
		Retry:      v1alpha1.Retry{MaxAttempts: 3, Backoff: "10s"}, LostNode: v1alpha1.LostNodeWait}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAReportCannotBeChangedButForHowItGoesOn(t *testing.T) {
	t.Parallel()
	nameless := edit(t, "  jobID: revenue\n  occurrence: 2026-11\n", "")
	impatient := spec(t, "renewalTimeout", "1s")
	keyed, triggered := spec(t, "leaseKey", "group-close"), spec(t, "trigger", "{kind: Manual, by: ann}")
	for name, tc := range map[string]struct {
		before, path, value string
		refusal             string
	}{
		"another jobID":           {baseManifest, "jobID", "other", "spec.jobID: Invalid value: jobID is immutable"},
		"jobID taken out":         {baseManifest, "jobID", "", "jobID is immutable"},
		"jobID added":             {nameless, "jobID", "revenue", "jobID is immutable"},
		"another occurrence":      {baseManifest, "occurrence", "2026-12", "spec.occurrence: Invalid value: occurrence is immutable"},
		"occurrence taken out":    {baseManifest, "occurrence", "", "occurrence is immutable"},
		"occurrence added":        {nameless, "occurrence", "2026-11", "occurrence is immutable"},
		"leaseDuration":           {baseManifest, "leaseDuration", "31s", "leaseDuration is immutable"},
		"renewalInterval":         {baseManifest, "renewalInterval", "4s", "renewalInterval is immutable"},
		"maxRuntime":              {baseManifest, "maxRuntime", "21m", "maxRuntime is immutable"},
		"stopGracePeriod":         {baseManifest, "stopGracePeriod", "9s", "stopGracePeriod is immutable"},
		"another renewalTimeout":  {impatient, "renewalTimeout", "2s", "renewalTimeout is immutable"},
		"renewalTimeout added":    {baseManifest, "renewalTimeout", "1s", "renewalTimeout is immutable"},
		"renewalTimeout gone":     {impatient, "renewalTimeout", "", "renewalTimeout is immutable"},
		"the template":            {baseManifest, "jobTemplate.metadata.labels.team", "sales", "jobTemplate is immutable"},
		"contention.timeout":      {baseManifest, "contention.timeout", "2h", ""},
		"contention taken out":    {baseManifest, "contention", "", ""},
		"another leaseKey":        {keyed, "leaseKey", "other", "leaseKey is immutable"},
		"leaseKey added":          {baseManifest, "leaseKey", "other", "leaseKey is immutable"},
		"leaseKey taken out":      {keyed, "leaseKey", "", "leaseKey is immutable"},
		"another trigger":         {triggered, "trigger.by", "joe", "trigger is immutable"},
		"trigger taken out":       {triggered, "trigger", "", "trigger is immutable"},
		"trigger added":           {baseManifest, "trigger.kind", "Manual", "trigger is immutable"},
		"retry":                   {baseManifest, "retry.backoff", "1s", ""},
		"lostNode":                {baseManifest, "lostNode", "FenceAndTakeOver", ""},
		"nothing, with all there": {impatient, "occurrence", "2026-11", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created, err := create(t, tc.before)
			if err != nil {
				t.Fatal(err)
			}
			change(t, created, "spec."+tc.path, tc.value)
			_, err = reportJobs.Update(t.Context(), created, metav1.UpdateOptions{})
			checkRefusal(t, err, tc.refusal)
		})
	}
}

// change sets the field at a path, or takes it out if the value is empty.
func change(t *testing.T, object *unstructured.Unstructured, path, value string) {
	t.Helper()
	fields := strings.Split(path, ".")
	unstructured.RemoveNestedField(object.Object, fields...)
	if value == "" {
		return
	}
	if err := unstructured.SetNestedField(object.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
}

func TestStatusIsWrittenThroughItsSubresourceOnly(t *testing.T) {
	t.Parallel()
	created, err := create(t, baseManifest+"status: {phase: Running}\n")
	if err != nil {
		t.Fatal(err)
	}
	if phase := typed(t, created).Status.Phase; phase != "" {
		t.Errorf("a user set phase %s", phase)
	}
	if err := unstructured.SetNestedField(created.Object, "Dancing", "status", "phase"); err != nil {
		t.Fatal(err)
	}
	_, err = reportJobs.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	checkRefusal(t, err, "status.phase")
	if err := unstructured.SetNestedField(created.Object, "Running", "status", "phase"); err != nil {
		t.Fatal(err)
	}
	_, err = reportJobs.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	checkRefusal(t, err, "")
}
