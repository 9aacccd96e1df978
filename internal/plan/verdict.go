package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// Verdict says what comes after an execution whose outcome is recorded. It follows from what is recorded alone, so that every
// operator that looks comes to the same one. The zero value says that the report is over.
type Verdict struct {
	// Again says that another attempt follows.
	Again bool
	// Counted says that the attempt that ended counts towards retry.maxAttempts.
	Counted bool
	// Backoff is the wait before the next attempt.
	Backoff time.Duration
	// Exhausted says that the report is over because maxAttempts have failed, more than one.
	Exhausted bool
}

// verdict looks at the completion and at spec.retry.
func (m *matter) verdict() Verdict {
	if m.completion.Outcome == v1alpha1.OutcomeSucceeded || m.deleted {
		return Verdict{}
	}
	retry, failed := &m.ReportJob.Spec.Retry, m.ReportJob.Status.FailedAttempts
	switch retryAction(retry, m.completion) {
	case v1alpha1.RetryIgnore:
		if m.completion.Reason == v1alpha1.ReasonSuspended {
			return Verdict{Again: true}
		}
		return Verdict{Again: true, Backoff: backoff(retry, failed)}
	case v1alpha1.RetryCount:
		if limit := maxAttempts(retry); failed+1 >= limit {
			return Verdict{Exhausted: limit > 1}
		}
		return Verdict{Again: true, Counted: true, Backoff: backoff(retry, failed)}
	default:
		return Verdict{}
	}
}

// retryAction is that of the first rule that matches, or the default for the reason.
func retryAction(retry *v1alpha1.Retry, completion *v1alpha1.Completion) v1alpha1.RetryAction {
	switch completion.Reason {
	case v1alpha1.ReasonSuspended:
		return v1alpha1.RetryIgnore
	case v1alpha1.ReasonJobRefused, v1alpha1.ReasonDeleted:
		return v1alpha1.RetryFail
	}
	for i := range retry.Rules {
		if rule := &retry.Rules[i]; matches(rule, completion) {
			return rule.Action
		}
	}
	if completion.Reason == v1alpha1.ReasonMaxRuntimeExceeded {
		return v1alpha1.RetryFail
	}
	return v1alpha1.RetryCount
}

func matches(rule *v1alpha1.RetryRule, completion *v1alpha1.Completion) bool {
	if slices.Contains(rule.OnReasons, v1alpha1.RetryReason(completion.Reason)) {
		return true
	}
	code := completion.ExitCode
	if rule.OnExitCodes == nil || code == nil || *code == 0 {
		return false
	}
	listed := slices.Contains(rule.OnExitCodes.Values, *code)
	return listed == (rule.OnExitCodes.Operator == v1alpha1.ExitCodeIn)
}

// maxAttempts is at least 1.
func maxAttempts(retry *v1alpha1.Retry) int32 {
	if retry.MaxAttempts == 0 {
		return defaultMaxAttempts
	}
	return max(1, retry.MaxAttempts)
}

// backoff is the wait after the attempt that follows as many failed ones: it doubles up to longestBackoff, or stays as it is if
// that is less.
func backoff(retry *v1alpha1.Retry, failed int32) time.Duration {
	wait := parsed(retry.Backoff, defaultBackoff)
	for range failed {
		if wait >= longestBackoff {
			break
		}
		wait = min(2*wait, longestBackoff)
	}
	return wait
}

// attemptsKept is how many ended attempts a status keeps; the API's limit of status.attempts.
const attemptsKept = 10

