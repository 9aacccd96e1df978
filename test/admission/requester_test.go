package admission

import (
	"testing"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// The rights that a ReportJob asks of whoever starts it.
var (
	createsJobs  = may("create", "batch", "jobs")
	createsPods  = may("create", "", "pods")
	deletesPods  = may("delete", "", "pods")
	deletesJobs  = may("delete", "batch", "jobs")
	writesStatus = may("patch", "leasehold.dev", "reportjobs/status")
)

// What is said to those who lack one.
const (
	noJobs        = "may not create jobs (batch) in namespace "
	noPods        = "may not create pods in namespace "
	noDeletedPods = "may not delete pods in namespace "
	noDeletedJobs = "may not delete jobs (batch) in namespace "
)

func TestAReportJobIsCreatedOnlyByThoseWhoMayCreateJobsAndPods(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rights  []right
		refusal string
	}{
		"an editor of ReportJobs may do nothing with them alone":        {[]right{editsReports}, noJobs},
		"one who may create pods and no Jobs is told of Jobs":           {[]right{editsReports, createsPods}, noJobs},
		"one who may create Jobs and no pods is told of pods":           {[]right{editsReports, createsJobs}, noPods},
		"one who may create both may":                                   {[]right{editsReports, createsJobs, createsPods}, ""},
		"the ClusterRole edit of Kubernetes is enough":                  {[]right{editsReports, edits}, ""},
		"other verbs on Jobs and pods do not stand in for their making": {[]right{editsReports, deletesJobs, deletesPods}, noJobs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			refusal := tc.refusal
			if refusal != "" {
				refusal += namespace + ": ask an administrator of it for a role that allows it, such as the ClusterRole edit"
			}
			expect(t, newUser(t, namespace, tc.rights...).Create(t.Context(), reportJob(namespace)), requester, refusal)
		})
	}
}

func TestTheRightsCountInTheNamespaceOfTheReportJobOnly(t *testing.T) {
	t.Parallel()
	home, other := newNamespace(t), newNamespace(t)
	name := "guest-of-" + other
	for namespace, rights := range map[string][]right{home: {editsReports, edits}, other: {editsReports}} {
		for _, right := range rights {
			if err := grantTo(t.Context(), name, namespace, right); err != nil {
				t.Fatal(err)
			}
		}
	}
	guest := as(t, name)
	expect(t, guest.Create(t.Context(), reportJob(home)), requester, "")
	expect(t, guest.Create(t.Context(), reportJob(other)), requester, name+" "+noJobs+other)
}

func TestASuperuserPasses(t *testing.T) {
	t.Parallel()
	report := created(t, reportJob(newNamespace(t)))
	report.Spec.Suspend = false
	report.Annotations = map[string]string{v1alpha1.AnnotationForceRelease: "1"}
	expect(t, admin.Update(t.Context(), report), requester, "")
}
