//go:build !js

package yamlform

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"
)

// worthSharing is how long a part of a schema must be to stand in its definitions: a
// reference has its length, too.
const worthSharing = 90

// Share moves what stands more than once in a schema to its definitions.
func Share(root *jsonschema.Schema) {
	root.Definitions = make(jsonschema.Definitions)
	count, names := make(map[string]int), make(map[string]string) // by the text of a part
	var find, move func(part *jsonschema.Schema, name string) *jsonschema.Schema
	find = func(part *jsonschema.Schema, name string) *jsonschema.Schema {
		text := textOf(part)
		if count[text]++; count[text] == 1 {
			parts(part, name, find)
		}
		return part
	}
	move = func(part *jsonschema.Schema, name string) *jsonschema.Schema {
		text := textOf(part)
		if count[text] == 1 || len(text) < worthSharing {
			parts(part, name, move)
			return part
		}
		if names[text] == "" {
			own := name
			for n := 2; root.Definitions[own] != nil; n++ {
				own = fmt.Sprintf("%s-%d", name, n)
			}
			names[text], root.Definitions[own] = own, part
			parts(part, name, move)
		}
		return &jsonschema.Schema{Ref: "#/$defs/" + names[text]}
	}
	parts(root, "", find)
	parts(root, "", move)
}

func textOf(s *jsonschema.Schema) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic("yamlform: a schema that is no JSON: " + err.Error())
	}
	return string(text)
}

// parts puts what do makes of them in the place of the schemas inside another one; name
// is what that one is for.
func parts(s *jsonschema.Schema, name string, do func(part *jsonschema.Schema, name string) *jsonschema.Schema) {
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value = do(p.Value, p.Key)
	}
	for pattern, part := range s.PatternProperties {
		s.PatternProperties[pattern] = do(part, name)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			list[i] = do(list[i], name)
		}
	}
	if s.Items != nil {
		s.Items = do(s.Items, strings.TrimSuffix(name, "s"))
	}
	if s.AdditionalProperties != nil {
		s.AdditionalProperties = do(s.AdditionalProperties, name)
	}
}
