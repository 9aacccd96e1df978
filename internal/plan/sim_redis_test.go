package plan_test

import (
	"strconv"
	"time"

	"github.com/leasehold-dev/leasehold/internal/plan"
)

const (
	leaseDuration = 30 * time.Second
	grace         = 4 * time.Second
	redisAddress  = "redis:6379"
)

// grant is a lease in Redis.
type grant struct {
	owner, token string
	expires      time.Time
}

// redis is the store of leases, keyed by jobID.
type redis struct {
	up     bool
	leases map[string]grant
	fence  map[string]int
	// quiet is until when nothing is granted, since the lease may be forgotten.
	quiet map[string]time.Time
	// granted are all grants ever made, as owner|token.
	granted map[string]bool
}

func (w *world) acquire(jobID, owner string) plan.Result {
	if held, ok := w.redis.leases[jobID]; ok {
		return plan.LeaseHeldByOther{Owner: held.owner, Token: held.token, ExpiresIn: held.expires.Sub(w.now)}
	}
	if until := w.redis.quiet[jobID]; w.now.Before(until) {
		return plan.LeaseQuarantined{Left: until.Sub(w.now), Why: "data was lost"}
	}
	w.redis.fence[jobID]++
	token := strconv.Itoa(w.redis.fence[jobID])
	w.redis.leases[jobID] = grant{owner, token, w.now.Add(leaseDuration)}
	w.redis.granted[owner+"|"+token] = true
	return plan.LeaseGranted{Owner: owner, Token: token, LeaseKey: jobID, Job: "job-" + owner}
}

func (w *world) renew(key leaseKey) bool {
	held, ok := w.redis.leases[key.lease]
	if !ok || held.owner != key.owner || held.token != key.token {
		return false
	}
	held.expires = w.now.Add(leaseDuration)
	w.redis.leases[key.lease] = held
	return true
}

func (w *world) release(key leaseKey) plan.Result {
	held, ok := w.redis.leases[key.lease]
	switch {
	case !ok:
		return plan.LeaseGone{}
	case held.owner != key.owner || held.token != key.token:
		return plan.LeaseOfOther{Owner: held.owner, Token: held.token}
	}
	delete(w.redis.leases, key.lease)
	w.checkRelease(key)
	return plan.LeaseReleased{}
}

// expire drops the leases that ran out.
func (w *world) expire() {
	for _, jobID := range sorted(w.redis.leases) {
		held := w.redis.leases[jobID]
		if w.now.Before(held.expires) {
			continue
		}
		delete(w.redis.leases, jobID)
		if w.mayRun(held.token, jobID) {
			w.taint(jobID, "the lease ran out under a living report")
		}
	}
}

// steal is a SET by hand, or a DEL.
func (w *world) steal(jobID string, del bool) {
	if _, ok := w.redis.leases[jobID]; !ok {
		return
	}
	w.taint(jobID, "the lease was stolen")
	delete(w.redis.leases, jobID)
	if !del {
		w.redis.leases[jobID] = grant{"thief", "0", w.now.Add(20 * time.Second)}
	}
}

// leaseKey names one term of one lease.
type leaseKey struct{ owner, token, lease string }

// tracked is one lease in an operator's renewal engine.
type tracked struct {
	phase     plan.LeasePhase
	confirmed time.Time
	err       string
	// reportJob is the name of whose lease it is.
	reportJob string
}

// stopBy is the instant by which a stop must begin for the report to end within its trusted time.
func (t *tracked) stopBy() time.Time {
	return t.confirmed.Add(leaseDuration*8/10 - grace - time.Second)
}

func (t *tracked) active() bool { return t.phase == plan.LeaseHeld || t.phase == plan.LeaseAdopting }

// tick lets the engine of an operator renew every lease it tracks and watch the deadlines.
func (o *operator) tick() {
	for _, owner := range sorted(o.keys) {
		lease := o.engine[owner]
		if !lease.active() {
			continue
		}
		switch {
		case !o.w.now.Before(lease.stopBy()):
			lease.phase = plan.LeaseUncertain
		case !o.w.redis.up || o.w.chance(o.w.faults.lostReplies, 5):
			lease.err = "redis at " + redisAddress + ": timeout"
		case o.w.renew(o.keys[owner]):
			lease.phase, lease.confirmed, lease.err = plan.LeaseHeld, o.w.now, ""
		default:
			lease.phase, lease.err = plan.LeaseLost, ""
		}
	}
}

func (o *operator) view(owner string) plan.LeaseView {
	lease := o.engine[owner]
	if lease == nil {
		return plan.LeaseView{}
	}
	if lease.active() && !o.w.now.Before(lease.stopBy()) {
		lease.phase = plan.LeaseUncertain
	}
	return plan.LeaseView{Phase: lease.phase, StoreError: lease.err}
}

func (o *operator) track(reportJob string, key leaseKey, phase plan.LeasePhase) {
	if o.engine[key.owner] == nil {
		o.keys[key.owner] = key
		o.engine[key.owner] = &tracked{phase: phase, confirmed: o.w.now, reportJob: reportJob}
	}
}

func (o *operator) forget(owner string) {
	delete(o.keys, owner)
	delete(o.engine, owner)
}
