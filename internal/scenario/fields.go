package scenario

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

// field is one key of a mapping: a field of the Go struct that it fills.
type field struct {
	value reflect.Value
	tag   reflect.StructTag
	order int
}

// fieldsOf lists the fields of a struct by their keys, inlined ones included.
func fieldsOf(v reflect.Value) map[string]field {
	fields := make(map[string]field)
	collectFields(v, fields)
	return fields
}

func collectFields(v reflect.Value, fields map[string]field) {
	for _, f := range keyed(v.Type()) {
		value, tag := v.Field(f.index), f.tag
		if f.inline {
			collectFields(value, fields)
			continue
		}
		if t, ok := value.Interface().(interface{ Tag() string }); ok {
			tag += reflect.StructTag(" " + t.Tag())
		}
		fields[f.key] = field{value, tag, len(fields)}
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
		}
		break
	}
	return nil
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// keysOf lists the keys in the order of the struct.
func keysOf(fields map[string]field) []string {
	return slices.SortedFunc(maps.Keys(fields), func(a, b string) int { return fields[a].order - fields[b].order })
}

// rivalOf is the key that excludes this one; empty: none does.
func rivalOf(fields map[string]field, key string) string {
	if other := fields[key].tag.Get("instead"); other != "" {
		return other
	}
	for other, f := range fields {
		if f.tag.Get("instead") == key {
			return other
		}
	}
	return ""
}

// setDefaults fills the fields of a struct that have a default, deeply.
func setDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		text, ok := tag.Lookup("default")
		switch {
		case ok && reads(f):
			if err := f.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
				panic("scenario: bad default in a tag: " + err.Error())
			}
		case f.Kind() == reflect.Struct:
			setDefaults(f)
		case !ok, tag.Get("mistake") != "":
		case f.Type() == durationType:
			f.SetInt(int64(mustDuration(text)))
		case f.Kind() == reflect.String:
			f.SetString(text)
		case f.Kind() == reflect.Bool:
			f.SetBool(text == "true")
		case f.CanInt():
			f.SetInt(int64(number(text)))
		case f.CanFloat():
			f.SetFloat(number(text))
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
		panic("scenario: bad duration in a tag: " + s)
	}
	return t
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("scenario: bad number in a tag: " + s)
	}
	return f
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.ShortTag() == "!!null" {
		return "nothing"
	}
	return fmt.Sprintf("%q", clip(n.Value))
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

// clip shortens text that somebody else wrote, for messages.
func clip(s string) string { return clipTo(s, 60) }

func clipTo(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n-3], "") + "..."
	}
	return s
}

// namesOf are the words for the items of a list.
func namesOf[T any](items []T, name func(T) string) []string {
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = name(item)
	}
	return list
}

func names(n int, name func(int) string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = name(i)
	}
	return list
}
