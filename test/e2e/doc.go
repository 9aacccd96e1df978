// Package e2e proves the main job on a real node: real pods, real signals, a real Redis. Its tests run with
//
//	make test-e2e
//
// which brings the local cluster up, builds the operator's image and its manifests, and runs go test -tags e2e. The death
// of a process is read from the container runtime, never from a status.
package e2e
