package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const crdFile = "../../config/crd/bases/leasehold.dev_reportjobs.yaml"

// maxAnnotations is what all annotations of an object may take together (TotalAnnotationSizeLimitB in apimachinery). kubectl
// apply writes the whole object into one.
const maxAnnotations = 256 << 10

func readCRD(t *testing.T) schema {
	t.Helper()
	content, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	var crd schema
	if err := yaml.Unmarshal(content, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func schemaOf(t *testing.T, crd schema) schema {
	t.Helper()
	version, _ := crd.at("spec")["versions"].([]any)[0].(map[string]any)
	root := schema(version).at("schema", "openAPIV3Schema")
	if root == nil {
		t.Fatal("the CRD has no schema")
	}
	return root
}

func TestTheCRDFitsIntoWhatKubectlApplyRemembersOfIt(t *testing.T) {
	t.Parallel()
	compact, err := json.Marshal(readCRD(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(compact) > maxAnnotations*3/4 {
		t.Errorf("the CRD takes %d bytes of an annotation; with a quarter to spare it may take %d", len(compact), maxAnnotations*3/4)
	}
	file, err := os.Stat(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > 300_000 {
		t.Errorf("the CRD's file has %d bytes; 300000 is the limit", file.Size())
	}
}

func TestASecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	before, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(again, before, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := trimFile(again); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestEveryFieldOfOursExplainsItselfAndNoneOfKubernetes(t *testing.T) {
	t.Parallel()
	root := schemaOf(t, readCRD(t))
	template := root.at("properties", "spec", "properties", "jobTemplate")
	for name, property := range template.at("properties") {
		if text := firstDescription(property); text != "" {
			t.Errorf("spec.jobTemplate.%s still has a description: %s", name, text)
		}
	}
	delete(template, "properties")
	requireDescriptions(t, "", root)
}

func requireDescriptions(t *testing.T, path string, s schema) {
	t.Helper()
	for name, property := range s.at("properties") {
		field := schema(property.(map[string]any))
		if text, _ := field["description"].(string); text == "" && path+name != "metadata" {
			t.Errorf("%s%s has no description", path, name)
		}
		requireDescriptions(t, path+name+".", field)
		requireDescriptions(t, path+name+"[].", field.at("items"))
	}
}

func TestEveryFieldOfTheSpecSaysItsDefaultAndItsBounds(t *testing.T) {
	t.Parallel()
	spec := schemaOf(t, readCRD(t)).at("properties", "spec")
	delete(spec.at("properties"), "jobTemplate")
	requireNumbers(t, "spec.", spec)
}

// requireNumbers demands of each field what kubectl explain does not show by itself. A struct's default is that of its fields.
func requireNumbers(t *testing.T, path string, s schema) {
	t.Helper()
	for name, property := range s.at("properties") {
		field := schema(property.(map[string]any))
		text, _ := field["description"].(string)
		for _, keyword := range []string{"default", "minimum", "maximum"} {
			value, isSet := field[keyword]
			if _, isStruct := value.(map[string]any); isSet && !isStruct && !strings.Contains(text, fmt.Sprint(value)) {
				t.Errorf("the description of %s%s does not say its %s, %v", path, name, keyword, value)
			}
		}
		isDuration := strings.Contains(fmt.Sprint(field["pattern"]), "ms|s")
		if isDuration && len(regexp.MustCompile(`\b[0-9]+(ms|s|m|h)\b`).FindAllString(text, -1)) < 2 {
			t.Errorf("the description of %s%s does not say from when to when it may be", path, name)
		}
		requireNumbers(t, path+name+".", field)
		requireNumbers(t, path+name+"[].", field.at("items"))
	}
}

// firstDescription finds a text that trim left in a schema.
func firstDescription(node any) string {
	switch value := node.(type) {
	case map[string]any:
		if text, isText := value["description"].(string); isText {
			return text
		}
		for _, below := range value {
			if text := firstDescription(below); text != "" {
				return text
			}
		}
	case []any:
		for _, below := range value {
			if text := firstDescription(below); text != "" {
				return text
			}
		}
	}
	return ""
}
