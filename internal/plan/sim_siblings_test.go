package plan_test

import (
	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// observeSiblings finds what may run beside a ReportJob: the ReportJobs come from one view, which may be live, and the traces
// from a cache.
func (w *world) observeSiblings(obs *plan.Observation, reportJobs, cache *objects) {
	obs.Siblings = nil
	if finished(&obs.ReportJob.Status) {
		return
	}
	var others []*v1alpha1.ReportJob
	for _, name := range sorted(reportJobs.reportJobs) {
		others = append(others, reportJobs.reportJobs[name])
	}
	var traces []plan.Trace
	for _, trace := range cache.traces() {
		if w.jobIDs[trace.UID] == obs.ReportJob.JobID() {
			trace.Gone = w.reportJobOf(trace.UID) == nil
			traces = append(traces, trace)
		}
	}
	obs.Siblings = plan.SiblingsOf(obs.ReportJob, others, traces)
	obs.Ahead, obs.LeaseKeyDenied = plan.Ahead(obs.ReportJob, others), w.denied[obs.ReportJob.Name]
}

// traces are the Jobs that may start a pod, and the pods that have not ended.
func (o *objects) traces() []plan.Trace {
	var traces []plan.Trace
	ended := map[string]bool{}
	for _, uid := range sorted(o.pods) {
		pod := o.pods[uid]
		if pod.Terminal() {
			ended[string(pod.owner)+"|"+pod.token] = true
			continue
		}
		traces = append(traces, plan.Trace{UID: pod.owner, Token: pod.token, Pod: pod.Name, Node: pod.Node, Deleting: pod.Deleting})
	}
	for _, name := range sorted(o.jobs) {
		job := o.jobs[name]
		if !job.Deleting && job.Ended == nil && !ended[string(job.owner)+"|"+job.token] {
			traces = append(traces, plan.Trace{UID: job.owner, Token: job.token})
		}
	}
	return traces
}

// forgetAll is a FLUSHALL, or a restart of Redis without its data. The fence is seeded by the clock, so tokens go on rising.
func (w *world) forgetAll() {
	w.log("Redis lost its data")
	for _, jobID := range sorted(w.redis.leases) {
		w.taint(jobID, "Redis lost its data")
		if w.oneIn(4) { // it noticed
			w.redis.quiet[jobID] = w.now.Add(leaseDuration)
		}
	}
	clear(w.redis.leases)
}

// checkShown: two executions of a jobID never have living pods at once as far as the API server shows both, whatever Redis
// forgot and whoever took the lease.
func (w *world) checkShown() {
	living := map[string]string{}
	for _, uid := range sorted(w.api.pods) {
		running := w.processes[uid]
		if running == nil || !running.alive || w.beyond[running.jobID] {
			continue
		}
		execution := string(w.api.pods[uid].owner) + "|" + running.token
		if other, ok := living[running.jobID]; ok && other != execution {
			w.fail("the API server shows living pods of %s and %s, both of %s", other, execution, running.jobID)
		}
		living[running.jobID] = execution
	}
}

// exceed says that of a jobID something starts pods that no operator can hold back: somebody's copy of a Job, a Job controller
// that makes two, or a creation that was sent before its execution ended and takes effect after that.
func (w *world) exceed(jobID string) { w.beyond[jobID] = true }
