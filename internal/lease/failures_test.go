package lease_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEachFailureOfALockLibraryIsAnsweredByATestThatExists reads the table of what went wrong elsewhere.
func TestEachFailureOfALockLibraryIsAnsweredByATestThatExists(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/design/lease-failures.md")
	if err != nil {
		t.Fatal(err)
	}
	known := testNames(t, "../..")
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || strings.Contains(line, "---") || strings.Contains(line, "| issue |") {
			continue
		}
		rows++
		names := regexp.MustCompile(`Test\w+`).FindAllString(cells[3], -1)
		if len(names) == 0 {
			t.Errorf("%s is answered by no test", strings.TrimSpace(cells[0]))
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s is answered by %s, which does not exist", strings.TrimSpace(cells[0]), name)
			}
		}
	}
	if rows < 40 {
		t.Errorf("found %d rows: the test reads the wrong table", rows)
	}
}

// testNames finds the tests below a directory.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(source), -1) {
			names[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
