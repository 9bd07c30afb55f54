//go:build !js

package yamlform

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"
)

// durationPattern is what time.ParseDuration reads, without a sign.
const durationPattern = `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`

func (g Schemas) durationPattern() string {
	if g.Unit == "" {
		return durationPattern
	}
	return durationPattern + `|^[0-9]+(\.[0-9]*)?` + g.Unit + `$`
}

// Schemas makes the JSON Schemas of types, as the decoder reads them. In an overlay, nothing has to be there.
type Schemas struct {
	Overlay bool
	// Unit is a unit of durations beside those of Go; empty: there is none.
	Unit string
	// Own is the schema of a type of which the tags do not say all; nil: they do.
	Own func(g Schemas, t reflect.Type, tag reflect.StructTag) *jsonschema.Schema
}

// Of is the schema of values of a type, in a field with a tag.
func (g Schemas) Of(t reflect.Type, tag reflect.StructTag) *jsonschema.Schema {
	if own := g.Own(g, t, tag); own != nil {
		return own
	}
	if t.Kind() == reflect.Pointer {
		return g.Of(t.Elem(), tag)
	}
	s := &jsonschema.Schema{Description: tag.Get("doc")}
	switch {
	case t.Kind() == reflect.Map:
		dictionarySchema(s, g.Of(t.Elem(), bounds(tag)), tag)
	case t == durationType:
		s.Type, s.Pattern, s.Default = "string", g.durationPattern(), DefaultOf(tag)
		if zero := tag.Get("zero"); zero != "" {
			s.Pattern += "|^" + zero + "$"
		}
		if strings.HasPrefix(tag.Get("min"), "-") {
			s.Pattern = strings.ReplaceAll(s.Pattern, "^[", "^-?[")
			s.Pattern = strings.ReplaceAll(s.Pattern, "^(", "^-?(")
		}
	case t.Kind() == reflect.Slice:
		s.Type, s.Items = "array", g.Of(t.Elem(), bounds(tag))
		s.MinItems, s.MaxItems = limit(tag, "least"), limit(tag, "most")
	case t.Kind() == reflect.Struct:
		g.Struct(s, t)
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
	n := uint64(Number(tag.Get(key)))
	return &n
}

func dictionarySchema(s, entry *jsonschema.Schema, tag reflect.StructTag) {
	s.Type, s.AdditionalProperties, s.MaxProperties = "object", entry, limit(tag, "most")
	if names := tag.Get("names"); names != "" {
		s.PatternProperties, s.AdditionalProperties = map[string]*jsonschema.Schema{names: entry}, jsonschema.FalseSchema
	}
}

// Struct makes a schema that of a struct.
func (g Schemas) Struct(s *jsonschema.Schema, t reflect.Type) {
	s.Type, s.Properties, s.AdditionalProperties = "object", jsonschema.NewProperties(), jsonschema.FalseSchema
	fields := FieldsOf(reflect.New(t).Elem())
	for _, key := range KeysOf(fields) {
		f := fields[key]
		s.Properties.Set(key, g.Of(f.Value.Type(), f.Tag))
		rival := rivalOf(fields, key)
		if f.Tag.Get("required") != "true" {
			continue
		}
		if rival != "" {
			s.Not = &jsonschema.Schema{Required: []string{key, rival}}
		}
		if rival != "" && !g.Overlay {
			s.AnyOf = []*jsonschema.Schema{{Required: []string{key}}, {Required: []string{rival}}}
		} else if !g.Overlay {
			s.Required = append(s.Required, key)
		}
	}
}

func scalarSchema(s *jsonschema.Schema, t reflect.Type, tag reflect.StructTag) {
	s.Default = DefaultOf(tag)
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

// DefaultOf reads a default as YAML would.
func DefaultOf(tag reflect.StructTag) any {
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
