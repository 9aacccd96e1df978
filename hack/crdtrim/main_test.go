package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDropDescriptionsKeepsAPropertyOfThatName(t *testing.T) {
	t.Parallel()
	node := map[string]any{
		"description": "a text",
		"properties": map[string]any{
			"description": map[string]any{"type": "string", "description": "of the field named description"},
		},
		"allOf": []any{map[string]any{"description": "in a list"}},
	}
	dropDescriptions(node)
	want := map[string]any{
		"properties": map[string]any{"description": map[string]any{"type": "string"}},
		"allOf":      []any{map[string]any{}},
	}
	if diff := cmp.Diff(want, node); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTrimRefusesWhatIsNoReportJobCRD(t *testing.T) {
	t.Parallel()
	version := map[string]any{"schema": map[string]any{"openAPIV3Schema": map[string]any{}}}
	for name, crd := range map[string]schema{
		"an empty object":        {},
		"no jobTemplate":         {"spec": map[string]any{"versions": []any{version}}},
		"versions of no meaning": {"spec": map[string]any{"versions": "v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := trim(crd); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestBelowFollowsItemsAndValues(t *testing.T) {
	t.Parallel()
	leaf := map[string]any{"type": "string"}
	root := schema{"properties": map[string]any{
		"list": map[string]any{"items": map[string]any{"properties": map[string]any{"name": leaf}}},
		"map":  map[string]any{"additionalProperties": leaf},
	}}
	for _, path := range []string{"list[].name", "map{}"} {
		if diff := cmp.Diff(schema(leaf), root.below(path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if got := root.below("list[].other"); got != nil {
		t.Errorf("a path that leads nowhere: %v", got)
	}
}
