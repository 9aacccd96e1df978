package lease_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
	"github.com/leasehold-dev/leasehold/internal/lease/renewal"
)

func TestTheTableOfOutagesIsWhatTheArithmeticSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/timing.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 8 || strings.Contains(line, "lease") || strings.Contains(line, "---") {
			continue
		}
		rows++
		checkRow(t, cells)
	}
	if rows < 5 {
		t.Errorf("found %d rows: the test reads the wrong table", rows)
	}
}

func checkRow(t *testing.T, cells []string) {
	t.Helper()
	d := make([]time.Duration, len(cells))
	for i, cell := range cells {
		text := strings.TrimSpace(cell)
		if text == "unset" {
			continue
		}
		var err error
		if d[i], err = time.ParseDuration(text); err != nil {
			t.Fatalf("%q: %v", cells, err)
		}
	}
	timing := lease.Timing{LeaseDuration: d[0], RenewalInterval: d[1], StopGracePeriod: d[2], RenewalTimeout: d[3]}
	if err := timing.Validate(); err != nil {
		t.Errorf("%q: %v", cells, err)
	}
	left := timing.UncertainAfter() - timing.RenewalInterval - renewal.MaxRetryDelay - redis.ProbeInterval
	refused, silent := max(left, 0), max(left-renewal.CallTimeout, 0)
	if d[4] != timing.Trusted() || d[5] != timing.UncertainAfter() || d[6] != refused || d[7] != silent {
		t.Errorf("%q: want T %v, U %v, survives %v and %v", cells, timing.Trusted(), timing.UncertainAfter(), refused, silent)
	}
}
