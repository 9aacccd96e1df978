// Command crdtrim makes the generated CRD small enough for a plain kubectl apply, and strict and bounded where the rules of
// the API need it:
//
//   - It drops the descriptions below spec.jobTemplate, which are Kubernetes's own, and keeps ours.
//   - It bounds the lists, maps and strings there that validation rules walk over, since the API server refuses rules whose
//     cost has no bound.
//   - Of the metadata in the two templates it keeps labels and annotations: whatever else is written there is refused as an
//     unknown field instead of being ignored.
//
// Usage: crdtrim FILE. The file is rewritten in place; a second run changes nothing.
package main

import (
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crdtrim FILE")
		os.Exit(2)
	}
	if err := trimFile(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "crdtrim: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func trimFile(name string) error {
	before, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var crd schema
	if err := yaml.Unmarshal(before, &crd); err != nil {
		return err
	}
	if err := trim(crd); err != nil {
		return err
	}
	after, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(name, append([]byte("---\n"), after...), 0o644)
}

// trim changes every version of a CRD.
func trim(crd schema) error {
	versions, _ := crd.at("spec")["versions"].([]any)
	if len(versions) == 0 {
		return errors.New("it holds no CRD: spec.versions is empty")
	}
	for _, version := range versions {
		v, _ := version.(map[string]any)
		template := schema(v).at("schema", "openAPIV3Schema", "properties", "spec", "properties", "jobTemplate")
		if template == nil {
			return errors.New("spec.jobTemplate is missing in the schema")
		}
		if err := template.bound(); err != nil {
			return err
		}
		template.onlyLabelsAndAnnotations()
		for _, property := range template.at("properties") {
			dropDescriptions(property)
		}
	}
	return nil
}

// dropDescriptions removes the texts of a schema and of everything below. A property may itself be named "description", and
// is then a map and no text.
func dropDescriptions(node any) {
	switch value := node.(type) {
	case map[string]any:
		if _, isText := value["description"].(string); isText {
			delete(value, "description")
		}
		for _, below := range value {
			dropDescriptions(below)
		}
	case []any:
		for _, below := range value {
			dropDescriptions(below)
		}
	}
}
