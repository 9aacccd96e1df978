package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// scriptedStore answers Check as it was told to, the last answer for ever.
type scriptedStore struct {
	lease.Store
	answers []error
}

// Address names the store.
func (s *scriptedStore) Address() string { return "redis:6379" }

// Check gives the next answer.
func (s *scriptedStore) Check(context.Context) error {
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return answer
}

func TestProbeTellsChangesOnlyAndKeepsTheMetricRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("connection refused")
		out, registry := &told{}, prometheus.NewRegistry()
		probe := &StoreProbe{
			Store:   &scriptedStore{answers: []error{nil, nil, refused, refused, nil}},
			Metrics: NewMetrics(registry, "test"), Log: funcr.NewJSON(out.line, funcr.Options{}), Every: time.Second,
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := probe.Start(ctx); err != nil {
				t.Error(err)
			}
		})
		var values []float64
		for range 6 {
			synctest.Wait()
			values = append(values, series(t, registry)["leasehold_store_reachable"])
			<-time.After(time.Second)
		}
		cancel()
		running.Wait()
		if diff := cmp.Diff([]float64{1, 1, 0, 0, 1, 1}, values); diff != "" {
			t.Errorf("leasehold_store_reachable (-want +got):\n%s", diff)
		}
		var told []any
		for _, line := range out.lines {
			told = append(told, line["msg"])
		}
		want := []any{"Redis gives no usable answer; ReportJobs wait until it does", "Redis answers"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
