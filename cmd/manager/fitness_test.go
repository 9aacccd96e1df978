package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

func TestWhatMakesRedisUnfitIsToldOnceAndWhenItIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fit := redis.NodeReport{Address: "a:1"}
		evicts, replica := fit, fit
		evicts.Findings = []redis.Finding{{Code: redis.CodeEvicting, Severity: redis.Unsafe, Text: "it evicts keys"}}
		aReplica := redis.Finding{Code: redis.CodeReplica, Severity: redis.Fatal, Text: "a replica"}
		replica.Findings = append(slices.Clone(evicts.Findings), aReplica)
		found := []redis.NodeReport{fit, evicts, evicts, {}, replica, fit, fit}
		var told []string
		log := funcr.New(func(_, args string) { told = append(told, args) }, funcr.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		f := fitness{log: log, every: time.Minute, told: map[string]string{}, test: func(context.Context) (redis.Report, error) {
			next := found[0]
			found = found[1:]
			if len(found) == 0 {
				cancel()
			}
			if next.Address == "" {
				return redis.Report{}, errors.New("it is away")
			}
			return redis.Report{Nodes: []redis.NodeReport{next}}, nil
		}}
		if err := f.Start(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{"it evicts keys", "it evicts keys", "a replica", "is fit to keep leases again"}
		if len(told) != len(want) {
			t.Fatalf("%d lines, want %d: %q", len(told), len(want), told)
		}
		for i := range want {
			if !strings.Contains(told[i], want[i]) {
				t.Errorf("line %d is %s, want %q", i, told[i], want[i])
			}
		}
	})
}
