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
	root := schemaOf(&Result{}, "Result", describe)
	root.Title = "redlock-sim result"
	root.Properties.Value("version").Const = ResultVersion
	return root
}

// CardSchema is that of card.json.
func CardSchema(describe func(typ, field string) string) *jsonschema.Schema {
	root := schemaOf(&Card{}, "Card", describe)
	root.Title = "redlock-sim report card"
	root.Properties.Value("card_version").Const = CardVersion
	return root
}

func schemaOf(value any, name string, describe func(typ, field string) string) *jsonschema.Schema {
	r := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, AllowAdditionalProperties: true, Mapper: wordSchema}
	root := r.Reflect(value)
	fields(root, name, describe)
	for typ, s := range root.Definitions {
		fields(s, typ, describe)
	}
	return root
}

// wordSchema is the schema of a type that is one of a few words.
func wordSchema(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	switch t {
	case reflect.TypeFor[checker.Verdict]():
		for v := checker.Holds; v <= checker.Unknown; v++ {
			s.Enum = append(s.Enum, v.String())
		}
	case reflect.TypeFor[CellState]():
		for _, state := range CellStates() {
			s.Enum = append(s.Enum, string(state))
		}
	default:
		return nil
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
