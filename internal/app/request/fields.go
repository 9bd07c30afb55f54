package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
)

// strict decodes one JSON document, and nothing behind it.
func strict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the request")
	}
	return nil
}

// field is one of a request: its name, which is also that of its flag, its value, and its tags.
type field struct {
	name  string
	value reflect.Value
	tag   reflect.StructTag
}

// fieldsOf are the fields of a request, which is a pointer, in their order. Those of a struct without a name stand in its place.
func fieldsOf(request any) (list []field) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				walk(v.Field(i))
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			list = append(list, field{name, v.Field(i), f.Tag})
		}
	}
	walk(reflect.ValueOf(request).Elem())
	return list
}

// Names are the names of a request's fields, and so of its flags, but for those that stand without a flag.
func Names(request any) (names []string) {
	for _, f := range fieldsOf(request) {
		if f.tag.Get("line") != "argument" {
			names = append(names, f.name)
		}
	}
	return names
}

// Shared is the request without what each of the machines that share its work has for itself. T is the type of a request.
func Shared[T any](request T) T {
	for _, f := range fieldsOf(&request) {
		if f.tag.Get("part") == "own" {
			f.value.SetZero()
		}
	}
	return request
}

// Own is the first field that the request has, and that each of the machines which share its work has for itself; empty: it has none.
// request is a pointer.
func Own(request any) string {
	for _, f := range fieldsOf(request) {
		if f.tag.Get("part") == "own" && !f.value.IsZero() {
			return f.name
		}
	}
	return ""
}

// Difference says in which field two requests of a kind differ first, as flags are written; empty: in none.
func Difference(a, b any) string {
	theirs := fieldsOf(b)
	for i, f := range fieldsOf(a) {
		mine, other := textOf(f.value), textOf(theirs[i].value)
		if mine != other {
			return fmt.Sprintf("--%s %q, and %q", f.name, mine, other)
		}
	}
	return ""
}

func textOf(v reflect.Value) string {
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}

// Line is the command line that asks the same, as a user can type it. words are the command. Of the fields those are named that are not
// as usual, a request of the same kind, has them, and those with the names always.
func Line(words []string, request, usual any, always ...string) string {
	list := slices.Clone(words)
	others := fieldsOf(usual)
	for i, f := range fieldsOf(request) {
		how := f.tag.Get("line")
		if how != "never" && (slices.Contains(always, f.name) || !reflect.DeepEqual(f.value.Interface(), others[i].value.Interface())) {
			list = append(list, f.words(how)...)
		}
	}
	return shellquote.Join(list...)
}

// words are what stands on a command line for a field.
func (f *field) words(how string) (list []string) {
	many, isList := f.value.Interface().([]string)
	flag := "--" + f.name
	switch {
	case how == "argument" && isList:
		return many
	case how == "argument":
		return []string{f.value.String()}
	case f.value.Kind() == reflect.Bool && f.value.Bool():
		return []string{flag}
	case f.value.Kind() == reflect.Bool:
		return []string{flag + "=false"}
	case how == "repeat":
		for _, one := range many {
			list = append(list, flag, one)
		}
		return list
	}
	return []string{flag, textOf(f.value)}
}
