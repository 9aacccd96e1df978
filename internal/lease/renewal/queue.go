package renewal

import (
	"math"
	"time"
)

// arity is how many children a node of a queue has: with four, half as many levels are moved through as with two, and the
// children lie in one or two cache lines.
const arity = 4

// item is an entry's place in a queue.
type item struct {
	at    time.Duration
	entry *entry
}

// queue is a heap of entries, earliest first. An entry knows its place, so that it can be moved or removed at once; it is in one
// queue of each kind at most.
type queue struct {
	kind  int // which of the entry's places is this queue's
	items []item
}

// first returns the earliest entry and when it is due; nil if there is none.
func (q *queue) first() (*entry, time.Duration) {
	if len(q.items) == 0 {
		return nil, never
	}
	return q.items[0].entry, q.items[0].at
}

func (q *queue) holds(e *entry) bool { return e.places[q.kind] != 0 }

// add puts an entry in that is in no queue of this kind.
func (q *queue) add(e *entry, at time.Duration) {
	q.items = append(q.items, item{})
	q.up(len(q.items)-1, item{at, e})
}

// remove takes an entry out.
func (q *queue) remove(e *entry) {
	i := q.placeOf(e)
	e.places[q.kind] = 0
	last := len(q.items) - 1
	moved := q.items[last]
	q.items[last] = item{}
	q.items = q.items[:last]
	if i < last {
		q.settle(i, moved)
	}
}

// hasten moves an entry forward to an earlier time; a later one changes nothing.
func (q *queue) hasten(e *entry, at time.Duration) {
	if i := q.placeOf(e); at < q.items[i].at {
		q.up(i, item{at, e})
	}
}

// postpone moves an entry back to a later time.
func (q *queue) postpone(e *entry, at time.Duration) { q.down(q.placeOf(e), item{at, e}) }

// cap brings every entry forward to at least this time. That keeps their order, so nothing has to be moved.
func (q *queue) cap(at time.Duration) {
	for i := range q.items {
		q.items[i].at = min(q.items[i].at, at)
	}
}

func (q *queue) placeOf(e *entry) int { return int(e.places[q.kind]) - 1 }

func (q *queue) put(i int, it item) {
	q.items[i] = it
	it.entry.places[q.kind] = place(i)
}

// place is what an entry knows of its index. Half an int is enough for more entries than fit in memory.
func place(i int) int32 {
	if i < 0 || i >= math.MaxInt32 {
		panic("the engine renews more leases than it can count")
	}
	return int32(i + 1)
}

// settle puts an item in the place of another one.
func (q *queue) settle(i int, it item) {
	if i > 0 && it.at < q.items[(i-1)/arity].at {
		q.up(i, it)
	} else {
		q.down(i, it)
	}
}

// up puts an item at i or, before later ones, nearer to the front.
func (q *queue) up(i int, it item) {
	for i > 0 {
		parent := (i - 1) / arity
		if q.items[parent].at <= it.at {
			break
		}
		q.put(i, q.items[parent])
		i = parent
	}
	q.put(i, it)
}

// down puts an item at i or, after earlier ones, further from the front.
func (q *queue) down(i int, it item) {
	for {
		child := q.earliestChild(i)
		if child < 0 || it.at <= q.items[child].at {
			break
		}
		q.put(i, q.items[child])
		i = child
	}
	q.put(i, it)
}

// earliestChild is -1 if there is no child.
func (q *queue) earliestChild(i int) int {
	first := i*arity + 1
	if first >= len(q.items) {
		return -1
	}
	earliest := first
	for child := first + 1; child < min(first+arity, len(q.items)); child++ {
		if q.items[child].at < q.items[earliest].at {
			earliest = child
		}
	}
	return earliest
}
