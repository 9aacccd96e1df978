package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Trace is a Job that may start a pod, or a pod that has not ended, and whose it is by its labels.
type Trace struct {
	// ReportJob, UID, Owner and Token are those of the execution; see Sibling.
	ReportJob    string
	UID          types.UID
	Owner, Token string
	// Gone says that there is no ReportJob with the UID.
	Gone bool
	// Pod and Node are those of a pod; empty for a Job.
	Pod, Node string
	// Deleting says that it has a deletion timestamp.
	Deleting bool
}

// SiblingsOf finds what may run beside a ReportJob: the executions of others, which have its namespace and jobID, as far as those
// are not finished, and what traces of Jobs and pods tell of any execution but its own. A Job of its own under another token is a
// stray and not among them.
func SiblingsOf(reportJob *v1alpha1.ReportJob, others []*v1alpha1.ReportJob, traces []Trace) []Sibling {
	var siblings []Sibling
	for _, other := range others {
		if other.UID != reportJob.UID && SharesLease(other, reportJob) && HoldsLease(other) {
			siblings = append(siblings, siblingIn(other))
		}
	}
	for i := range traces {
		if !isOwn(&traces[i], reportJob) && !isGivenUp(&traces[i], append(slices.Clip(others), reportJob)) {
			siblings = addTrace(siblings, &traces[i])
		}
	}
	slices.SortFunc(siblings, func(a, b Sibling) int {
		return cmp.Or(cmp.Compare(a.ReportJob, b.ReportJob), cmp.Compare(a.UID, b.UID), cmp.Compare(a.Token, b.Token))
	})
	return siblings
}

// SharesLease says that two ReportJobs run under one lease: they have the same leaseKey or, without one, the same namespace and
// jobID.
func SharesLease(a, b *v1alpha1.ReportJob) bool {
	if a.Spec.LeaseKey != "" || b.Spec.LeaseKey != "" {
		return a.Spec.LeaseKey == b.Spec.LeaseKey
	}
	return a.Namespace == b.Namespace && a.JobID() == b.JobID()
}

// Ahead is how many of the others wait for the lease of a ReportJob and have done so for longer.
func Ahead(reportJob *v1alpha1.ReportJob, others []*v1alpha1.ReportJob) int {
	ahead := 0
	for _, other := range others {
		if other.UID != reportJob.UID && SharesLease(other, reportJob) && isWaiting(other) && waitsBefore(other, reportJob) {
			ahead++
		}
	}
	return ahead
}

func isWaiting(reportJob *v1alpha1.ReportJob) bool {
	return reportJob.Status.Phase == v1alpha1.PhaseWaiting && reportJob.Status.WaitingSince != nil &&
		reportJob.DeletionTimestamp.IsZero() && reportJob.Status.Reason != v1alpha1.ReasonLeaseKeyNotAllowed
}

func waitsBefore(a, b *v1alpha1.ReportJob) bool {
	since := b.Status.WaitingSince
	if since == nil {
		return true
	}
	return cmp.Or(a.Status.WaitingSince.Compare(since.Time), cmp.Compare(a.Name, b.Name)) < 0
}

// HoldsLease says that a ReportJob has an execution and is not finished.
func HoldsLease(reportJob *v1alpha1.ReportJob) bool {
	return reportJob.Status.Execution != nil &&
		!meta.IsStatusConditionTrue(reportJob.Status.Conditions, v1alpha1.ConditionFinished)
}

// KeepsLease says that a ReportJob runs, or is being stopped, under the lease of an owner and a token, and that this one is to be
// renewed: for a replica that does not lead and only reads what the leader has written down.
func KeepsLease(reportJob *v1alpha1.ReportJob, owner, token string) bool {
	status := &reportJob.Status
	if !HoldsLease(reportJob) || status.Execution.Owner != owner || status.Execution.Token != token {
		return false
	}
	return status.Completion == nil && (status.Stop == nil || !letsLapse(reportJob))
}

// letsLapse says that the lease of a stopped execution is not renewed: it cannot be relied on, or it shall be another's.
func letsLapse(reportJob *v1alpha1.ReportJob) bool {
	reason := reportJob.Status.Stop.Reason
	fenced := reason == v1alpha1.ReasonNodeLost && reportJob.Spec.LostNode == v1alpha1.LostNodeFenceAndTakeOver
	return fenced || ownershipEnded(reason)
}

func siblingIn(other *v1alpha1.ReportJob) Sibling {
	status := &other.Status
	return Sibling{
		ReportJob: other.Name, UID: other.UID, Owner: status.Execution.Owner, Token: status.Execution.Token,
		HasJob:   status.Execution.JobUID != "",
		Stopping: status.Stop != nil || !other.DeletionTimestamp.IsZero(),
		Pod:      status.Execution.Pod, Node: status.Execution.Node,
	}
}

func isOwn(trace *Trace, reportJob *v1alpha1.ReportJob) bool {
	if trace.UID != reportJob.UID {
		return false
	}
	execution := reportJob.Status.Execution
	return trace.Pod == "" || (execution != nil && execution.Token == trace.Token)
}

// isGivenUp says that nobody waits for the end of what left the trace: its token is recorded as superseded.
func isGivenUp(trace *Trace, known []*v1alpha1.ReportJob) bool {
	return slices.ContainsFunc(known, func(r *v1alpha1.ReportJob) bool {
		return r.UID == trace.UID && isSuperseded(r, trace.Token)
	})
}

func addTrace(siblings []Sibling, trace *Trace) []Sibling {
	at := slices.IndexFunc(siblings, func(s Sibling) bool { return s.UID == trace.UID && s.Token == trace.Token })
	if at < 0 {
		at = len(siblings)
		siblings = append(siblings, Sibling{
			ReportJob: trace.ReportJob, UID: trace.UID, Owner: trace.Owner, Token: trace.Token, Gone: trace.Gone,
		})
	}
	s := &siblings[at]
	s.HasJob, s.Stopping = true, s.Stopping || trace.Deleting
	if trace.Pod != "" {
		s.Pod, s.Node = trace.Pod, trace.Node
	}
	return siblings
}
