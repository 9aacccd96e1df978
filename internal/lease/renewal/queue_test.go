package renewal

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"
)

// TestAQueueIsSortedWhateverHappensToIt compares a queue with a map.
func TestAQueueIsSortedWhateverHappensToIt(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 4))
	q := queue{kind: watch}
	want := map[*entry]time.Duration{}
	for range 200_000 {
		at := time.Duration(random.IntN(1000))
		switch random.IntN(6) {
		case 0, 1:
			x := &entry{}
			q.add(x, at)
			want[x] = at
		case 2:
			if x := anyOf(random, q); x != nil {
				q.remove(x)
				delete(want, x)
			}
		case 3, 4:
			move(random, &q, at, want)
		case 5:
			if random.IntN(1000) == 0 {
				q.cap(at)
				capAll(want, at)
			}
		}
		checkQueue(t, &q, want)
	}
	drain(t, &q, want)
}

// move brings an entry forward, or puts the first one off.
func move(random *rand.Rand, q *queue, at time.Duration, want map[*entry]time.Duration) {
	x, first := q.first()
	switch {
	case x == nil:
	case random.IntN(2) == 0:
		q.postpone(x, first+at)
		want[x] = first + at
	default:
		x = anyOf(random, *q)
		q.hasten(x, at)
		want[x] = min(want[x], at)
	}
}

func capAll(want map[*entry]time.Duration, at time.Duration) {
	for x := range want {
		want[x] = min(want[x], at)
	}
}

func anyOf(random *rand.Rand, q queue) *entry {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[random.IntN(len(q.items))].entry
}

// checkQueue checks the front; the rest follows, as everything comes to the front.
func checkQueue(t *testing.T, q *queue, want map[*entry]time.Duration) {
	t.Helper()
	x, at := q.first()
	if len(q.items) != len(want) || (x == nil) != (len(want) == 0) || x != nil && (want[x] != at || !q.holds(x)) {
		t.Fatalf("%d entries, want %d; the first is due at %d, want %d", len(q.items), len(want), at, want[x])
	}
}

func drain(t *testing.T, q *queue, want map[*entry]time.Duration) {
	t.Helper()
	var order []time.Duration
	for len(q.items) > 0 {
		checkQueue(t, q, want)
		x, at := q.first()
		q.remove(x)
		delete(want, x)
		order = append(order, at)
		if q.holds(x) {
			t.Fatal("an entry that was removed is still held")
		}
	}
	if !slices.IsSorted(order) {
		t.Error("they did not come in order")
	}
}

func TestTheMostUrgentIsFirstAmongNewRequestsAndRepetitions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ready, again time.Duration // deadlines; 0: there is none
		nextAgain    time.Duration
		want         time.Duration
	}{
		"nothing":                       {0, 0, 0, 0},
		"a new one":                     {5, 0, 0, 5},
		"a repetition":                  {0, 5, 0, 5},
		"a repetition, later":           {0, 5, 101, 0},
		"a repetition, now":             {0, 5, 100, 5},
		"the new one is more urgent":    {5, 6, 0, 5},
		"the repetition is more urgent": {6, 5, 0, 5},
		"the repetition is held back":   {6, 5, 101, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := New(Options{})
			e.nextAgain = tc.nextAgain
			for in, deadline := range map[where]time.Duration{ready: tc.ready, again: tc.again} {
				if deadline != 0 {
					e.plan(&entry{deadline: deadline}, in, deadline)
				}
			}
			var got time.Duration
			if x := e.mostUrgent(100); x != nil {
				got = x.deadline
			}
			if got != tc.want {
				t.Errorf("the lease with deadline %d goes first, want %d", got, tc.want)
			}
		})
	}
}

// TestAnEntryIsSmall keeps entries within the allocator's size class of 176 bytes.
func TestAnEntryIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(entry{}); size > 176 {
		t.Errorf("an entry has %d bytes", size)
	}
}

func TestARenewalIsDueUpToATenthEarly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 1))
	for range 100_000 {
		var x entry
		x.timing.RenewalInterval = time.Duration(1 + random.Int64N(int64(time.Hour)))
		if random.IntN(2) == 0 {
			x.timing.RenewalInterval = time.Duration(1 + random.IntN(1000))
		}
		x.anchor = time.Duration(random.Int64N(int64(1000 * time.Hour)))
		at := x.renewAt(random.Float64())
		if early := x.anchor + x.timing.RenewalInterval - at; early < 0 || early > x.timing.RenewalInterval/10+10 {
			t.Fatalf("an interval of %v: %v early", x.timing.RenewalInterval, early)
		}
	}
	if at := (&entry{anchor: 5}).renewAt(0.5); at != never {
		t.Errorf("a lease that is never renewed is renewed at %v", at)
	}
}
