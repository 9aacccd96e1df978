// Package crash kills the operator after every single write of a ReportJob's life and wants to see the same end. It runs with
//
//	make test-crash
//
// on the local cluster. The manager is a process of this machine. It reaches the API server through a proxy that shows it
// one namespace and counts its writes, and Redis through a proxy that reads the scripts it runs; so each trial has an operator
// of its own, and several run side by side. A first run of each lifecycle tells its writes. Then each of them is, in a trial of
// its own, the last thing that an operator did before SIGKILL: once before it heard the answer, once after.
//
// What is wanted of every trial: the end that the run without a crash came to; one pod, told from the report's own notes on the
// node's disk; never two processes at once, told by a lock that the kernel takes away with its holder; growing tokens; a lease
// that is given back or runs out; and no finalizer that keeps anything.
package crash
