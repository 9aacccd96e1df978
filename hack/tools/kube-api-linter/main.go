// Command kube-api-linter holds Go types to the conventions of the Kubernetes API, by the rules of config.yaml:
//
//	kube-api-linter ./api/...
//
// The project ships its rules as a plugin of golangci-lint. They are plain analyzers, so that a checker of their own will do, and
// builds in a tenth of the time. It ends with 3 when it has found something, and with 1 when it could not look.
package main

import (
	_ "embed"
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
	"sigs.k8s.io/kube-api-linter/pkg/plugin/base"
	_ "sigs.k8s.io/kube-api-linter/pkg/registration" // makes the rules known
	"sigs.k8s.io/yaml"
)

//go:embed config.yaml
var config []byte

func main() {
	rules, err := rulesOf(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube-api-linter: hack/tools/kube-api-linter/config.yaml:", err)
		os.Exit(1)
	}
	multichecker.Main(rules...)
}

// rulesOf returns the rules that a configuration asks for. The error says what of it cannot be read.
func rulesOf(config []byte) ([]*analysis.Analyzer, error) {
	var settings map[string]any
	if err := yaml.UnmarshalStrict(config, &settings); err != nil {
		return nil, fmt.Errorf("it is no YAML: %w", err)
	}
	plugin, err := base.New(settings)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	return plugin.BuildAnalyzers()
}
