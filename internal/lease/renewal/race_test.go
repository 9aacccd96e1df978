package renewal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

// counting is a store that confirms everything, and counts the renewals of each term.
type counting struct {
	lease.Store
	terms sync.Map // the value of a term: *atomic.Int64
	all   atomic.Int64
}

func (s *counting) of(value string) *atomic.Int64 {
	n, _ := s.terms.LoadOrStore(value, &atomic.Int64{})
	return n.(*atomic.Int64)
}

func (s *counting) Renew(_ context.Context, renewals []*lease.Renewal) []error {
	for _, r := range renewals {
		s.of(r.Value).Add(1)
	}
	s.all.Add(int64(len(renewals)))
	runtime.Gosched()
	return make([]error, len(renewals))
}

// owner is who holds some leases in the engine, which are nobody else's business.
type owner struct {
	*testing.T
	engine *renewal.Engine
	store  *counting
	random *rand.Rand
	name   string
	token  lease.Token

	holds map[renewal.Subject]lease.Term
	// ended counts the renewals of each term when its end had returned.
	ended map[string]int64
}

// quick is renewed as often as possible.
var quick = lease.Timing{LeaseDuration: time.Hour, RenewalInterval: 100 * time.Microsecond, StopGracePeriod: time.Second}

// TestNothingIsRenewedWithoutAnOwner lets owners reserve, track, adopt, halt and forget 100,000 times, beside a running engine.
func TestNothingIsRenewedWithoutAnOwner(t *testing.T) {
	t.Parallel()
	store := &counting{Store: leasetest.NewMemory()}
	engine := renewal.New(renewal.Options{Store: store})
	stop := run(t, engine)
	var owners [8]*owner
	var work sync.WaitGroup
	for i := range owners {
		owners[i] = &owner{
			T: t, engine: engine, store: store, random: rand.New(rand.NewPCG(7, uint64(i))), name: fmt.Sprintf("owner%d", i),
			holds: map[renewal.Subject]lease.Term{}, ended: map[string]int64{},
		}
		work.Go(func() {
			for n := range 100_000 / len(owners) {
				owners[i].act()
				if n%10 == 0 {
					runtime.Gosched() // the engine wants to run as well
				}
			}
		})
	}
	work.Wait()
	stop()
	held, ended := 0, 0
	for _, o := range owners {
		held, ended = held+len(o.holds), ended+len(o.ended)
		o.check()
	}
	if counts, _ := engine.Summary(); counts[renewal.Held]+counts[renewal.Adopting] != held || counts[renewal.Acquiring] != 0 {
		t.Errorf("%d leases have an owner, and the engine has %v", held, counts)
	}
	if n := store.all.Load(); n < 10_000 || ended < 10_000 {
		t.Errorf("%d renewals, and %d leases ended: the test shows little", n, ended)
	}
}

func (o *owner) act() {
	s := renewal.Subject(fmt.Sprintf("%s/%d", o.name, o.random.IntN(20)))
	if _, holds := o.holds[s]; !holds {
		o.begin(s)
		return
	}
	switch o.random.IntN(8) {
	case 0, 1:
		o.ending(s, o.engine.Forget)
	case 2:
		o.ending(s, o.engine.Halt)
	case 3:
		o.ending(s, o.begin)
	case 4:
		o.engine.Adopt(s, o.holds[s], quick)
	case 5:
		o.engine.Vouch(s)
	default:
		o.verify(s)
	}
}

// verify wants the subject to have its lease.
func (o *owner) verify(s renewal.Subject) {
	if state := o.engine.State(s); state.Term != o.holds[s] || state.Phase != renewal.Held && state.Phase != renewal.Adopting {
		o.Errorf("%s has %+v", s, state)
	}
}

// ending ends what the subject has, and counts.
func (o *owner) ending(s renewal.Subject, by func(renewal.Subject)) {
	term := o.holds[s]
	delete(o.holds, s)
	by(s)
	o.ended[term.Value()] = o.store.of(term.Value()).Load()
}

// begin is granted or adopts a lease, or gives its reservation up.
func (o *owner) begin(s renewal.Subject) {
	o.token++
	term := lease.Term{Scope: lease.Scope(s), Owner: lease.Owner(fmt.Sprintf("%32s", o.name)), Token: o.token}
	if o.random.IntN(3) == 0 {
		o.engine.Adopt(s, term, quick)
		o.holds[s] = term
		return
	}
	o.engine.Reserve(s, term.Scope, term.Owner)
	grant := lease.Grant{Term: term, At: time.Now()}
	interrupted := o.random.IntN(4) == 0
	if interrupted {
		[]func(renewal.Subject){o.engine.Forget, o.engine.Halt}[o.random.IntN(2)](s)
		o.ended[term.Value()] = -1 // it must never be renewed
	}
	if tracked := o.engine.Track(s, grant, quick); tracked == interrupted {
		o.Errorf("%s: tracked %t, and it was interrupted: %t", s, tracked, interrupted)
	}
	if !interrupted {
		o.holds[s] = term
	}
}

// check looks, when all is quiet, for renewals of leases that had ended, except for one that was on its way.
func (o *owner) check() {
	for value, n := range o.ended {
		if got := o.store.of(value).Load(); got > n+1 {
			o.Errorf("%s was renewed %d times, of which %d before it ended", value, got, n)
		}
	}
	for i := range 20 {
		s := renewal.Subject(fmt.Sprintf("%s/%d", o.name, i))
		state := o.engine.State(s)
		live := state.Phase == renewal.Held || state.Phase == renewal.Adopting
		if term, holds := o.holds[s]; holds != live || holds && state.Term != term {
			o.Errorf("%s: %+v, and the owner holds %v", s, state, term)
		}
	}
}
