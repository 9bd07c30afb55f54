package yamlform

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"
)

// Field is one key of a mapping: a field of the Go struct that it fills.
type Field struct {
	Value reflect.Value
	Tag   reflect.StructTag
	order int
}

// FieldsOf lists the fields of a struct by their keys, inlined ones included.
func FieldsOf(v reflect.Value) map[string]Field {
	fields := make(map[string]Field)
	collectFields(v, fields)
	return fields
}

func collectFields(v reflect.Value, fields map[string]Field) {
	for _, f := range keyed(v.Type()) {
		value, tag := v.Field(f.index), f.tag
		if f.inline {
			collectFields(value, fields)
			continue
		}
		if t, ok := value.Interface().(interface{ Tag() string }); ok {
			tag += reflect.StructTag(" " + t.Tag())
		}
		fields[f.key] = Field{value, tag, len(fields)}
	}
}

// keyedField is a field of a struct that a key fills, or several.
type keyedField struct {
	index int
	key   string
	tag   reflect.StructTag
	// inline: the keys are those of its own fields. given: it has a default, so its zero says something, too.
	inline, given, required bool
	// rule is what its tag asks of a number or a text, or of each of its list; nil: it is something else.
	rule *rule
}

// known are the fields of the types that were looked at.
var known sync.Map

// keyed are the fields of a struct that keys fill.
func keyed(t reflect.Type) (list []keyedField) {
	if list, ok := known.Load(t); ok {
		return list.([]keyedField)
	}
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		key, option, _ := strings.Cut(tag.Get("yaml"), ",")
		_, given := tag.Lookup("default")
		f := keyedField{index: i, key: key, tag: tag, inline: option == "inline", given: given, required: tag.Get("required") == "true"}
		if !f.inline && key == "" {
			continue
		}
		f.rule = ruleOfField(t.Field(i).Type, tag)
		list = append(list, f)
	}
	known.Store(t, list)
	return list
}

// ruleOfField is what a tag asks of each value of a field of a type; nil: they are no plain numbers or texts.
func ruleOfField(t reflect.Type, tag reflect.StructTag) *rule {
	for !reflect.PointerTo(t).Implements(textMarshaler) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			t = t.Elem()
			continue
		case reflect.String:
			return ruleOf(textType, tag)
		case reflect.Int, reflect.Int64, reflect.Float64:
			return ruleOf(t, tag)
		default:
			return nil
		}
	}
	return nil
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// KeysOf lists the keys in the order of the struct.
func KeysOf(fields map[string]Field) []string {
	return slices.SortedFunc(maps.Keys(fields), func(a, b string) int { return fields[a].order - fields[b].order })
}

// rivalOf is the key that excludes this one; empty: none does.
func rivalOf(fields map[string]Field, key string) string {
	if other := fields[key].Tag.Get("instead"); other != "" {
		return other
	}
	for other, f := range fields {
		if f.Tag.Get("instead") == key {
			return other
		}
	}
	return ""
}

// SetDefaults fills the fields of a struct that have a default, deeply.
func SetDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		text, ok := tag.Lookup("default")
		if ok && reads(f) {
			if err := f.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
				panic("yamlform: bad default in a tag: " + err.Error())
			}
			continue
		}
		if f.Kind() == reflect.Struct {
			SetDefaults(f)
			continue
		}
		if !ok || tag.Get("mistake") != "" {
			continue
		}
		switch {
		case f.Type() == durationType:
			f.SetInt(int64(mustDuration(text)))
		case f.Kind() == reflect.String:
			f.SetString(text)
		case f.Kind() == reflect.Bool:
			f.SetBool(text == "true")
		case f.CanInt():
			f.SetInt(int64(Number(text)))
		case f.CanFloat():
			f.SetFloat(Number(text))
		}
	}
}

// reads reports that a field reads itself.
func reads(f reflect.Value) bool {
	return f.CanInterface() && reflect.PointerTo(f.Type()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func mustDuration(s string) time.Duration {
	t, err := time.ParseDuration(s)
	if err != nil {
		panic("yamlform: bad duration in a tag: " + s)
	}
	return t
}

// Number is a number of a tag.
func Number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("yamlform: bad number in a tag: " + s)
	}
	return f
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// Join is the path of a key in the mapping at a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Describe says in a few words what a node is, for messages.
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.ShortTag() == "!!null" {
		return "nothing"
	}
	return fmt.Sprintf("%q", Clip(n.Value))
}

func wanted(t reflect.Type) string {
	switch {
	case t == durationType:
		return "a duration"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "a word"
	}
	return "a number"
}

// Clip shortens text that somebody else wrote, for messages.
func Clip(s string) string { return clipTo(s, 60) }

func clipTo(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n-3], "") + "..."
	}
	return s
}
