package plan_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "replay this one history of the simulator")
	seedsFlag = flag.Uint64("seeds", 500, "how many histories the simulator plays")
)

// faults are the kinds of trouble of one history.
type faults struct {
	crashes, staleCaches, lostReplies, redisAway, thefts, deletions, jobsDisturbed, vanishes, secondPods, refusals, lostData,
	suspensions, lostNodes, vouches, denials bool
}

// world is one history: a cluster, a Redis, operators, and what must hold of them.
type world struct {
	t         *testing.T
	seed      uint64
	random    *rand.Rand
	faults    faults
	now       time.Time
	names     int
	patience  int
	api       objects
	processes map[types.UID]*process
	redis     redis
	operators []*operator
	jobIDs    map[types.UID]string
	// written are the owners of the executions ever stored, by ReportJob.
	written map[string][]string
	// tainted are the jobIDs to which something outside the promise happened. Of them, doubled had a second pod, vanished
	// one that vanished alive, and late something that nobody could see in time: a late Job, or both of these.
	tainted, doubled, vanished, late map[string]bool
	// beyond are those of which not even what the API server shows is promised.
	beyond map[string]bool
	// denied are the ReportJobs whose leaseKey the operators do not grant.
	denied  map[string]bool
	rules   map[string]int
	history []string
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0).UTC(), api: newObjects(),
		processes: map[types.UID]*process{}, jobIDs: map[types.UID]string{}, written: map[string][]string{},
		tainted: map[string]bool{}, doubled: map[string]bool{}, vanished: map[string]bool{},
		late: map[string]bool{}, beyond: map[string]bool{}, denied: map[string]bool{}, rules: map[string]int{},
		redis: redis{up: true, leases: map[string]grant{}, fence: map[string]int{}, granted: map[string]bool{},
			quiet: map[string]time.Time{}},
	}
	for _, fault := range []*bool{&w.faults.crashes, &w.faults.staleCaches, &w.faults.lostReplies, &w.faults.redisAway,
		&w.faults.thefts, &w.faults.deletions, &w.faults.jobsDisturbed, &w.faults.vanishes, &w.faults.secondPods,
		&w.faults.refusals, &w.faults.lostData, &w.faults.suspensions, &w.faults.lostNodes, &w.faults.vouches,
		&w.faults.denials} {
		*fault = w.oneIn(4)
	}
	w.patience = []int{3, 20, 200}[w.random.IntN(3)]
	for _, name := range []string{"one", "two", "three"}[:1+w.random.IntN(3)] {
		jobID := []string{"a", "a", "b"}[w.random.IntN(3)]
		w.apply(name, jobID)
	}
	for range 1 + w.random.IntN(2) {
		w.operators = append(w.operators, newOperator(w))
	}
	return w
}

func (w *world) oneIn(n int) bool { return w.random.IntN(n) == 0 }

// chance is one in n if the kind of trouble is on.
func (w *world) chance(on bool, n int) bool { return on && w.oneIn(n) }

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.log(format, args...)
	w.t.Fatalf("seed %d: after\n%s\n(replay: go test ./internal/plan -run Simulat -seed %d)", w.seed,
		strings.Join(w.history[max(0, len(w.history)-60):], "\n"), w.seed)
}

// pick returns one key of a map, or "" if it is empty.
func pick[K ~string, V any](w *world, m map[K]V) K {
	if len(m) == 0 {
		return ""
	}
	keys := sorted(m)
	return keys[w.random.IntN(len(keys))]
}

// happen lets one thing happen: mostly what moves the reports on, sometimes trouble.
func (w *world) happen() {
	o := w.operators[w.random.IntN(len(w.operators))]
	things := []func(){
		func() { w.pass(time.Duration(w.random.IntN(1500)) * time.Millisecond) },
		w.control,
		func() { w.nodeOf(pick(w, w.api.pods)) },
		func() { w.refresh(o) },
		func() { o.start(pick(w, o.cache.reportJobs)) },
		o.step, o.step,
		func() { w.trouble(o) },
		w.people,
	}
	things[w.random.IntN(len(things))]()
	w.orphaned()
	w.checkOverlap()
	w.checkShown()
}

// nodeOf lets the node of a pod take a step, if there is one.
func (w *world) nodeOf(uid types.UID) {
	if uid != "" {
		w.node(uid)
	}
}

func (w *world) refresh(o *operator) {
	for kind := range 3 {
		if !w.faults.staleCaches || w.oneIn(6) {
			o.sync(kind)
		}
	}
}

// pass lets time pass; engines renew meanwhile.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.expire()
	for _, o := range w.operators {
		o.tick()
	}
}

