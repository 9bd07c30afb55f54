//go:build !js

package report

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// Schema is the JSON Schema (2020-12) of result.json, made from the Go types. describe says
// in words what a field of a type means. A later program may add fields, so others than
// these are allowed.
func Schema(describe func(typ, field string) string) *jsonschema.Schema {
	root := SchemaOf(&Result{}, "Result", describe, jsonschema.Reflector{})
	root.Title = "redlock-sim result"
	root.Properties.Value("version").Const = ResultVersion
	return root
}

// SchemaOf is the schema of a value whose type is called name. The reflector's Mapper and Namer count for its types.
func SchemaOf(value any, name string, describe func(typ, field string) string, r jsonschema.Reflector) *jsonschema.Schema {
	own := r.Mapper
	r.Anonymous, r.ExpandedStruct, r.AllowAdditionalProperties = true, true, true
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[checker.Verdict]() {
			return verdictSchema()
		}
		if own == nil {
			return nil
		}
		return own(t)
	}
	root := r.Reflect(value)
	fields(root, name, describe)
	for typ, s := range root.Definitions {
		fields(s, typ, describe)
	}
	return root
}

func verdictSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for v := checker.Holds; v <= checker.Unknown; v++ {
		s.Enum = append(s.Enum, v.String())
	}
	return s
}

// fields says of each field of a type what it means.
func fields(s *jsonschema.Schema, typ string, describe func(typ, field string) string) {
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value.Description = describe(typ, p.Key)
	}
}
