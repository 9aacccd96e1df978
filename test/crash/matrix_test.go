//go:build crash

package crash

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheEndIsTheSameWhicheverWriteTheOperatorDiesAfter(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, life := range lifecycles {
		t.Run(life.name, func(t *testing.T) {
			t.Parallel()
			calm := s.try(t, life, crashPoint{})
			if calm.end != life.end {
				t.Fatalf("without a crash it came to %q, want %q", calm.end, life.end)
			}
			table.begin(life, calm)
			for _, write := range calm.writes {
				if len(life.only) > 0 && !slices.Contains(life.only, write) {
					continue
				}
				for _, moment := range []moment{unheard, heard} {
					point := crashPoint{write, moment}
					t.Run(write+", "+string(moment), func(t *testing.T) {
						t.Parallel()
						s.crash(t, life, point)
					})
				}
			}
		})
	}
}

// attempts is how often a trial is made in which the write to die after did not come.
const attempts = 3

// mayBeMissing says that a write need not come in every life: the second and later ones of a kind are repetitions, and what the
// status says of a pod that does not run yet depends on how fast it runs.
func mayBeMissing(write string) bool { return write == message || strings.HasSuffix(write, ")") }

// crash makes one trial of a crash and enters it into the table.
func (s *suite) crash(t *testing.T, life lifecycle, point crashPoint) {
	t.Helper()
	for range attempts {
		r := s.try(t, life, point)
		if r.end != life.end {
			t.Errorf("it came to %q, without a crash to %q", r.end, life.end)
		}
		if r.reached {
			table.enter(life, point, r)
			return
		}
		t.Logf("the operator wrote %q, so it was not killed", r.writes)
	}
	if !mayBeMissing(point.write) {
		t.Errorf("in %d trials the operator never wrote %q", attempts, point.write)
	}
}

// matrix is what the trials came to, by lifecycle and write.
type matrix struct {
	mu     sync.Mutex
	blocks map[string]*block
}

// block is the part of one lifecycle.
type block struct {
	calm   result
	writes []string
	cells  map[crashPoint]result
}

func (m *matrix) begin(life lifecycle, calm result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocks == nil {
		m.blocks = map[string]*block{}
	}
	m.blocks[life.name] = &block{calm: calm, writes: calm.writes, cells: map[crashPoint]result{}}
}

func (m *matrix) enter(life lifecycle, point crashPoint, r result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks[life.name].cells[point] = r
}

// markdown renders one table for each lifecycle, in the order in which they are declared.
func (m *matrix) markdown() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, life := range lifecycles {
		if block := m.blocks[life.name]; block != nil {
			block.render(&b, life)
		}
	}
	return b.String()
}

func (bl *block) render(b *strings.Builder, life lifecycle) {
	fmt.Fprintf(b, "\n## %s\n\nWithout a crash: %s, after %s.\n\n", strings.ToUpper(life.name[:1])+life.name[1:],
		bl.calm.end, seconds(bl.calm))
	fmt.Fprintf(b, "| killed after this write | %s | %s |\n|---|---|---|\n", unheard, heard)
	for _, write := range bl.writes {
		if len(life.only) > 0 && !slices.Contains(life.only, write) {
			continue
		}
		fmt.Fprintf(b, "| %s |", write)
		for _, moment := range []moment{unheard, heard} {
			cell, there := bl.cells[crashPoint{write, moment}]
			if !there {
				b.WriteString(" this write did not come again |")
				continue
			}
			fmt.Fprintf(b, " %s, %s |", cell.end, seconds(cell))
		}
		b.WriteString("\n")
	}
}

func seconds(r result) string {
	return time.Duration(r.seconds * float64(time.Second)).Round(100 * time.Millisecond).String()
}

const introduction = `# Crash points

The operator is killed with SIGKILL after every single write of a ReportJob's life, to the API server and to Redis, and started
again. What it comes to is what it comes to without a crash; in each of these trials exactly one pod ran, its lease was given
back or ran out, and nothing kept the ReportJob. This page is written by

` + "```sh\nmake test-crash CRASH_ARGS=\"-matrix $PWD/docs/crash-points.md\"\n```" + `

on the local cluster. The operator is killed either when the server has carried the write out and the operator has not heard of
it, or when it has heard of it; then it sends nothing more. A grant that nobody heard of blocks the next one until it has run out:
leases are 6 s long here. Events are left out, since nothing rests on them, and so are renewals after a process's first one. A
number says which one of several of a kind it is; the later ones are repetitions, which not every life needs.
The times are from the creation of the ReportJob to its end, the lease of 6 s included where it has to run out; several trials ran
at once.
`
