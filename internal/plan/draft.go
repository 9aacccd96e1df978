package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// draft is a decision in the making, and in Settle a settlement in the making.
type draft struct {
	status       v1alpha1.ReportJobStatus
	actions      []Action
	transitions  []Transition
	requeueAfter time.Duration
	now          time.Time
	lease        LeaseView
	next         Verdict
	trigger      *v1alpha1.Trigger
	readLive     bool
}

// draft starts a decision with the observed status, brought up to date with what is known of Job and pod.
func (m *matter) draft() *draft {
	d := &draft{status: *m.ReportJob.Status.DeepCopy(), now: m.now, lease: m.Lease, trigger: m.ReportJob.Spec.Trigger}
	if m.finished {
		return d
	}
	d.status.ObservedGeneration = m.ReportJob.Generation
	d.status.JobID = m.ReportJob.JobID()
	d.condition(v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonNotFinished,
		"The report is still to come or under way.")
	d.resumed(m)
	d.forceReleaseIgnored(m)
	if d.status.Execution != nil {
		d.trackJob(m)
		if m.completion == nil {
			d.trackPod(m.pod())
		}
	}
	return d
}

// live asks for a live observation.
func (m *matter) live() *draft {
	return &draft{readLive: true, now: m.now, lease: m.Lease}
}

func (d *draft) trackJob(m *matter) {
	if job := m.ownJob(); job != nil && d.status.Execution.JobUID == "" {
		d.status.Execution.JobUID = job.UID
		d.status.Holder = job.Name
	}
}

func (d *draft) trackPod(pod *Pod) {
	if pod == nil {
		return
	}
	execution := d.status.Execution
	execution.Pod, execution.PodUID, execution.Node = pod.Name, pod.UID, pod.Node
	d.status.Holder = pod.Name
	if pod.Started && execution.StartedAt == nil {
		at := metav1.NewTime(d.now.UTC().Truncate(time.Second))
		execution.StartedAt = &at
	}
}

// phase sets the summary for people.
func (d *draft) phase(phase v1alpha1.Phase, reason, message string) {
	d.status.Phase, d.status.Reason, d.status.Message = phase, reason, clip(message)
}

// condition sets a condition; its time of transition changes with its status only.
func (d *draft) condition(conditionType string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&d.status.Conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: clip(message),
		ObservedGeneration: d.status.ObservedGeneration,
		LastTransitionTime: metav1.NewTime(d.now.UTC().Truncate(time.Second)),
	})
}

// note adds a transition. Its notice may be the zero value.
func (d *draft) note(event string, notice Notice, reason, message string) {
	t := Transition{
		At: d.now, Event: event, Reason: reason, Message: clip(message), JobID: d.status.JobID, Notice: notice,
		Elapsed: elapsed(d.status.Execution, d.now), Trigger: d.trigger,
	}
	if execution := d.status.Execution; execution != nil {
		t.ExecutionID, t.Token, t.Pod = execution.ID, execution.Token, execution.Pod
		t.Attempt, t.RetryOf = execution.Attempt, execution.RetryOf
		t.RenewalOutcome = string(d.lease.phase())
	}
	d.transitions = append(d.transitions, t)
}

func normal(reason string) Notice  { return Notice{Type: NoticeNormal, Reason: reason} }
func warning(reason string) Notice { return Notice{Type: NoticeWarning, Reason: reason} }

// do adds actions.
func (d *draft) do(actions ...Action) *draft {
	d.actions = append(d.actions, actions...)
	return d
}

// after says when to look again.
func (d *draft) after(wait time.Duration) *draft {
	d.requeueAfter = wait
	return d
}

func (d *draft) decision(rule string) Decision {
	return Decision{
		Rule: rule, ReadLive: d.readLive, Actions: d.actions, Status: d.status, Transitions: d.transitions,
		RequeueAfter: d.requeueAfter, At: d.now, Lease: d.lease, Next: d.next, Trigger: d.trigger,
	}
}

// maxMessage is the API's limit of messages, in bytes here so that it holds in characters too.
const maxMessage = 1024

// clip cuts a message to what the API takes, at a character's boundary.
func clip(message string) string { return clipTo(message, maxMessage) }

// maxOwner bounds what is told of a lease's holder: an owner has 32 bytes, but another program may have put anything there.
const maxOwner = 64

func clipTo(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	cut := limit - len("…")
	for cut > 0 && message[cut]&0xC0 == 0x80 {
		cut--
	}
	return message[:cut] + "…"
}

// hasReason says that a condition is there, for a reason.
func hasReason(conditions []metav1.Condition, conditionType, reason string) bool {
	condition := meta.FindStatusCondition(conditions, conditionType)
	return condition != nil && condition.Reason == reason
}
