package plan_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// operator is one replica: caches that lag, an engine, and at most one reconcile under way, of which each step is taken on
// its own, so that anything can happen between any two.
type operator struct {
	w      *world
	cache  objects
	keys   map[string]leaseKey
	engine map[string]*tracked
	work   *reconcile
	// due is when a ReportJob is to be looked at again, seen what was there when it was last looked at.
	due  map[string]time.Time
	seen map[string]string
}

// reconcile is the state of one reconcile: the observation, the decision, and how far it got.
type reconcile struct {
	name     string
	cached   plan.Observation
	obs      plan.Observation
	stage    int
	decision plan.Decision
	results  []plan.Result
	version  string
	granted  *plan.LeaseGranted
	gone     bool
}

// The stages of a reconcile.
const (
	stageObserve = iota
	stageReadReportJob
	stageReadJobs
	stageReadPods
	stageAct
	stageWrite
)

func newOperator(w *world) *operator {
	o := &operator{w: w}
	o.crash()
	return o
}

// crash loses all that the process knew. The caches of its successor start with what is stored.
func (o *operator) crash() {
	o.cache, o.work = newObjects(), nil
	o.keys, o.engine = map[string]leaseKey{}, map[string]*tracked{}
	o.due, o.seen = map[string]time.Time{}, map[string]string{}
	o.sync(0)
	o.sync(1)
	o.sync(2)
}

// sync brings the cache of one kind up to date.
func (o *operator) sync(kind int) {
	switch kind {
	case 0:
		o.cache.reportJobs = maps.Clone(o.w.api.reportJobs)
		o.forgetGone()
	case 1:
		o.cache.jobs = maps.Clone(o.w.api.jobs)
	default:
		o.cache.pods = maps.Clone(o.w.api.pods)
	}
}

// forgetGone is what the controller does when a ReportJob is not found.
func (o *operator) forgetGone() {
	for _, owner := range sorted(o.engine) {
		if o.cache.reportJobs[o.engine[owner].reportJob] == nil {
			o.forget(owner)
		}
	}
}

// forgetFormer is what the controller does when the engine has a lease for a ReportJob that is not its execution's.
func (o *operator) forgetFormer(reportJob *v1alpha1.ReportJob) {
	present := executionOf(&reportJob.Status).owner
	for _, owner := range sorted(o.engine) {
		if o.engine[owner].reportJob == reportJob.Name && owner != present {
			o.forget(owner)
		}
	}
}

// wake starts a reconcile of the first ReportJob that something calls for: a change in the cache, a signal of the engine, or
// the time it asked for.
func (o *operator) wake() bool {
	for _, name := range sorted(o.cache.reportJobs) {
		sight := o.sight(name)
		due, asked := o.due[name]
		if o.seen[name] == sight && (!asked || o.w.now.Before(due)) {
			continue
		}
		o.seen[name] = sight
		delete(o.due, name)
		o.start(name)
		return true
	}
	return false
}

func (o *operator) sight(name string) string {
	obs := o.cache.observe(name)
	o.w.observeSiblings(obs, &o.cache, &o.cache)
	view := plan.LeaseView{}
	if execution := obs.ReportJob.Status.Execution; execution != nil {
		view = o.view(execution.Owner)
	}
	return fmt.Sprint(obs.ReportJob.ResourceVersion, obs.Job, obs.Strays, obs.Pods, obs.Siblings, obs.LeaseKeyDenied, view)
}

func (o *operator) start(name string) {
	if o.work == nil && name != "" {
		o.work = &reconcile{name: name, stage: stageObserve}
	}
}

// step takes one step of the reconcile under way.
func (o *operator) step() {
	r := o.work
	if r == nil {
		return
	}
	switch r.stage {
	case stageObserve:
		o.observe(r)
	case stageReadReportJob:
		o.readReportJob(r)
	case stageReadJobs:
		o.w.api.observeJobs(&r.obs)
		r.stage = stageReadPods
	case stageReadPods:
		o.w.api.observePods(&r.obs)
		o.w.observeSiblings(&r.obs, &o.w.api, &o.cache)
		r.obs.Live = true
		o.decide(r, remember(r.obs, r.cached))
	case stageAct:
		o.act(r)
	case stageWrite:
		o.write(r)
		o.work = nil
	}
}

// remember keeps a pod that was seen dead by the kubelet's word and is gone by the time of the live read.
func remember(live, cached plan.Observation) plan.Observation {
	for _, pod := range cached.Pods {
		same := func(p plan.Pod) bool { return p.UID == pod.UID }
		if pod.ProvenDead() && !slices.ContainsFunc(live.Pods, same) {
			live.Pods = append(live.Pods, pod)
		}
	}
	return live
}

func (o *operator) observe(r *reconcile) {
	obs := o.cache.observe(r.name)
	if obs == nil {
		o.work = nil
		return
	}
	o.forgetFormer(obs.ReportJob)
	o.w.observeSiblings(obs, &o.cache, &o.cache)
	r.cached = *obs
	o.decide(r, *obs)
}

func (o *operator) readReportJob(r *reconcile) {
	stored := o.w.api.reportJobs[r.name]
	if stored == nil {
		o.work = nil
		return
	}
	r.obs = plan.Observation{ReportJob: stored.DeepCopy()}
	r.stage = stageReadJobs
}

