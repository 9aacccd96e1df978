package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestTheReferenceNamesEveryConditionReasonEventAndName(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reportjob.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"conditions.go", "contract.go", "reportjob_status.go"} {
		names := constants(t, file)
		if len(names) == 0 {
			t.Errorf("%s has no constants: the test looks in the wrong place", file)
		}
		for name, value := range names {
			if !strings.Contains(string(page), "`"+value+"`") {
				t.Errorf("docs/reportjob.md does not name `%s` (%s)", value, name)
			}
		}
	}
}

// constants reads the string constants of a file of this package; outcomes are told by their phases.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || strings.HasPrefix(spec.Names[0].Name, "Outcome") {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found[spec.Names[0].Name] = value
		}
		return true
	})
	return found
}
