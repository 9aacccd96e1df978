package main

import (
	"context"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// fitness tells in the log what makes Redis unfit to keep leases, before a report meets it. That nothing is granted then is the
// store's own doing.
type fitness struct {
	// test asks every node; an error says which ones did not answer, of which the probe tells.
	test func(context.Context) (redis.Report, error)
	log  logr.Logger
	// every is the time between two tests.
	every time.Duration
	// told is what was said of each node last, by address.
	told map[string]string
}

// Start tests until the context ends. It always returns nil.
func (f *fitness) Start(ctx context.Context) error {
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	for {
		report, _ := f.test(ctx)
		for _, node := range report.Nodes {
			f.tell(node)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// tell logs what was found, unless it is what was found before.
func (f *fitness) tell(node redis.NodeReport) {
	found := make([]string, len(node.Findings))
	for i, finding := range node.Findings {
		found[i] = finding.Text
	}
	text, before := strings.Join(found, "; "), f.told[node.Address]
	if text == before {
		return
	}
	f.told[node.Address] = text
	if text == "" {
		f.log.Info("Redis is fit to keep leases again", "address", node.Address, "version", node.Version)
	}
	for _, finding := range node.Findings {
		f.log.Info("Redis is not set up as leases need it: "+finding.Text,
			"address", node.Address, "version", node.Version, "code", finding.Code, "severity", finding.Severity)
	}
}
