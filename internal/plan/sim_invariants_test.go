package plan_test

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func finished(status *v1alpha1.ReportJobStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionFinished)
}

// checkDecision: a live observation leads to a decision, and to read live means to do nothing else.
func (w *world) checkDecision(obs plan.Observation, decision plan.Decision) {
	if !decision.ReadLive {
		return
	}
	if obs.Live || len(decision.Actions)+len(decision.Transitions) > 0 {
		w.fail("%s wants to read live: live %v, actions %v", decision.Rule, obs.Live, decision.Actions)
	}
}

// checkSettled: who waits or refuses says why; an unfinished ReportJob is looked at again.
func (w *world) checkSettled(r *reconcile, settled plan.Settled) {
	before, after := &r.obs.ReportJob.Status, &settled.Status
	newStop := before.Stop == nil && after.Stop != nil
	newExecution := before.Execution == nil && after.Execution != nil
	if newStop || newExecution {
		w.checkNoEffect(r.decision)
	}
	w.checkWords(after)
	asleep := r.decision.Rule == "LetGo" || r.decision.Rule == "StaySuspended" // the next change wakes it
	if !finished(after) && !asleep && settled.RequeueAfter <= 0 {
		w.fail("%s leaves an unfinished ReportJob alone", r.decision.Rule)
	}
}

func (w *world) checkWords(status *v1alpha1.ReportJobStatus) {
	if status.Phase != "" && (status.Reason == "" || status.Message == "") {
		w.fail("phase %s without reason or message", status.Phase)
	}
	if len(status.Transitions) > 20 {
		w.fail("%d transitions", len(status.Transitions))
	}
}

// checkNoEffect: an order to stop and a new execution come without effects in the cluster.
func (w *world) checkNoEffect(decision plan.Decision) {
	for _, action := range decision.Actions {
		switch action.(type) {
		case plan.CreateJob, plan.DeleteJob, plan.DeletePods, plan.ReleaseLease:
			w.fail("%s does %T before its reason is written", decision.Rule, action)
		}
	}
}

// checkUpdate: what is recorded stays recorded.
func (w *world) checkUpdate(before, after *v1alpha1.ReportJob) {
	old, next := &before.Status, &after.Status
	w.checkFinal(old, next)
	w.noteSuperseded(after.JobID(), old.Stop, next)
	if next.Execution != nil && isUncertain(old) && !isUncertain(next) {
		w.fail("a report that was uncertain is so no more")
	}
	w.checkExecution(after.Name, old, next)
	if old.Completion == nil && next.Completion != nil && next.Execution != nil {
		w.checkVerdict(next)
	}
}

// checkFinal: what is finished or completed changes no more.
func (w *world) checkFinal(old, next *v1alpha1.ReportJobStatus) {
	if finished(old) && !reflect.DeepEqual(old, next) {
		w.fail("a finished ReportJob changed:\n%s", cmp.Diff(old, next))
	}
	if old.Completion != nil && !isArchived(old, next) && !reflect.DeepEqual(old.Completion, next.Completion) {
		w.fail("completion %+v became %+v", old.Completion, next.Completion)
	}
	if next.FailedAttempts > int32(len(next.Attempts)) || len(next.Attempts) > 10 {
		w.fail("%d attempts failed of %d", next.FailedAttempts, len(next.Attempts))
	}
}

// isArchived says that an execution that had ended without success went among the attempts.
func isArchived(old, next *v1alpha1.ReportJobStatus) bool {
	if old.Completion == nil || old.Completion.Outcome == v1alpha1.OutcomeSucceeded {
		return false
	}
	if next.Execution != nil || len(next.Attempts) == 0 {
		return false
	}
	last := next.Attempts[len(next.Attempts)-1]
	return last.ExecutionID == old.Execution.ID && last.Token == old.Execution.Token && last.Number == old.Execution.Attempt &&
		last.Reason == old.Completion.Reason && next.LastAttempt == last.Number && next.RetryAt != nil
}

// noteSuperseded tells apart a report that goes on although a process of it lives where nobody sees it: by lostNode, or because
// a person was wrong.
func (w *world) noteSuperseded(jobID string, before *v1alpha1.Stop, next *v1alpha1.ReportJobStatus) {
	if next.Stop == nil || next.Stop.SupersededAt == nil || (before != nil && before.SupersededAt != nil) {
		return
	}
	if w.mayRun(next.Execution.Token, jobID) {
		w.late[jobID] = true
		w.exceed(jobID)
		w.taint(jobID, "a token was superseded while its process lived")
	}
}

