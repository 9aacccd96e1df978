package plan_test

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/internal/plan"
)

// process is what really runs on a node, whatever the API says.
type process struct {
	token, jobID string
	alive        bool
	exit         int32
	// killAt is when SIGKILL comes; zero while nobody asked it to stop.
	killAt time.Time
}

// control lets the Job controller and the garbage collector look at every Job once.
func (w *world) control() {
	for _, name := range sorted(w.api.jobs) {
		job := w.api.jobs[name]
		if w.reportJobOf(job.owner) == nil {
			job.Deleting = true
		}
		w.controlJob(&job)
		w.api.jobs[name] = job
		if job.Deleting && len(w.podsOf(job.UID)) == 0 {
			delete(w.api.jobs, name)
		}
	}
}

func (w *world) controlJob(job *simJob) {
	pods := w.podsOf(job.UID)
	switch {
	case job.Deleting || job.Suspended:
		for _, uid := range pods {
			w.count(uid)
			w.deletePod(uid)
		}
	case job.Ended != nil:
	case !job.podMade:
		job.podMade = true
		w.createPod(job)
	case len(pods) == 0:
		job.Ended = &plan.JobEnd{Reason: "BackoffLimitExceeded", Message: "Job has reached its limit."}
	default:
		w.judge(job, pods[0])
	}
}

// judge gives a Job its terminal condition when its pod ended.
func (w *world) judge(job *simJob, uid types.UID) {
	pod := w.api.pods[uid]
	if pod.Terminal() {
		w.count(uid)
		job.Ended = &plan.JobEnd{Complete: pod.Phase == plan.PodSucceeded}
	}
}

// count takes the tracking finalizer off a pod that ended.
func (w *world) count(uid types.UID) {
	pod := w.api.pods[uid]
	if pod.Terminal() {
		pod.counted = true
		w.api.pods[uid] = pod
	}
}

func (w *world) createPod(job *simJob) {
	uid := types.UID(w.unique("pod"))
	w.api.pods[uid] = simPod{
		Pod: plan.Pod{Name: string(uid), UID: uid, Phase: plan.PodPending}, job: job.UID, owner: job.owner, token: job.token,
	}
}

func (w *world) podsOf(job types.UID) []types.UID {
	var uids []types.UID
	for _, uid := range sorted(w.api.pods) {
		if w.api.pods[uid].job == job {
			uids = append(uids, uid)
		}
	}
	return uids
}

// node lets scheduler and kubelet take one step with a pod.
func (w *world) node(uid types.UID) {
	pod := w.api.pods[uid]
	running := w.processes[uid]
	switch {
	case pod.lost:
		return
	case running == nil && pod.Deleting:
		delete(w.api.pods, uid) // it never had a node
		return
	case running == nil:
		w.startProcess(&pod)
	case running.alive:
		w.runProcess(&pod, running)
	case !pod.Terminal():
		report(&pod, running)
	case pod.Deleting && (pod.counted || w.jobGone(pod.job)):
		delete(w.api.pods, uid)
		return
	}
	w.api.pods[uid] = pod
}

func (w *world) startProcess(pod *simPod) {
	pod.Node = "node-1"
	w.checkStart(pod)
	w.processes[pod.UID] = &process{token: pod.token, jobID: w.jobIDs[pod.owner], alive: true}
	w.checkOverlap()
}

func (w *world) runProcess(pod *simPod, running *process) {
	if !pod.Started {
		pod.Started, pod.Ready, pod.Phase = true, true, plan.PodRunning
		return
	}
	switch {
	case pod.Deleting && (w.oneIn(4) || !w.now.Before(running.killAt)):
		running.alive, running.exit = false, []int32{0, 143, 137}[w.random.IntN(3)]
	case !pod.Deleting && w.oneIn(w.patience):
		running.alive, running.exit = false, int32(w.random.IntN(2))
	}
}

func report(pod *simPod, running *process) {
	exit := running.exit
	pod.Phase, pod.Terminated, pod.Ready, pod.ExitCode = plan.PodSucceeded, true, false, &exit
	if exit != 0 {
		pod.Phase, pod.ContainerReason = plan.PodFailed, "Error"
	}
}

func (w *world) jobGone(uid types.UID) bool {
	for _, job := range w.api.jobs {
		if job.UID == uid {
			return false
		}
	}
	return true
}

// orphaned lets processes die whose pod is not in the API any more: the kubelet ends them when it notices.
func (w *world) orphaned() {
	for _, uid := range sorted(w.processes) {
		if _, ok := w.api.pods[uid]; !ok && w.processes[uid].alive && w.oneIn(60) {
			w.processes[uid].alive = false
		}
	}
}

// loseNode cuts a pod's node off: its process lives on, nobody hears of it, and the control plane deletes the pod.
func (w *world) loseNode(uid types.UID) {
	pod := w.api.pods[uid]
	if w.processes[uid] == nil || pod.Terminal() {
		return
	}
	w.log("the node of %s does not answer", uid)
	pod.lost, pod.Deleting, pod.Disruption = true, true, plan.DisruptedByTaint
	w.api.pods[uid] = pod
}

// returnNode lets the kubelet of a lost node hear what it has missed.
func (w *world) returnNode(uid types.UID) {
	pod := w.api.pods[uid]
	if !pod.lost {
		return
	}
	pod.lost = false
	w.api.pods[uid] = pod
	if running := w.processes[uid]; running != nil {
		running.killAt = w.now.Add(grace)
	}
}

// disturbJob is somebody's kubectl delete job, or patch job with suspend.
func (w *world) disturbJob(name string, suspend bool) {
	job := w.api.jobs[name]
	if suspend {
		job.Suspended = true
	} else {
		job.Deleting = true
	}
	w.api.jobs[name] = job
}

// vanish is kubectl delete pod --force with the tracking finalizer stripped: the process may live on.
func (w *world) vanish(uid types.UID) {
	if running := w.processes[uid]; running != nil && running.alive {
		w.taint(running.jobID, "a pod vanished while its process lived")
		w.vanished[running.jobID] = true
		w.unseen(running.jobID)
	}
	delete(w.api.pods, uid)
}

// secondPod is a Job controller that makes a second pod.
func (w *world) secondPod(name string) {
	job := w.api.jobs[name]
	if !job.Deleting && job.podMade {
		w.doubled[w.jobIDs[job.owner]] = true
		w.unseen(w.jobIDs[job.owner])
		w.taint(w.jobIDs[job.owner], "the Job controller made a second pod")
		w.exceed(w.jobIDs[job.owner])
		w.createPod(&job)
	}
	for _, o := range w.operators {
		if o.work != nil && o.work.stage == stageAct { // too late for it to be seen
			w.late[w.jobIDs[job.owner]] = true
		}
	}
}

// unseen: of two pods of one Job one vanished, perhaps before anybody saw it. The other one then passes for the only one.
func (w *world) unseen(jobID string) {
	if w.doubled[jobID] && w.vanished[jobID] {
		w.late[jobID] = true
	}
}

// copyJob is somebody's copy of a Job of ours, labels and all, under a token of the past.
func (w *world) copyJob(of string) {
	job := w.api.jobs[of]
	w.taint(w.jobIDs[job.owner], "somebody copied a Job")
	w.exceed(w.jobIDs[job.owner])
	name := w.unique("copy")
	w.api.jobs[name] = simJob{
		Job: plan.Job{Name: name, UID: types.UID(name)}, owner: job.owner, token: "0",
	}
}
