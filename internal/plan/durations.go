package plan

import (
	"time"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// The defaults of the API, for a field that is empty. The API server lets nothing through that cannot be parsed.
const (
	defaultMaxRuntime      = 20 * time.Minute
	defaultStopGracePeriod = 10 * time.Second
	defaultWaitTimeout     = time.Hour
	defaultBackoff         = 10 * time.Second
	defaultMaxAttempts     = 3
)

// longestBackoff is where the doubling of retry.backoff ends.
const longestBackoff = 10 * time.Minute

// Intervals at which to look again.
const (
	// recheck is for what a watch reports anyway: it bounds the cost of an event that got lost.
	recheck = 5 * time.Second
	// shortestPoll and longestPoll bound the wait before the next attempt to acquire a lease that another one holds. The
	// holder may give it back long before it expires.
	shortestPoll = 250 * time.Millisecond
	longestPoll  = 5 * time.Second
	// longestQueuePoll bounds the wait of those who are not the first in line: the first one is woken by the release.
	longestQueuePoll = time.Minute
	// storeRetry is for a Redis that does not answer.
	storeRetry = 2 * time.Second
)

// queuePoll is when one looks again that has others ahead: the further back, the later, so that a thousand who wait cost no more
// than a few.
func queuePoll(poll time.Duration, ahead int) time.Duration {
	return min(poll*time.Duration(1+ahead), longestQueuePoll)
}

func maxRuntime(spec *v1alpha1.ReportJobSpec) time.Duration {
	return parsed(spec.MaxRuntime, defaultMaxRuntime)
}

// stopGracePeriod is in whole seconds, rounded up, and at least one: a grace of 0 would remove the pod unconfirmed.
func stopGracePeriod(spec *v1alpha1.ReportJobSpec) time.Duration {
	grace := parsed(spec.StopGracePeriod, defaultStopGracePeriod)
	return max(time.Second, (grace + time.Second - 1).Truncate(time.Second))
}

func waitTimeout(spec *v1alpha1.ReportJobSpec) time.Duration {
	return parsed(spec.Contention.Timeout, defaultWaitTimeout)
}

func parsed(d v1alpha1.Duration, fallback time.Duration) time.Duration {
	value, err := time.ParseDuration(string(d))
	if err != nil {
		return fallback
	}
	return value
}

// until is the time left to an instant, at least 1ms so that it is never taken for "no need to look again".
func until(instant, now time.Time) time.Duration {
	return max(time.Millisecond, instant.Sub(now))
}
