package plan_test

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/internal/plan"
)

// acquire asks Redis for the lease, with a new owner each time.
func (o *operator) acquire(r *reconcile) plan.Result {
	if !o.w.redis.up {
		return plan.StoreUnreachable{Address: redisAddress, Message: "connection refused"}
	}
	result := o.w.acquire(r.obs.ReportJob.JobID(), o.w.unique("owner"))
	if o.w.chance(o.w.faults.lostReplies, 5) {
		return plan.AcquireUnknown{Address: redisAddress, Message: "timeout"}
	}
	if granted, ok := result.(plan.LeaseGranted); ok {
		r.granted = &granted
		o.track(r.name, leaseKey{granted.Owner, granted.Token, granted.LeaseKey}, plan.LeaseHeld)
	}
	return result
}

func (o *operator) release(key leaseKey) plan.Result {
	if !o.w.redis.up {
		return plan.StoreUnreachable{Address: redisAddress, Message: "connection refused"}
	}
	result := o.w.release(key)
	if o.w.chance(o.w.faults.lostReplies, 5) {
		return plan.ReleaseUnknown{Address: redisAddress, Message: "timeout"}
	}
	return result
}

// createJob creates the Job if the engine trusts the lease at this very instant.
func (o *operator) createJob(r *reconcile, name string) plan.Result {
	execution := r.decision.Status.Execution
	if o.view(execution.Owner).Phase != plan.LeaseHeld {
		return plan.Failed{Message: "the lease is not held any more, so Job " + name + " is not created"}
	}
	if job, exists := o.w.api.jobs[name]; exists {
		if job.owner == r.obs.ReportJob.UID && job.token == execution.Token {
			return plan.JobCreated{UID: job.UID}
		}
		return plan.JobRefused{Message: "the name is taken"}
	}
	if o.w.chance(o.w.faults.refusals, 5) {
		return plan.JobRefused{Message: "Job is invalid: spec.template: no", MayPass: o.w.oneIn(2)}
	}
	o.w.checkCreate(r)
	uid := types.UID(o.w.unique("job"))
	o.w.api.jobs[name] = simJob{
		Job: plan.Job{Name: name, UID: uid}, owner: r.obs.ReportJob.UID, token: execution.Token,
	}
	return plan.JobCreated{UID: uid}
}
