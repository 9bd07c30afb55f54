package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// breach says how a value breaks the limits that its tag sets; empty: it keeps
// them. got is the value as it was written.
func breach(v reflect.Value, tag reflect.StructTag, got string) string {
	if v.Kind() == reflect.String {
		return textBreach(v.String(), tag)
	}
	low, high := tag.Get("min"), tag.Get("max")
	read, value := number, 0.0
	switch {
	case v.Type() == durationType:
		read, value = func(s string) float64 { return float64(mustDuration(s)) }, float64(v.Int())
		if low == "" {
			low = "0s"
		}
	case v.CanInt():
		value = float64(v.Int())
	case v.CanFloat():
		value = v.Float()
	default:
		return ""
	}
	switch {
	case low != "" && value < read(low):
		return fmt.Sprintf("want at least %s, got %s", low, got)
	case high != "" && value > read(high):
		return fmt.Sprintf("want at most %s, got %s", high, got)
	}
	return ""
}

func textBreach(text string, tag reflect.StructTag) string {
	if allowed := allowedWords(tag); allowed != nil && !slices.Contains(allowed, text) {
		return fmt.Sprintf("%q is not one of the values allowed here", clip(text))
	}
	if strings.ContainsFunc(text, isControl) {
		return fmt.Sprintf("control characters are not allowed: %q", clip(text))
	}
	if pattern := tag.Get("pattern"); pattern != "" && !regexp.MustCompile(pattern).MatchString(text) {
		return fmt.Sprintf("%q does not match %s", clip(text), pattern)
	}
	if limit := tag.Get("max"); limit != "" && len(text) > int(number(limit)) {
		return fmt.Sprintf("longer than %s bytes", limit)
	}
	if limit := tag.Get("min"); limit != "" && len(text) < int(number(limit)) {
		return fmt.Sprintf("shorter than %s", words.Count(int(number(limit)), "byte"))
	}
	return ""
}

// countBreach says how the number of entries of a list or a dictionary breaks the limits
// of its tag.
func countBreach(count int, tag reflect.StructTag) string {
	if least := tag.Get("least"); least != "" && count < int(number(least)) {
		return fmt.Sprintf("want at least %s, got %d", words.Count(int(number(least)), "entry"), count)
	}
	if most := tag.Get("most"); most != "" && count > int(number(most)) {
		return fmt.Sprintf("want at most %s, got %d", words.Count(int(number(most)), "entry"), count)
	}
	return ""
}

// nameBreach says how a key of a dictionary breaks the limits of its tag.
func nameBreach(key string, tag reflect.StructTag) string {
	if pattern := tag.Get("names"); pattern != "" && !regexp.MustCompile(pattern).MatchString(key) {
		return fmt.Sprintf("%q does not match %s", clip(key), pattern)
	}
	return ""
}

// isControl finds what could steer a terminal.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069)
}

// limits holds a mapping that no file gave to the limits of its tags. What has no
// default and is zero is left out of a file.
func (d *decoder) limits(v reflect.Value, path string) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		key, option, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		_, given := field.Tag.Lookup("default")
		switch {
		case option == "inline":
			d.limits(value, path)
		case key == "":
		case given || !value.IsZero():
			d.limit(value, field.Tag, join(path, key))
		case field.Tag.Get("required") == "true":
			d.problemAt(path, "%q is missing", key)
		}
	}
}

func (d *decoder) limit(v reflect.Value, tag reflect.StructTag, path string) {
	if t, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
		if _, err := t.MarshalText(); err != nil {
			d.problemAt(path, "%s", err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.limits(v, path)
	case reflect.Slice:
		for i := range v.Len() {
			d.limit(v.Index(i), tag, path)
		}
	case reflect.Pointer:
		d.limit(v.Elem(), tag, path)
	default:
		if message := breach(v, tag, fmt.Sprint(v.Interface())); message != "" {
			d.problemAt(path, "%s", message)
		}
	}
}
