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
	r := jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true, AllowAdditionalProperties: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t != reflect.TypeFor[checker.Verdict]() {
				return nil
			}
			s := &jsonschema.Schema{Type: "string"}
			for v := checker.Holds; v <= checker.Unknown; v++ {
				s.Enum = append(s.Enum, v.String())
			}
			return s
		},
	}
	root := r.Reflect(&Result{})
	root.Title = "redlock-sim result"
	root.Properties.Value("version").Const = ResultVersion
	fields(root, "Result", describe)
	for name, s := range root.Definitions {
		fields(s, name, describe)
	}
	return root
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