// tryAgain puts the ended execution among the attempts, and makes room for the next one.
func (d *draft) tryAgain() *draft {
	attempt := ended(&d.status, d.next.Counted)
	message := fmt.Sprintf("Attempt %d ended: %s", attempt.Number, sentence(attempt.Message))
	reason := attempt.Reason
	if reason != v1alpha1.ReasonSuspended {
		reason, message = v1alpha1.ReasonBackOff, fmt.Sprintf("%s The next one begins in %s.", message, d.next.Backoff)
	}
	d.note(EventRetrying, normal(v1alpha1.EventReportRetrying), attempt.Reason, message)
	kept := d.status.Attempts[max(0, len(d.status.Attempts)-attemptsKept+1):]
	d.status.Attempts = append(slices.Clone(kept), attempt)
	d.status.LastAttempt = attempt.Number
	if d.next.Counted {
		d.status.FailedAttempts++
	}
	at := microTime(d.now.Add(d.next.Backoff))
	d.status.RetryAt = &at
	d.clearExecution()
	d.phase(v1alpha1.PhasePending, reason, message)
	return d.after(max(time.Millisecond, d.next.Backoff))
}

// clearExecution takes the execution and all that speaks of it out of the status.
func (d *draft) clearExecution() {
	d.status.Execution, d.status.Stop, d.status.Completion = nil, nil, nil
	d.status.Holder, d.status.WaitingSince = "", nil
	for _, condition := range []string{
		v1alpha1.ConditionOwnershipUncertain, v1alpha1.ConditionStopRequested, v1alpha1.ConditionStopConfirmed,
	} {
		meta.RemoveStatusCondition(&d.status.Conditions, condition)
	}
}

// ended is the attempt that the status' execution was.
func ended(status *v1alpha1.ReportJobStatus, counted bool) v1alpha1.Attempt {
	execution, completion := status.Execution, status.Completion
	return v1alpha1.Attempt{
		Number: execution.Attempt, ExecutionID: execution.ID, Token: execution.Token,
		Job: execution.Job, Pod: execution.Pod, Node: execution.Node,
		AcquiredAt: execution.AcquiredAt, StartedAt: execution.StartedAt, EndedAt: completion.At,
		Outcome: completion.Outcome, Reason: completion.Reason, Message: completion.Message, ExitCode: completion.ExitCode,
		Counted: counted, Superseded: status.Stop != nil && status.Stop.SupersededAt != nil,
	}
}

// findAttempt returns the ended attempt whose Job has the name; nil if none is kept.
func findAttempt(reportJob *v1alpha1.ReportJob, job string) *v1alpha1.Attempt {
	attempts := reportJob.Status.Attempts
	for i := range attempts {
		if attempts[i].Job == job {
			return &attempts[i]
		}
	}
	return nil
}

// strays are the Jobs of this ReportJob that belong to nothing: not those of attempts that ended, if they can start no pod. These
// stay for their logs; a pod of one that is left is a sibling.
func (m *matter) strays() []Job {
	var strays []Job
	for i := range m.Strays {
		job := &m.Strays[i]
		attempt := findAttempt(m.ReportJob, job.Name)
		if attempt == nil || (!isOver(job) && !m.isEnding(attempt)) {
			strays = append(strays, *job)
		}
	}
	return strays
}

// isOver says that a Job starts no pod any more.
func isOver(job *Job) bool { return job.Ended != nil || job.Deleting }

// verdictTime is how long the Job controller has for the end of a Job whose pod has ended, before the Job is deleted.
const verdictTime = 10 * time.Second

// isEnding says that the Job of an attempt which ended by itself may not say so yet.
func (m *matter) isEnding(attempt *v1alpha1.Attempt) bool {
	since := m.now.Sub(attempt.EndedAt.Time)
	return attempt.Outcome == v1alpha1.OutcomeFailed && since >= 0 && since < verdictTime
}

// awaitVerdict says that the Job of an earlier attempt is about to end, and is waited for.
func (m *matter) awaitVerdict() bool {
	for i := range m.Strays {
		attempt := findAttempt(m.ReportJob, m.Strays[i].Name)
		if attempt != nil && !isOver(&m.Strays[i]) && m.isEnding(attempt) {
			return true
		}
	}
	return false
}
