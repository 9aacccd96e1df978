//go:build crash

package crash

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// moment is when the operator dies, seen from a write that the server has carried out.
type moment string

const (
	// unheard is before the answer gets to the operator: it never knows what it has done.
	unheard moment = "before it hears the answer"
	// heard is after that. What the operator sends next is not forwarded any more.
	heard moment = "after it hears the answer"
)

// quiet is how long an operator that heard the answer has to make something of it, if it sends no further write before.
const quiet = 100 * time.Millisecond

// crashPoint is one place at which an operator dies. The zero value is no crash.
type crashPoint struct {
	write  string
	moment moment
}

// gate is what every write of one operator process passes, whichever proxy it goes through. It counts the writes, and ends the
// process after the one that it was set up for. Behind that it stays shut: what a dead process has sent must not arrive later.
type gate struct {
	point crashPoint
	// kill ends the process and returns when it is gone.
	kill func()
	// dead is closed when the process is gone.
	dead chan struct{}

	once   sync.Once
	mu     sync.Mutex
	shut   bool
	counts map[string]int
	writes []string
}

func newGate(point crashPoint, kill func()) *gate {
	return &gate{point: point, kill: kill, dead: make(chan struct{}), counts: map[string]int{}}
}

// enter lets a write pass to its server, or says that it must be dropped.
func (g *gate) enter() bool {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut {
		g.die()
	}
	return !shut
}

// answered notes a write that its server has carried out, and says whether the operator may hear of it.
func (g *gate) answered(name string) bool {
	if !g.note(name) {
		return true
	}
	if g.point.moment == unheard {
		g.die()
		return false
	}
	time.AfterFunc(quiet, g.die)
	return true
}

// note counts a write and says whether it is the one to die after. A name that comes again gets its number.
func (g *gate) note(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts[name]++
	if n := g.counts[name]; n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	g.writes = append(g.writes, name)
	hit := !g.shut && name == g.point.write
	g.shut = g.shut || hit
	return hit
}

// die shuts the gate and ends the process, once.
func (g *gate) die() {
	g.once.Do(func() {
		g.mu.Lock()
		g.shut = true
		g.mu.Unlock()
		g.kill()
		close(g.dead)
	})
}

// isDead says whether the process was killed and is gone.
func (g *gate) isDead() bool {
	select {
	case <-g.dead:
		return true
	default:
		return false
	}
}

// seen returns the writes so far, in their order.
func (g *gate) seen() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.writes)
}
