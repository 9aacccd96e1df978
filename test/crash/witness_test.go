//go:build crash

package crash

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// witness is the folder of the node in which a report leaves its notes.
type witness struct{ dir string }

func newWitness(t *testing.T) witness {
	t.Helper()
	return witness{t.TempDir()}
}

// notes returns the tokens under which the report noted something, in the order in which it did.
func (w witness) notes(t *testing.T, what string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var tokens []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == what {
			tokens = append(tokens, fields[1])
		}
	}
	return tokens
}

// alive says whether any process of the report lives: it would hold the lock.
func (w witness) alive(t *testing.T) bool {
	t.Helper()
	file, err := os.Open(filepath.Join(w.dir, "lock"))
	if os.IsNotExist(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// check holds the notes against the tokens that Redis granted, in their order.
func (w witness) check(t *testing.T, granted []string) {
	t.Helper()
	if overlaps := w.notes(t, "overlap"); len(overlaps) > 0 {
		t.Errorf("two processes lived at once; the later ones had the tokens %v", overlaps)
	}
	starts := w.notes(t, "start")
	if len(starts) != 1 {
		t.Errorf("%d pods ran, with the tokens %v; want one", len(starts), starts)
	}
	if w.alive(t) {
		t.Error("a process of the report lives on after its end")
	}
	// Decimal numbers without leading zeros: the longer one is the higher one.
	if !slices.IsSortedFunc(granted, compareTokens) || len(slices.Compact(slices.Clone(granted))) != len(granted) {
		t.Errorf("tokens do not increase: %v", granted)
	}
	if len(starts) > 0 && !slices.Contains(granted, starts[len(starts)-1]) {
		t.Errorf("the report ran under the token %s, and Redis granted %v", starts[len(starts)-1], granted)
	}
}

func compareTokens(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
