package yamlform

import (
	"cmp"
	"encoding"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Encode writes a value in one line, and reports whether it differs from
// the default.
func Encode(v, standard reflect.Value) (text string, differs bool) {
	differs = !reflect.DeepEqual(v.Interface(), standard.Interface())
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", false
		}
		standard = reflect.New(v.Type().Elem()).Elem()
		SetDefaults(standard)
		text, _ = Encode(v.Elem(), standard)
		return text, true
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		t, err := m.MarshalText()
		return word(string(t)), differs && err == nil
	}
	switch {
	case v.Type() == durationType:
		return time.Duration(v.Int()).String(), differs
	case v.Kind() == reflect.String:
		return word(v.String()), differs
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool()), differs
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), differs
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64), differs
	case v.Kind() == reflect.Slice:
		var list []string
		for i := range v.Len() {
			element, _ := Encode(v.Index(i), reflect.Zero(v.Type().Elem()))
			list = append(list, element)
		}
		return "[" + strings.Join(list, ", ") + "]", v.Len() > 0
	case v.Kind() == reflect.Map:
		return encodeDictionary(v)
	}
	return encodeMapping(v, standard)
}

func encodeDictionary(v reflect.Value) (text string, differs bool) {
	var list []string
	for _, key := range v.MapKeys() {
		element, _ := Encode(v.MapIndex(key), reflect.Zero(v.Type().Elem()))
		list = append(list, word(key.String())+": "+element)
	}
	slices.Sort(list)
	return "{" + strings.Join(list, ", ") + "}", len(list) > 0
}

func encodeMapping(v, standard reflect.Value) (text string, differs bool) {
	fields, defaults := FieldsOf(v), FieldsOf(standard)
	var list []string
	for _, key := range KeysOf(fields) {
		if text, differs := Encode(fields[key].Value, defaults[key].Value); differs {
			if zero := fields[key].Tag.Get("zero"); zero != "" && fields[key].Value.IsZero() {
				text = zero
			}
			list = append(list, key+": "+cmp.Or(fields[key].Tag.Get("mistake"), text))
		}
	}
	return "{" + strings.Join(list, ", ") + "}", len(list) > 0
}

var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9.-]*$`)

// word writes a text, in quotes where YAML might take it for something else.
func word(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return strconv.Quote(s)
	}
	if plainWord.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