func (o *operator) decide(r *reconcile, obs plan.Observation) {
	if execution := obs.ReportJob.Status.Execution; execution != nil {
		obs.Lease = o.view(execution.Owner)
	}
	before := obs.ReportJob.DeepCopy()
	r.decision = plan.Decide(obs, o.w.now)
	o.w.checkDecision(obs, r.decision)
	if !reflect.DeepEqual(before, obs.ReportJob) {
		o.w.fail("Decide changed the ReportJob:\n%s", cmp.Diff(before, obs.ReportJob))
	}
	if r.decision.ReadLive {
		r.stage = stageReadReportJob
		return
	}
	r.obs, r.version = obs, obs.ReportJob.ResourceVersion
	r.stage = stageAct
	o.w.log("%s: %s %+v", r.name, r.decision.Rule, r.decision.Actions)
	o.w.rules[r.decision.Rule]++
}

// act carries out the next action.
func (o *operator) act(r *reconcile) {
	if len(r.results) == len(r.decision.Actions) {
		r.stage = stageWrite
		return
	}
	result := o.do(r, r.decision.Actions[len(r.results)])
	o.w.log("%s: %T%+v", r.name, result, result)
	r.results = append(r.results, result)
	if _, failed := result.(plan.Failed); failed {
		r.stage = stageWrite
	}
}

func (o *operator) write(r *reconcile) {
	settled := plan.Settle(r.decision, r.results)
	o.w.checkSettled(r, settled)
	if settled.RequeueAfter > 0 {
		o.due[r.name] = o.w.now.Add(settled.RequeueAfter)
	}
	if r.gone || equality.Semantic.DeepEqual(settled.Status, r.obs.ReportJob.Status) {
		return
	}
	refused := o.w.update(r.name, r.version, func(reportJob *v1alpha1.ReportJob) { reportJob.Status = settled.Status }) == ""
	lost := o.w.chance(o.w.faults.lostReplies, 20)
	if !refused && !lost {
		return
	}
	o.due[r.name] = o.w.now.Add(time.Second) // an error: the work queue tries again
	if r.granted != nil {
		o.withdraw(leaseKey{r.granted.Owner, r.granted.Token, r.granted.LeaseKey}, refused && !lost)
	}
}

// withdraw deals with a grant that was not written down, or of which that is unknown.
func (o *operator) withdraw(key leaseKey, refused bool) {
	o.forget(key.owner)
	if refused && o.w.redis.up {
		o.w.release(key)
	}
}

func (o *operator) do(r *reconcile, action plan.Action) plan.Result {
	switch a := action.(type) {
	case plan.AcquireLease:
		return o.acquire(r)
	case plan.ReleaseLease:
		return o.release(leaseKey{a.Owner, a.Token, a.LeaseKey})
	case plan.AdoptLease:
		o.track(r.name, leaseKey{a.Owner, a.Token, a.LeaseKey}, plan.LeaseAdopting)
		return plan.Done{}
	case plan.HaltRenewal:
		if lease := o.engine[a.Owner]; lease != nil {
			lease.phase = plan.LeaseHalted
		}
		return plan.Done{}
	case plan.ForgetLease:
		o.forget(a.Owner)
		return plan.Done{}
	}
	return o.doInCluster(r, action)
}

// doInCluster sends a request to the API server. Its reply may be lost, and then counts as a failure.
func (o *operator) doInCluster(r *reconcile, action plan.Action) plan.Result {
	var result plan.Result = plan.Done{}
	switch a := action.(type) {
	case plan.AddFinalizer, plan.RemoveFinalizer:
		if !o.changeFinalizer(r, action) {
			return plan.Failed{Message: "the ReportJob was changed meanwhile"}
		}
	case plan.DeleteReportJob:
		o.w.expireReportJob(r)
	case plan.CreateJob:
		result = o.createJob(r, a.Name)
	case plan.DeleteJob:
		o.w.checkDelete(r, a.UID)
		o.w.deleteJob(a.Name, a.UID)
	case plan.DeletePods:
		o.deletePods(r, a)
	}
	if o.w.chance(o.w.faults.lostReplies, 10) {
		return plan.Failed{Message: "the API server did not answer"}
	}
	return result
}

// changeFinalizer returns false if somebody else was faster.
func (o *operator) changeFinalizer(r *reconcile, action plan.Action) bool {
	_, add := action.(plan.AddFinalizer)
	r.version = o.w.update(r.name, r.version, func(reportJob *v1alpha1.ReportJob) {
		if add {
			reportJob.Finalizers = append(reportJob.Finalizers, v1alpha1.Finalizer)
			return
		}
		reportJob.Finalizers = slices.DeleteFunc(reportJob.Finalizers, func(f string) bool { return f == v1alpha1.Finalizer })
	})
	r.gone = !add && r.obs.ReportJob.DeletionTimestamp != nil && r.version != ""
	return r.version != ""
}

func (o *operator) deletePods(r *reconcile, a plan.DeletePods) {
	if a.Grace != grace {
		o.w.fail("grace is %v", a.Grace)
	}
	for _, pod := range a.Pods {
		o.w.checkDelete(r, pod.UID)
		o.w.deletePod(pod.UID)
	}
}
