package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// matter is what the rules look at: the observation, its parts by short names, and what follows from them.
type matter struct {
	*Observation
	now time.Time
	// execution, stop and completion are those of the status; nil while there is none. Rules do not change them.
	execution  *v1alpha1.Execution
	stop       *v1alpha1.Stop
	completion *v1alpha1.Completion
	finished   bool
	deleted    bool
}

func newMatter(observation *Observation, now time.Time) *matter {
	status := &observation.ReportJob.Status
	m := &matter{
		Observation: observation,
		now:         now,
		execution:   status.Execution,
		finished:    meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionFinished),
		deleted:     !observation.ReportJob.DeletionTimestamp.IsZero(),
	}
	if m.execution != nil { // without an execution the operator wrote neither
		m.stop, m.completion = status.Stop, status.Completion
	}
	return m
}

// underWay says that there is an execution of which neither a stop nor an end is recorded.
func (m *matter) underWay() bool {
	return m.execution != nil && m.stop == nil && m.completion == nil && !m.finished
}

// ownJob is the Job of the execution, or nil if there is none or the name belongs to somebody else's.
func (m *matter) ownJob() *Job {
	if m.Job == nil || m.execution == nil || !m.Job.Ours {
		return nil
	}
	return m.Job
}

// pod is the execution's pod: the recorded one, or the first seen; nil if there is none.
func (m *matter) pod() *Pod {
	if m.execution == nil || len(m.Pods) == 0 {
		return nil
	}
	if m.execution.PodUID != "" {
		return findPod(m.Pods, m.execution.PodUID)
	}
	return &m.Pods[0]
}

// podsAlive are the pods of the token whose end is not proven.
func (m *matter) podsAlive() []Pod {
	var alive []Pod
	for i := range m.Pods {
		if !m.Pods[i].ProvenDead() {
			alive = append(alive, m.Pods[i])
		}
	}
	return alive
}

// processEnded says that every process of the execution is proven gone: there are pods and each of them ended by the
// kubelet's word, or there never was a Job. A pod that merely is not there any more proves nothing; nor does the end of
// one pod of a disturbed Job, which may have had another.
func (m *matter) processEnded() bool {
	if len(m.podsAlive()) > 0 || (m.stop != nil && m.stop.Reason == v1alpha1.ReasonJobDisturbed) {
		return false
	}
	if uid := m.execution.PodUID; uid != "" {
		return findPod(m.Pods, uid) != nil
	}
	return len(m.Pods) > 0 || (m.execution.JobUID == "" && m.Job == nil)
}

// runtimeEnd is when maxRuntime is over. It counts from the grant, by the operator's clock.
func (m *matter) runtimeEnd() time.Time {
	return m.execution.AcquiredAt.Add(maxRuntime(&m.ReportJob.Spec))
}

// elapsed is the time since the grant; never negative.
func elapsed(execution *v1alpha1.Execution, now time.Time) time.Duration {
	if execution == nil {
		return 0
	}
	return max(0, now.Sub(execution.AcquiredAt.Time))
}
