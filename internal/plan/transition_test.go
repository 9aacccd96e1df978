package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

func TestATransitionTellsAllThatTheLogLineNeeds(t *testing.T) {
	t.Parallel()
	obs := running(lease(plan.LeaseLost), podSeen)
	got := plan.Decide(obs, noon).Transitions[0]
	want := plan.Transition{
		At: noon, Event: "lease_lost", Reason: "LeaseLost", Message: got.Message, JobID: "revenue", ExecutionID: "0wner",
		Attempt: 1, Token: "7", Pod: "pod", Elapsed: time.Minute, RenewalOutcome: "Lost",
		Notice: plan.Notice{Type: "Warning", Reason: "LeaseLost"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transition (-want +got):\n%s", diff)
	}
}

func TestATransitionBeforeTheGrantNamesNoExecution(t *testing.T) {
	t.Parallel()
	decision := plan.Decide(fresh(finalizer), noon)
	settled := plan.Settle(decision, results(plan.LeaseHeldByOther{Owner: "other", Token: "5", ExpiresIn: time.Second}))
	got := settled.Transitions[0]
	want := plan.Transition{At: noon, Event: "lease_waiting", Reason: "LeaseHeldByOther", Message: got.Message,
		JobID: "revenue", Notice: plan.Notice{Type: "Normal", Reason: "WaitingForLease"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transition (-want +got):\n%s", diff)
	}
}

func TestElapsedIsNeverNegative(t *testing.T) {
	t.Parallel()
	got := plan.Decide(running(lease(plan.LeaseLost)), granted.Add(-time.Minute)).Transitions[0].Elapsed
	if got != 0 {
		t.Errorf("elapsed %v", got)
	}
}

func TestRecordKeepsTheLastTwenty(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kept, added int
		first, last string
		length      int
	}{
		"into nothing": {0, 2, "new-0", "new-1", 2},
		"up to twenty": {18, 2, "old-0", "new-1", 20},
		"beyond":       {20, 3, "old-3", "new-2", 20},
		"far beyond":   {5, 30, "new-10", "new-29", 20},
		"nothing":      {20, 0, "old-0", "old-19", 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, added := make([]v1alpha1.Transition, tc.kept), make([]plan.Transition, tc.added)
			for i := range kept {
				kept[i].Event = fmt.Sprintf("old-%d", i)
			}
			for i := range added {
				added[i].Event = fmt.Sprintf("new-%d", i)
			}
			got := plan.Record(kept, added)
			if len(got) != tc.length || got[0].Event != tc.first || got[len(got)-1].Event != tc.last {
				t.Errorf("%d transitions from %s to %s", len(got), got[0].Event, got[len(got)-1].Event)
			}
		})
	}
}

func TestSettleRecordsTransitionsInTheStatus(t *testing.T) {
	t.Parallel()
	settled := plan.Settle(plan.Decide(running(lease(plan.LeaseLost)), noon), nil)
	got := settled.Status.Transitions
	want := []v1alpha1.Transition{
		{At: metav1.NewMicroTime(noon), Event: "lease_lost", Reason: "LeaseLost", Message: got[0].Message,
			ExecutionID: "0wner", Token: "7"},
		{At: metav1.NewMicroTime(noon), Event: "job_stop_requested", Reason: "LeaseLost", Message: got[1].Message,
			ExecutionID: "0wner", Token: "7"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
}

func TestAMessageFitsTheAPI(t *testing.T) {
	t.Parallel()
	for name, detail := range map[string]string{
		"long ASCII":      strings.Repeat("x", 5000),
		"long in 2 bytes": strings.Repeat("é", 2000),
		"long in 4 bytes": "a" + strings.Repeat("😀", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obs := running()
			obs.Lease = plan.LeaseView{Phase: plan.LeaseLost, Detail: detail}
			status := plan.Settle(plan.Decide(obs, noon), nil).Status
			for what, message := range map[string]string{
				"status": status.Message, "stop": status.Stop.Message, "transition": status.Transitions[0].Message,
			} {
				if len(message) > 1024 || !utf8.ValidString(message) || !strings.HasSuffix(message, "…") {
					t.Errorf("%s: %d bytes, ends in %q", what, len(message), message[len(message)-8:])
				}
			}
		})
	}
}
