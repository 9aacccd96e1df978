package main

import (
	"fmt"
	"strings"
)

// schema is a node of a CRD or of the OpenAPI schema in it.
type schema map[string]any

// at follows keys down; nil if one is missing.
func (s schema) at(keys ...string) schema {
	for _, key := range keys {
		s, _ = s[key].(map[string]any)
	}
	return s
}

// bounds are the limits of what validation rules walk over, by path below spec.jobTemplate ("[]": of each item, "{}": of each
// value). They are far above what a pod has, and far below what the API server's cost limit allows.
var bounds = []struct {
	path, limit string
	value       int64
}{
	{"spec.template.spec.containers", "maxItems", 32},
	{"spec.template.spec.containers[].name", "maxLength", 63},
	{"spec.template.spec.containers[].env", "maxItems", 256},
	{"spec.template.spec.containers[].env[].name", "maxLength", 256},
	{"spec.template.spec.initContainers", "maxItems", 32},
	{"spec.template.spec.initContainers[].name", "maxLength", 63},
	{"spec.template.spec.initContainers[].env", "maxItems", 256},
	{"spec.template.spec.initContainers[].env[].name", "maxLength", 256},
	{"spec.template.spec.initContainers[].restartPolicy", "maxLength", 16},
	{"spec.template.spec.restartPolicy", "maxLength", 16},
	{"metadata.labels", "maxProperties", 64},
	{"metadata.labels{}", "maxLength", 63},
	{"metadata.annotations", "maxProperties", 64},
	{"spec.template.metadata.labels", "maxProperties", 64},
	{"spec.template.metadata.labels{}", "maxLength", 63},
	{"spec.template.metadata.annotations", "maxProperties", 64},
}

// bound sets the limits below spec.jobTemplate.
func (s schema) bound() error {
	for _, b := range bounds {
		node := s.below(b.path)
		if node == nil {
			return fmt.Errorf("spec.jobTemplate.%s is missing in the schema, and a rule needs its %s", b.path, b.limit)
		}
		node[b.limit] = b.value
	}
	return nil
}

// below finds the schema of a path of fields.
func (s schema) below(path string) schema {
	path = strings.NewReplacer("[]", ".[]", "{}", ".{}").Replace(path)
	for step := range strings.SplitSeq(path, ".") {
		switch step {
		case "[]":
			s = s.at("items")
		case "{}":
			s = s.at("additionalProperties")
		default:
			s = s.at("properties", step)
		}
	}
	return s
}

// onlyLabelsAndAnnotations leaves nothing else in the metadata of the Job and pod templates.
func (s schema) onlyLabelsAndAnnotations() {
	for _, path := range []string{"metadata", "spec.template.metadata"} {
		properties := s.below(path).at("properties")
		for name := range properties {
			if name != "labels" && name != "annotations" {
				delete(properties, name)
			}
		}
	}
}