// expireReportJob deletes a ReportJob, and checks that it was over.
func (w *world) expireReportJob(r *reconcile) {
	if stored := w.api.reportJobs[r.name]; stored != nil && stored.ResourceVersion == r.version {
		if !finished(&stored.Status) {
			w.fail("%s is deleted and was not finished", r.name)
		}
		w.remove(r.name)
	}
}

func isUncertain(status *v1alpha1.ReportJobStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionOwnershipUncertain)
}

// checkExecution: an execution stays the same one, and a stop the same stop.
func (w *world) checkExecution(name string, old, next *v1alpha1.ReportJobStatus) {
	was, is := executionOf(old), executionOf(next)
	if is == (leaseKey{}) && is != was {
		if !isArchived(old, next) {
			w.checkUnused(was)
		}
		return
	}
	w.checkStop(old.Stop, next.Stop)
	if was == (leaseKey{}) && is != was {
		w.written[name] = append(w.written[name], is.owner)
		return
	}
	if was != is || (old.Execution != nil && old.Execution.Job != next.Execution.Job) {
		w.fail("execution %+v became %+v", old.Execution, next.Execution)
	}
}

// checkStop: a stop that was begun is not taken back, nor given another reason.
func (w *world) checkStop(old, next *v1alpha1.Stop) {
	if old != nil && (next == nil || old.Reason != next.Reason) {
		w.fail("stop %+v became %+v", old, next)
	}
}

// checkUnused: an execution goes away only if nothing runs or can start under it.
func (w *world) checkUnused(key leaseKey) {
	if w.mayRun(key.token, key.lease) && !w.beyond[key.lease] {
		w.fail("execution %+v is withdrawn, and something runs under it", key)
	}
}

func executionOf(status *v1alpha1.ReportJobStatus) leaseKey {
	if execution := status.Execution; execution != nil {
		return leaseKey{execution.Owner, execution.Token, execution.LeaseKey}
	}
	return leaseKey{}
}

// checkVerdict: nothing is confirmed or called a success but what is so.
func (w *world) checkVerdict(status *v1alpha1.ReportJobStatus) {
	token, jobID := status.Execution.Token, status.JobID
	if status.Stop != nil && w.alive(token, jobID) && !w.tainted[jobID] {
		w.fail("stop confirmed while a process with token %s lives", token)
	}
	ended := process{}
	if known := w.processes[status.Execution.PodUID]; known != nil {
		ended = *known
	}
	if status.Completion.ProcessEnded && ended.alive {
		w.fail("processEnded recorded while the process with token %s lives", token)
	}
	if want := (process{token: token, jobID: jobID, killAt: ended.killAt}); ended != want &&
		status.Completion.Outcome == v1alpha1.OutcomeSucceeded {
		w.fail("a success was recorded for %+v", ended)
	}
}

// checkStart: nothing starts after the end of its execution is recorded.
func (w *world) checkStart(pod *simPod) {
	reportJob := w.reportJobOf(pod.owner)
	if reportJob == nil || w.tainted[reportJob.JobID()] {
		return
	}
	if execution := reportJob.Status.Execution; execution == nil || execution.Token != pod.token {
		w.fail("%s starts with token %s and the execution is %+v", pod.Name, pod.token, execution)
	}
	// A Job that is refused to one operator can be made by another one; its lease is kept until its pod is gone.
	if end := reportJob.Status.Completion; end != nil && end.Reason != v1alpha1.ReasonJobRefused &&
		end.Reason != v1alpha1.ReasonJobForbidden {
		w.fail("%s starts after the end: %+v", pod.Name, reportJob.Status.Completion)
	}
}

// checkGone: a ReportJob goes only when its report does not live.
func (w *world) checkGone(reportJob *v1alpha1.ReportJob) {
	execution, jobID := reportJob.Status.Execution, reportJob.JobID()
	if execution != nil && !w.tainted[jobID] && w.alive(execution.Token, jobID) {
		w.fail("%s goes while its report lives", reportJob.Name)
	}
}

