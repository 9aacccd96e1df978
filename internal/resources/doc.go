// Package resources turns a ReportJob and one of its executions into the Job that runs it.
//
// It is pure: the same arguments give the same Job, and nothing is read, written, timed or drawn by chance. What the
// operator owns is set last, so that nothing in the user's template can undo it:
//
//   - one pod and no second one: parallelism 1, completions 1, backoffLimit 0, restartPolicy Never,
//     podReplacementPolicy Failed. A retry is a new grant with a new fencing token, hence never the Job controller's;
//   - an end: activeDeadlineSeconds from maxRuntime, on the Job for the Job controller and on the pod for the kubelet,
//     which needs no API server for it, and 2 s above it, so that the operator comes first as long as it lives. Each counts
//     from its own start; the operator counts from the grant;
//   - the stop: terminationGracePeriodSeconds is stopGracePeriod, because whoever deletes the pod (garbage collector, Job
//     controller, eviction) uses the pod's own value;
//   - no ttlSecondsAfterFinished: the Job must not vanish before its result is written down;
//   - the identity of the execution: labels and annotations on Job and pod, environment variables in every container;
//   - the owner: the ReportJob, as controller.
package resources
