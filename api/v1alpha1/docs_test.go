package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// headings are the sections of docs/reportjob.md by the constants that they explain.
var headings = map[string]string{
	"Phase": "\n## Status\n", "Condition": "\n## Status\n", "Reason": "\n### Reasons\n", "Event": "\n### Events\n",
	"Env": "\n## What the report is given\n", "Label": "\n## What the report is given\n",
	"Annotation": "\n## What the report is given\n", "Finalizer": "\n## What the report is given\n",
}

func TestTheReferenceExplainsEveryConstantInItsSection(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/reportjob.md")
	for _, file := range []string{"conditions.go", "contract.go", "reportjob_status.go"} {
		names := constants(t, file)
		if len(names) == 0 {
			t.Errorf("%s has no constants: the test looks in the wrong place", file)
		}
		for name, value := range names {
			heading := headingOf(t, name)
			if !strings.Contains(section(page, heading), "`"+value+"`") {
				t.Errorf("docs/reportjob.md does not name `%s` (%s) under %q", value, name, strings.TrimSpace(heading))
			}
		}
	}
}

func headingOf(t *testing.T, name string) string {
	t.Helper()
	for prefix, heading := range headings {
		if strings.HasPrefix(name, prefix) {
			return heading
		}
	}
	t.Fatalf("no section of docs/reportjob.md is for %s", name)
	return ""
}

// section is the text below a heading, up to the next one.
func section(page, heading string) string {
	_, below, _ := strings.Cut(page, heading)
	text, _, _ := strings.Cut(below, "\n#")
	return text
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
