package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

func TestALeaseKeyIsSharedByTheNamespacesThatMayUseIt(t *testing.T) {
	t.Parallel()
	f, elsewhere := newFixture(t), newFixture(t)
	elsewhere.store = f.store
	elsewhere.start()
	key := "group-" + f.namespace
	keyed := func(r *v1alpha1.ReportJob) { r.Spec.LeaseKey = key }
	f.create("first", keyed)
	f.expect("first", v1alpha1.PhaseWaiting, v1alpha1.ReasonLeaseKeyNotAllowed)
	allowed, err := ParseSharedLeaseKeys("test-*/group-*")
	if err != nil {
		t.Fatal(err)
	}
	f.SharedLeaseKeys, elsewhere.SharedLeaseKeys = allowed, allowed
	first, pod := f.toRunning("first")
	if want := "leasehold:{" + key + "}:lease"; first.Status.Execution.LeaseKey != want {
		t.Errorf("lease key %s, want %s", first.Status.Execution.LeaseKey, want)
	}
	elsewhere.create("second", keyed)
	elsewhere.expect("second", v1alpha1.PhaseWaiting, v1alpha1.ReasonSiblingAlive)
	f.kubeletSays(pod, corev1.PodSucceeded, ended("report", 0, "Completed"))
	f.expect("first", v1alpha1.PhaseSucceeded, v1alpha1.ReasonPodSucceeded)
	elsewhere.expect("second", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
}

func TestWhatANamespaceMayNotUseStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	f, intruder := newFixture(t), newFixture(t)
	intruder.store = f.store
	intruder.start()
	key := "group-" + f.namespace
	keyed := func(r *v1alpha1.ReportJob) { r.Spec.LeaseKey = key }
	all, err := ParseSharedLeaseKeys("*/*")
	if err != nil {
		t.Fatal(err)
	}
	if f.SharedLeaseKeys, err = ParseSharedLeaseKeys(f.namespace + "/group-*"); err != nil {
		t.Fatal(err)
	}
	intruder.SharedLeaseKeys = all // it was allowed once
	intruder.create("intruder", func(r *v1alpha1.ReportJob) { keyed(r); r.Spec.LeaseDuration, r.Spec.MaxRuntime = "24h", "24h" })
	running, _ := intruder.toRunning("intruder")
	if err := f.store.Release(t.Context(), termIn(t, running)); err != nil { // Redis is asked all the same
		t.Fatal(err)
	}
	f.create("report", keyed)
	f.expect("report", v1alpha1.PhaseStarting, v1alpha1.ReasonJobCreated)
}

func TestSharedLeaseKeysAreAllowedByPatterns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flag, namespace, key string
		want                 bool
	}{
		"no key needs no leave":          {"", "finance", "", true},
		"nothing is allowed by default":  {"", "finance", "close", false},
		"the very key":                   {"finance/close", "finance", "close", true},
		"another namespace":              {"finance/close", "sales", "close", false},
		"another key":                    {"finance/close", "finance", "closed", false},
		"all keys of a kind, everywhere": {"*/group-*", "sales", "group-close", true},
		"one of several":                 {"finance/close, sales/*", "sales", "x", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allowed, err := ParseSharedLeaseKeys(tc.flag)
			if err != nil || allowed.Allow(tc.namespace, tc.key) != tc.want {
				t.Errorf("allowed: %v, %v", allowed.Allow(tc.namespace, tc.key), err)
			}
		})
	}
	for _, flag := range []string{"close", "finance/", "/close", "finance/a/b", "finance/[", "[/close"} {
		if _, err := ParseSharedLeaseKeys(flag); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%q: %v", flag, err)
		}
	}
}