// checkRelease: a lease is given back only when its processes are gone.
func (w *world) checkRelease(key leaseKey) {
	if w.alive(key.token, key.lease) && !w.late[key.lease] {
		w.fail("lease %s given back while a process with token %s lives", key.lease, key.token)
	}
}

// checkCreate: a Job is created only for an execution that is written down, under a lease that was granted. A request that
// takes effect after its lease ended, or after the end of its execution was recorded, is outside the promise, and told apart.
func (w *world) checkCreate(r *reconcile) {
	execution := r.decision.Status.Execution
	if !w.redis.granted[execution.Owner+"|"+execution.Token] {
		w.fail("Job of a lease that was never granted: %+v", execution)
	}
	if !slices.Contains(w.written[r.name], execution.Owner) {
		w.fail("Job of an execution that was never written down: %+v", execution)
	}
	stored := w.api.reportJobs[r.name]
	w.checkFinalizer(stored, execution)
	recorded := stored != nil && (stored.Status.Completion != nil || executionOf(&stored.Status).owner != execution.Owner)
	jobID := r.obs.ReportJob.JobID()
	w.noteLate(jobID, stored == nil || recorded, w.redis.leases[jobID].owner != execution.Owner || recorded)
}

// checkFinalizer: no Job is created for a ReportJob that could go before it.
func (w *world) checkFinalizer(stored *v1alpha1.ReportJob, execution *v1alpha1.Execution) {
	if stored == nil || stored.DeletionTimestamp != nil || finished(&stored.Status) ||
		executionOf(&stored.Status).owner != execution.Owner {
		return
	}
	if !slices.Contains(stored.Finalizers, v1alpha1.Finalizer) {
		w.fail("Job of a ReportJob without the finalizer: %+v", execution)
	}
}

// noteLate tells apart a Job that was created after its execution or its lease had ended.
func (w *world) noteLate(jobID string, beyond, late bool) {
	if beyond {
		w.exceed(jobID)
	}
	if !late {
		return
	}
	if len(w.operators) == 1 && !w.tainted[jobID] {
		w.fail("the only operator created a Job too late")
	}
	w.late[jobID] = true
	w.taint(jobID, "a Job was created after its lease or its execution had ended")
}

// checkDelete: nothing of an execution is deleted before the reason, or its end, is written down.
func (w *world) checkDelete(r *reconcile, uid types.UID) {
	stored := w.api.reportJobs[r.name]
	// What was observed was stored; it may speak of an attempt that another operator has put away since.
	for _, status := range []*v1alpha1.ReportJobStatus{&r.obs.ReportJob.Status, statusOf(stored)} {
		if status == nil || status.Stop != nil || status.Completion != nil || finished(status) {
			return
		}
	}
	for i := range r.obs.Strays {
		if r.obs.Strays[i].UID == uid {
			return
		}
	}
	w.fail("%s deletes %s without a recorded stop", r.decision.Rule, uid)
}

// checkOverlap: at most one process of a jobID lives, unless something outside the promise happened to it.
func (w *world) checkOverlap() {
	living := map[string]int{}
	for _, process := range w.processes {
		if process.alive {
			living[process.jobID]++
		}
	}
	for jobID, count := range living {
		if count > 1 && !w.tainted[jobID] {
			w.fail("%d processes of %s live at once", count, jobID)
		}
	}
}

func (w *world) alive(token, jobID string) bool {
	for _, process := range w.processes {
		if process.alive && process.token == token && process.jobID == jobID {
			return true
		}
	}
	return false
}

// mayRun says that a report lives under the token, or could start.
func (w *world) mayRun(token, jobID string) bool {
	for _, job := range w.api.jobs {
		if job.token == token && w.jobIDs[job.owner] == jobID && !job.Deleting && job.Ended == nil {
			return true
		}
	}
	return w.alive(token, jobID)
}

func (w *world) taint(jobID, why string) {
	w.tainted[jobID] = true
	w.log("outside the promise for %s: %s", jobID, why)
}

func (w *world) log(format string, args ...any) {
	w.history = append(w.history, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func statusOf(reportJob *v1alpha1.ReportJob) *v1alpha1.ReportJobStatus {
	if reportJob == nil {
		return nil
	}
	return &reportJob.Status
}
