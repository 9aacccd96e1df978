package admission

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTheTestsThatSecurityNamesAreThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, folder := range []string{".", "../../api/v1alpha1", "../../internal/lease", "../../internal/controller"} {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	names := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 10 {
		t.Errorf("docs/security.md names %d tests: the pattern of this test must be wrong", len(names))
	}
	for _, name := range names {
		if !strings.Contains(code.String(), "\nfunc "+name[1]+"(t *testing.T)") {
			t.Errorf("docs/security.md names %s, which is no test", name[1])
		}
	}
}
