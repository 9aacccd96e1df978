// Package controller joins the decisions of package plan to Kubernetes and to Redis.
//
// A reconcile is a paragraph of six verbs, one file each:
//
//	get       the ReportJob, not older than what this process last wrote of it
//	observe   everything one decision may know: the Job and pods of its execution, the engine's view of its lease
//	decide    plan.Decide, a second time on a live observation if it asks for one
//	act       carry the actions out in order, up to the first that fails
//	write     the status, once, also after a failed action, with the resource version that was observed
//	announce  events, metrics and log lines of what was written, and of nothing else
//
// Two operators can be at work for a moment, since leader election fences nothing. Leadership keeps one that stood still from
// acting until it is confirmed; what is on its way by then is not held up by that. Every effect is therefore safe in the hands
// of a stale one: Redis compares owner and token, the status write compares the resource version, Jobs are created by a name
// that belongs to one token, and whatever is deleted is named by its UID.
//
// What is read can be older than what is true. A cached observation only ever leads to an effect that one of these
// comparisons guards; what cannot be taken back is decided on a live one.
package controller