// trouble lets something happen that should not, if the history has that kind of trouble.
func (w *world) trouble(o *operator) {
	job, pod := pick(w, w.api.jobs), pick(w, w.api.pods)
	troubles := []struct {
		on   bool
		odds int
		do   func()
	}{
		{w.faults.crashes, 13, o.crash},
		{w.faults.redisAway, 13, func() { w.redis.up = !w.redis.up }},
		{w.faults.thefts, 40, func() { w.steal(w.jobIDs[w.api.reportJobsOwner(w)], w.oneIn(2)) }},
		{w.faults.lostData, 8, w.forgetAll},
		{w.faults.deletions, 40, func() { w.remove(pick(w, w.api.reportJobs)) }},
		{w.faults.deletions && pod != "", 40, func() { w.deletePod(pod) }},
		{w.faults.jobsDisturbed && job != "", 40, func() { w.disturbJob(job, w.oneIn(2)) }},
		{w.faults.vanishes && pod != "", 40, func() { w.vanish(pod) }},
		{w.faults.secondPods && job != "", 40, func() { w.secondPod(job) }},
		{w.faults.secondPods && job != "", 40, func() { w.copyJob(job) }},
	}
	for _, trouble := range troubles {
		if w.chance(trouble.on, trouble.odds) {
			trouble.do()
			return
		}
	}
}

// people lets somebody change a ReportJob, or a node stop to answer and come back.
func (w *world) people() {
	name, pod := pick(w, w.api.reportJobs), pick(w, w.api.pods)
	for _, trouble := range []struct {
		on   bool
		odds int
		do   func()
	}{
		{w.faults.suspensions && name != "", 10, func() { w.suspend(name, w.oneIn(2)) }},
		{w.faults.lostNodes && pod != "", 10, func() { w.loseNode(pod) }},
		{w.faults.lostNodes && pod != "", 10, func() { w.returnNode(pod) }},
		{w.faults.vouches && name != "", 20, func() { w.vouch(name) }},
		{w.faults.denials && name != "", 10, func() { w.denied[name] = !w.denied[name] }},
	} {
		if w.chance(trouble.on, trouble.odds) {
			trouble.do()
			return
		}
	}
}

// recover ends what people and nodes did.
func (w *world) recover() {
	clear(w.denied)
	for _, name := range sorted(w.api.reportJobs) {
		w.suspend(name, false)
	}
	for _, uid := range sorted(w.api.pods) {
		w.returnNode(uid)
	}
}

// reportJobsOwner is the UID of one of the ReportJobs.
func (o *objects) reportJobsOwner(w *world) types.UID {
	if name := pick(w, o.reportJobs); name != "" {
		return o.reportJobs[name].UID
	}
	return ""
}

func (w *world) reportJobOf(uid types.UID) *v1alpha1.ReportJob {
	for _, reportJob := range w.api.reportJobs {
		if reportJob.UID == uid {
			return reportJob
		}
	}
	return nil
}

// settle ends all trouble and lets everybody do their work until every ReportJob is over. Operators look only when they are
// called, so that a wake-up that is missing shows.
func (w *world) settle() {
	w.faults, w.redis.up = faults{}, true
	w.recover()
	for range 4000 {
		if w.over() {
			return
		}
		for _, o := range w.operators {
			w.refresh(o)
			for o.work != nil || o.wake() {
				o.step()
			}
		}
		w.control()
		for _, uid := range sorted(w.api.pods) {
			w.node(uid)
		}
		w.orphaned()
		w.checkOverlap()
		w.checkShown()
		w.pass(500 * time.Millisecond)
	}
	w.fail("not over: %+v", w.api.reportJobs)
}

// over says that every ReportJob is finished and that nothing of it lives.
func (w *world) over() bool {
	for _, reportJob := range w.api.reportJobs {
		if !finished(&reportJob.Status) || len(reportJob.Finalizers) > 0 || reportJob.DeletionTimestamp != nil {
			return false
		}
	}
	for _, process := range w.processes {
		if process.alive {
			return false
		}
	}
	return true
}

func (w *world) play() {
	for range 500 {
		w.happen()
	}
	w.settle()
}

// tally is what the histories came by.
type tally struct {
	sync.Mutex
	rules map[string]int
	clean int
}

func TestSimulatedHistoriesKeepThePromise(t *testing.T) {
	t.Parallel()
	if *seedFlag != 0 {
		newWorld(t, *seedFlag).play()
		return
	}
	seen := &tally{rules: map[string]int{}}
	workers := min(4, runtime.GOMAXPROCS(0))
	var playing sync.WaitGroup
	for worker := range workers {
		playing.Go(func() {
			for seed := uint64(worker) + 1; seed <= *seedsFlag && !t.Failed(); seed += uint64(workers) {
				seen.add(newWorld(t, seed))
			}
		})
	}
	playing.Wait()
	for _, rule := range plan.RuleNames() {
		if seen.rules[rule] == 0 {
			t.Errorf("no history came to rule %s", rule)
		}
	}
	if seen.clean*4 < int(*seedsFlag) {
		t.Errorf("only %d of %d histories stayed within the promise", seen.clean, *seedsFlag)
	}
	t.Logf("%d of %d histories within the promise; rules: %v", seen.clean, *seedsFlag, seen.rules)
}

func (s *tally) add(w *world) {
	w.play()
	s.Lock()
	defer s.Unlock()
	for rule, count := range w.rules {
		s.rules[rule] += count
	}
	if len(w.tainted) == 0 {
		s.clean++
	}
}

func TestASeedMeansOneHistory(t *testing.T) {
	t.Parallel()
	first, second := newWorld(t, 7), newWorld(t, 7)
	first.play()
	second.play()
	if !slices.Equal(first.history, second.history) {
		t.Error("two runs of one seed differ")
	}
}
