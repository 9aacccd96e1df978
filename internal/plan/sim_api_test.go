package plan_test

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// simJob is a Job of the simulated cluster.
type simJob struct {
	plan.Job
	owner types.UID
	token string
	// podMade says that the Job controller created a pod for it.
	podMade bool
}

// simPod is a pod of the simulated cluster, and what its node knows of its process.
type simPod struct {
	plan.Pod
	job, owner types.UID
	token      string
	// counted says that the Job controller took its tracking finalizer off.
	counted bool
	// lost says that its node does not answer.
	lost bool
}

// objects is what an API server stores, or what a cache remembers of it.
type objects struct {
	reportJobs map[string]*v1alpha1.ReportJob
	jobs       map[string]simJob
	pods       map[types.UID]simPod
}

func newObjects() objects {
	return objects{
		reportJobs: map[string]*v1alpha1.ReportJob{}, jobs: map[string]simJob{}, pods: map[types.UID]simPod{},
	}
}

// sorted returns the keys of a map in order, so that a seed means one history.
func sorted[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// observe gathers an Observation as the controller does; nil if the ReportJob is not there.
func (o *objects) observe(name string) *plan.Observation {
	reportJob := o.reportJobs[name]
	if reportJob == nil {
		return nil
	}
	obs := &plan.Observation{ReportJob: reportJob.DeepCopy()}
	o.observeJobs(obs)
	o.observePods(obs)
	return obs
}

func (o *objects) observeJobs(obs *plan.Observation) {
	obs.Job, obs.Strays = nil, nil
	execution := obs.ReportJob.Status.Execution
	for _, name := range sorted(o.jobs) {
		job := o.jobs[name]
		ours := job.owner == obs.ReportJob.UID
		switch {
		case execution != nil && name == execution.Job:
			own := job.Job
			own.Ours = ours && job.token == execution.Token
			obs.Job = &own
		case ours:
			obs.Strays = append(obs.Strays, job.Job)
		}
	}
}

func (o *objects) observePods(obs *plan.Observation) {
	obs.Pods = nil
	execution := obs.ReportJob.Status.Execution
	if execution == nil {
		return
	}
	for _, uid := range sorted(o.pods) {
		if pod := o.pods[uid]; pod.owner == obs.ReportJob.UID && pod.token == execution.Token {
			obs.Pods = append(obs.Pods, pod.Pod)
		}
	}
}

// update replaces a ReportJob if its resource version is still the given one. It returns the new one, or "" if refused.
func (w *world) update(name, version string, change func(*v1alpha1.ReportJob)) string {
	stored := w.api.reportJobs[name]
	if stored == nil || stored.ResourceVersion != version {
		return ""
	}
	next := stored.DeepCopy()
	change(next)
	next.ResourceVersion = w.unique("v")
	w.api.reportJobs[name] = next
	if next.DeletionTimestamp != nil && len(next.Finalizers) == 0 {
		delete(w.api.reportJobs, name)
		w.checkGone(next)
	}
	w.checkUpdate(stored, next)
	return next.ResourceVersion
}

// apply creates a ReportJob.
func (w *world) apply(name, jobID string) {
	var ttl *int32
	if w.oneIn(4) {
		ttl = new(int32(w.random.IntN(60)))
	}
	w.api.reportJobs[name] = &v1alpha1.ReportJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", UID: types.UID(w.unique("rj")), ResourceVersion: w.unique("v"), Generation: 1,
		},
		Spec: v1alpha1.ReportJobSpec{
			JobID: jobID, LeaseDuration: "30s", StopGracePeriod: "4s", MaxRuntime: oneOf[v1alpha1.Duration](w, "30s", "10m"),
			Contention: v1alpha1.Contention{
				Policy:  oneOf(w, v1alpha1.ContentionWait, v1alpha1.ContentionWait, v1alpha1.ContentionSkip),
				Timeout: oneOf[v1alpha1.Duration](w, "25s", "1h"),
			},
			Retry:    v1alpha1.Retry{MaxAttempts: oneOf[int32](w, 1, 2, 3), Backoff: oneOf[v1alpha1.Duration](w, "0s", "10s")},
			LostNode: oneOf(w, v1alpha1.LostNodeWait, v1alpha1.LostNodeFenceAndTakeOver), TTLSecondsAfterFinished: ttl,
		},
	}
	w.jobIDs[w.api.reportJobs[name].UID] = jobID
}

// oneOf is one of the values.
func oneOf[T any](w *world, values ...T) T { return values[w.random.IntN(len(values))] }

// suspend is kubectl patch reportjob with spec.suspend.
func (w *world) suspend(name string, suspend bool) {
	reportJob := w.api.reportJobs[name]
	if reportJob.Spec.Suspend == suspend {
		return
	}
	w.log("%s: suspend %v", name, suspend)
	w.update(name, reportJob.ResourceVersion, func(r *v1alpha1.ReportJob) {
		r.Spec.Suspend = suspend
		r.Generation++
	})
}

// vouch is kubectl annotate reportjob with force-release, for the token of the execution or a wrong one.
func (w *world) vouch(name string) {
	reportJob, token := w.api.reportJobs[name], "4711"
	if execution := reportJob.Status.Execution; execution != nil && w.oneIn(2) {
		token = execution.Token
	}
	w.log("%s: force-release=%s", name, token)
	w.update(name, reportJob.ResourceVersion, func(r *v1alpha1.ReportJob) {
		r.Annotations = map[string]string{v1alpha1.AnnotationForceRelease: token}
	})
}

// remove is kubectl delete reportjob.
func (w *world) remove(name string) {
	reportJob := w.api.reportJobs[name]
	if reportJob == nil || reportJob.DeletionTimestamp != nil {
		return
	}
	w.update(name, reportJob.ResourceVersion, func(r *v1alpha1.ReportJob) {
		at := metav1.NewTime(w.now)
		r.DeletionTimestamp = &at
		r.Generation++
	})
}

// unique returns a name that was never used before in this world.
func (w *world) unique(prefix string) string {
	w.names++
	return fmt.Sprintf("%s-%06d", prefix, w.names)
}

func (w *world) deleteJob(name string, uid types.UID) {
	if job, ok := w.api.jobs[name]; ok && job.UID == uid {
		job.Deleting = true
		w.api.jobs[name] = job
	}
}

func (w *world) deletePod(uid types.UID) {
	pod, ok := w.api.pods[uid]
	if !ok || pod.Deleting {
		return
	}
	pod.Deleting = true
	w.api.pods[uid] = pod
	if process := w.processes[uid]; process != nil && process.alive {
		process.killAt = w.now.Add(grace)
	}
}
