//go:build !js

package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
)

// schemaDraft is the dialect that editors understand best.
const schemaDraft = "http://json-schema.org/draft-07/schema#"

// durationPattern is what time.ParseDuration reads, without a sign.
const durationPattern = `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`

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
	share(root)
	return root
}

// wholeSchema is the schema with everything in its place, however often it stands there.
func wholeSchema() *jsonschema.Schema {
	root := schemaOf(reflect.TypeFor[Head](), "", true)
	setup := schemaOf(reflect.TypeFor[Setup](), "", true)
	overlay := schemaOf(reflect.TypeFor[Setup](), "", false)
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

// schemaOf walks a type as the decoder does. With required false nothing has to
// be there, as in an overlay.
func schemaOf(t reflect.Type, tag reflect.StructTag, required bool) *jsonschema.Schema {
	s := &jsonschema.Schema{Description: tag.Get("doc")}
	switch {
	case t == reflect.TypeFor[Fault]():
		return faultSchema()
	case t == reflect.TypeFor[Faults]():
		s.AnyOf = []*jsonschema.Schema{{Type: "array", Items: faultSchema()}, {}}
		structSchema(s.AnyOf[1], t, required)
	case t == reflect.TypeFor[nemesis.Distribution]():
		s.Type, s.Pattern, s.Default = "string", nemesis.DistributionPattern, defaultOf(tag)
	case t.Kind() == reflect.Map:
		dictionarySchema(s, schemaOf(t.Elem(), bounds(tag), required), tag)
	case t == durationType:
		s.Type, s.Pattern, s.Default = "string", durationPattern, defaultOf(tag)
		if strings.HasPrefix(tag.Get("min"), "-") {
			s.Pattern = strings.Replace(durationPattern, "^", "^-?", 1)
		}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), tag, required)
	case t.Kind() == reflect.Slice:
		s.Type, s.Items = "array", schemaOf(t.Elem(), bounds(tag), required)
		s.MinItems, s.MaxItems = limit(tag, "least"), limit(tag, "most")
	case t.Kind() == reflect.Struct:
		structSchema(s, t, required)
		if t == reflect.TypeFor[nemesis.Passing]() || t == reflect.TypeFor[nemesis.On]() {
			for _, key := range slices.Sorted(maps.Keys(goesWith)) {
				s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{key}})
			}
		}
	default:
		scalarSchema(s, t, tag)
	}
	return s
}

// limit is a bound that a tag sets; nil: none.
func limit(tag reflect.StructTag, key string) *uint64 {
	if tag.Get(key) == "" {
		return nil
	}
	n := uint64(number(tag.Get(key)))
	return &n
}

func dictionarySchema(s, entry *jsonschema.Schema, tag reflect.StructTag) {
	s.Type, s.AdditionalProperties, s.MaxProperties = "object", entry, limit(tag, "most")
	if names := tag.Get("names"); names != "" {
		s.PatternProperties, s.AdditionalProperties = map[string]*jsonschema.Schema{names: entry}, jsonschema.FalseSchema
	}
}

func structSchema(s *jsonschema.Schema, t reflect.Type, required bool) {
	s.Type, s.Properties, s.AdditionalProperties = "object", jsonschema.NewProperties(), jsonschema.FalseSchema
	fields := fieldsOf(reflect.New(t).Elem())
	for _, key := range keysOf(fields) {
		f := fields[key]
		s.Properties.Set(key, schemaOf(f.value.Type(), f.tag, required))
		rival := rivalOf(fields, key)
		switch {
		case f.tag.Get("required") != "true":
		case rival != "":
			s.Not = &jsonschema.Schema{Required: []string{key, rival}}
			if required {
				s.AnyOf = []*jsonschema.Schema{{Required: []string{key}}, {Required: []string{rival}}}
			}
		case required:
			s.Required = append(s.Required, key)
		}
	}
}

func scalarSchema(s *jsonschema.Schema, t reflect.Type, tag reflect.StructTag) {
	s.Default = defaultOf(tag)
	low, high := json.Number(tag.Get("min")), json.Number(tag.Get("max"))
	switch {
	case t.Kind() == reflect.String || allowedWords(tag) != nil:
		s.Type, s.Pattern = "string", tag.Get("pattern")
		s.MinLength, s.MaxLength = limit(tag, "min"), limit(tag, "max")
		for _, v := range allowedWords(tag) {
			s.Enum = append(s.Enum, v)
		}
	case t.Kind() == reflect.Bool:
		s.Type = "boolean"
	case t.Kind() == reflect.Float64:
		s.Type, s.Minimum, s.Maximum = "number", low, high
	default:
		s.Type, s.Minimum, s.Maximum = "integer", low, high
	}
}

// faultSchema allows one trigger and one fault.
func faultSchema() *jsonschema.Schema {
	s := schemaOf(reflect.TypeFor[nemesis.Trigger](), "", true)
	s.Description = "a trigger, and one fault under its name"
	var names []*jsonschema.Schema
	for _, k := range nemesis.Kinds() {
		params := schemaOf(reflect.TypeOf(k.New()).Elem(), "", true)
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

// defaultOf reads a default as YAML would.
func defaultOf(tag reflect.StructTag) any {
	text, ok := tag.Lookup("default")
	if !ok {
		return nil
	}
	var v any
	if yaml.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}
