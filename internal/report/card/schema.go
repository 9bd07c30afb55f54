//go:build !js

package card

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/redlock-sim/redlock-sim/internal/report"
)

// Schema is the JSON Schema of card.json. describe says in words what a field of a type means.
func Schema(describe func(typ, field string) string) *jsonschema.Schema {
	root := report.SchemaOf(&Card{}, "Card", describe, jsonschema.Reflector{Mapper: stateSchema, Namer: typeName})
	root.Title = "redlock-sim report card"
	root.Properties.Value("card_version").Const = Version
	return root
}

// stateSchema is the schema of State, which is one of a few words.
func stateSchema(t reflect.Type) *jsonschema.Schema {
	if t != reflect.TypeFor[State]() {
		return nil
	}
	s := &jsonschema.Schema{Type: "string"}
	for _, state := range States() {
		s.Enum = append(s.Enum, string(state))
	}
	return s
}

// typeName is what the schema calls a type: other packages have a Lock and a Cost, too.
func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Lock](), reflect.TypeFor[Guarantee](), reflect.TypeFor[Cost]():
		return "Card" + t.Name()
	}
	return t.Name()
}
