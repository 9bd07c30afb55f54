//go:build !js

package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

// schemaDraft is the dialect that editors understand best.
const schemaDraft = "http://json-schema.org/draft-07/schema#"

// WriteSchema writes the JSON Schema of scenario files. It is made from the
// same types and tags that the decoder reads.
func WriteSchema(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Schema()); err != nil {
		return fmt.Errorf("failed to write the schema: %w", err)
	}
	return nil
}

// Schema is the JSON Schema (draft-07) of scenario files.
func Schema() *jsonschema.Schema {
	root := wholeSchema()
	yamlform.Share(root)
	return root
}

// wholeSchema is the schema with everything in its place, however often it stands there.
func wholeSchema() *jsonschema.Schema {
	schemas := yamlform.Schemas{Own: ownSchema, Unit: ttlUnit}
	root := schemas.Of(reflect.TypeFor[Head](), "")
	setup := schemas.Of(reflect.TypeFor[Setup](), "")
	overlay := yamlform.Schemas{Overlay: true, Own: ownSchema, Unit: ttlUnit}.Of(reflect.TypeFor[Setup](), "")
	for p := setup.Properties.Oldest(); p != nil; p = p.Next() {
		value := p.Value
		if needed := requirements(value); needed != nil { // the rest is as in an overlay
			value = &jsonschema.Schema{AllOf: []*jsonschema.Schema{value, needed}}
		}
		root.Properties.Set(p.Key, value)
	}
	root.Required = append(root.Required, setup.Required...)
	root.Version, root.Title = schemaDraft, "redlock-sim scenario"
	root.Properties.Set("variants", &jsonschema.Schema{
		Type: "object", Description: "named overlays over any other part of the scenario; all variants run side by side",
		PatternProperties:    map[string]*jsonschema.Schema{variantName.String(): {AnyOf: []*jsonschema.Schema{overlay, {Type: "null"}}}},
		AdditionalProperties: jsonschema.FalseSchema,
	})
	verdicts := func() *jsonschema.Schema { return enum(expectations()) }
	root.Properties.Set("expect", ofProperties(verdicts, "the expected verdict of each property; with variants, a block for each variant. "+
		"Where nothing is said, exclusive-lease, no-late-effect and linearizable-resource are expected to hold, "+
		"and backed-grant where exclusive-lease is"))
	root.Properties.Set("demands", ofProperties(demandSchema,
		"what any lock must show that --lock puts in the place of this one: "+
			"holds, anything, or the classes of locks that can keep the property. "+
			"Where nothing is said, that must hold which is expected to hold of the scenario's own lock; with variants, a block for each variant"))
	return root
}

// requirements takes out of the schema of a struct what must be there, and returns it as
// a schema of its own; nil: nothing must be there.
func requirements(s *jsonschema.Schema) *jsonschema.Schema {
	needed := &jsonschema.Schema{Required: s.Required}
	s.Required = nil
	if s.Not != nil {
		needed.AnyOf, s.AnyOf = s.AnyOf, nil
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if inner := requirements(p.Value); inner != nil {
			if needed.Properties == nil {
				needed.Properties = jsonschema.NewProperties()
			}
			needed.Properties.Set(p.Key, inner)
		}
	}
	if needed.Required == nil && needed.AnyOf == nil && needed.Properties == nil {
		return nil
	}
	return needed
}

func demandSchema() *jsonschema.Schema {
	one := uint64(1)
	classes := &jsonschema.Schema{Type: "array", Items: enum(program.Classes()), MinItems: &one, UniqueItems: true}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{enum([]string{checker.Holds.String(), anything}), classes}}
}

func enum[T ~string](list []T) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, word := range list {
		s.Enum = append(s.Enum, string(word))
	}
	return s
}

// ofProperties is a mapping from properties, or from variants to such mappings.
func ofProperties(value func() *jsonschema.Schema, description string) *jsonschema.Schema {
	flat := func() *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
		for _, name := range propertyNames() {
			s.Properties.Set(name, value())
		}
		return s
	}
	perVariant := &jsonschema.Schema{Type: "object", AdditionalProperties: flat()}
	return &jsonschema.Schema{Description: description, AnyOf: []*jsonschema.Schema{flat(), perVariant}}
}

// ownSchema is the schema of a type of which the tags do not say all; nil: they do.
func ownSchema(g yamlform.Schemas, t reflect.Type, tag reflect.StructTag) *jsonschema.Schema {
	s := &jsonschema.Schema{Description: tag.Get("doc")}
	switch t {
	case reflect.TypeFor[Fault]():
		return faultSchema()
	case reflect.TypeFor[Faults]():
		s.AnyOf = []*jsonschema.Schema{{Type: "array", Items: faultSchema()}, {}}
		g.Struct(s.AnyOf[1], t)
	case reflect.TypeFor[nemesis.Distribution]():
		s.Type, s.Pattern, s.Default = "string", nemesis.DistributionPattern, yamlform.DefaultOf(tag)
	case reflect.TypeFor[nemesis.Passing](), reflect.TypeFor[nemesis.On]():
		g.Struct(s, t)
		for _, key := range slices.Sorted(maps.Keys(goesWith)) {
			s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{key}})
		}
	default:
		return nil
	}
	return s
}

// faultSchema allows one trigger and one fault. Both have what they need, also in an overlay: it replaces the list.
func faultSchema() *jsonschema.Schema {
	schemas := yamlform.Schemas{Own: ownSchema, Unit: ttlUnit}
	s := schemas.Of(reflect.TypeFor[nemesis.Trigger](), "")
	s.Description = "a trigger, and one fault under its name"
	var names []*jsonschema.Schema
	for _, k := range nemesis.Kinds() {
		params := schemas.Of(reflect.TypeOf(k.New()).Elem(), "")
		params.Description = k.Title
		s.Properties.Set(k.Name, params)
		names = append(names, &jsonschema.Schema{Required: []string{k.Name}})
	}
	var triggers []*jsonschema.Schema
	for _, key := range []string{"on", "at", "every", "after"} {
		triggers = append(triggers, &jsonschema.Schema{Required: []string{key}})
	}
	s.AllOf = []*jsonschema.Schema{{OneOf: names}, {OneOf: triggers}}
	return s
}
