package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
	"github.com/leasehold-dev/leasehold/internal/lease"
)

// heardOf notes what is listened for.
type heardOf struct{ calls []string }

func (h *heardOf) Watch(scope lease.Scope)   { h.calls = append(h.calls, "watch "+string(scope)) }
func (h *heardOf) Unwatch(scope lease.Scope) { h.calls = append(h.calls, "unwatch "+string(scope)) }

func (h *heardOf) Run(ctx context.Context, hint func(lease.Scope)) error {
	hint("finance/revenue")
	<-ctx.Done()
	return nil
}

// waiter is a ReportJob in a phase, which began to wait some minutes after noon.
func waiter(name, jobID string, minutes int) *v1alpha1.ReportJob {
	reportJob := &v1alpha1.ReportJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "finance", Name: name},
		Spec:       v1alpha1.ReportJobSpec{JobID: jobID, LeaseDuration: "30s", RenewalInterval: "5s", StopGracePeriod: "10s"},
	}
	since := metav1.NewMicroTime(noon.Add(time.Duration(minutes) * time.Minute))
	reportJob.Status.Phase, reportJob.Status.WaitingSince = v1alpha1.PhaseWaiting, &since
	return reportJob
}

func TestALeaseIsListenedForWhileAReportWaitsForIt(t *testing.T) {
	t.Parallel()
	var w waiters
	hints := &heardOf{}
	first, second, third := waiter("first", "revenue", 1), waiter("second", "revenue", 2), waiter("third", "costs", 3)
	for _, reportJob := range []*v1alpha1.ReportJob{first, second, third, first} {
		w.saw(hints, reportJob, &reportJob.Status)
	}
	first.Status.Phase = v1alpha1.PhaseStarting
	w.saw(hints, first, &first.Status)
	w.drop(hints, types.NamespacedName{Namespace: "finance", Name: "third"})
	w.drop(hints, types.NamespacedName{Namespace: "finance", Name: "nobody"})
	second.Status.Phase = v1alpha1.PhaseSkipped
	w.saw(hints, second, &second.Status)
	want := []string{"watch finance/revenue", "watch finance/costs", "unwatch finance/costs", "unwatch finance/revenue"}
	if diff := cmp.Diff(want, hints.calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(w.since)+len(w.scopes) != 0 {
		t.Errorf("remembered: %v, %v", w.since, w.scopes)
	}
}

func TestWithoutHintsWaitersOnlyPoll(t *testing.T) {
	t.Parallel()
	var w waiters
	one := waiter("one", "revenue", 1)
	w.saw(nil, one, &one.Status)
	w.drop(nil, types.NamespacedName{Namespace: "finance", Name: "one"})
}

func TestAReleaseWakesThoseWhoWaitedLongest(t *testing.T) {
	t.Parallel()
	r := &ReportJobReconciler{}
	for i := range 10 {
		one := waiter(fmt.Sprint("r", i), "revenue", 10-i)
		r.waiters.saw(nil, one, &one.Status)
	}
	var woken []string
	r.wake = func(name types.NamespacedName) { woken = append(woken, name.Name) }
	r.released("finance/revenue")
	r.released("finance/costs")
	if want := []string{"r9"}; !slices.Equal(woken, want) {
		t.Errorf("woken: %v, want %v", woken, want)
	}
}

func TestTheEndOfAReportIsToldToTheFirstInLine(t *testing.T) {
	t.Parallel()
	var sharing []v1alpha1.ReportJob
	for i := range 5 {
		sharing = append(sharing, *waiter(fmt.Sprint("w", i), "revenue", 5-i))
	}
	fresh := waiter("fresh", "revenue", 0)
	fresh.Status = v1alpha1.ReportJobStatus{}
	fresh.CreationTimestamp = metav1.NewTime(noon.Add(150 * time.Second))
	holder, over := waiter("holder", "revenue", 9), waiter("over", "revenue", 0)
	holder.Status.Execution, over.Status.Execution = &v1alpha1.Execution{}, &v1alpha1.Execution{}
	over.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
	var told []string
	for _, request := range firstInLine(append(sharing, *fresh, *over, *holder)) {
		told = append(told, request.Name)
	}
	if want := []string{"holder", "w4"}; !slices.Equal(told, want) {
		t.Errorf("told: %v, want %v", told, want)
	}
}
