package yamlform

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// rule is what a tag asks of values of a type.
type rule struct {
	// least and most are as the tag has them; empty: there is no such bound. low and high are their values.
	least, most string
	low, high   float64
	allowed     []string
	pattern     *regexp.Regexp
	// mayBeZero: there is a word for none.
	mayBeZero bool
}

// rules are those that were read, by type and tag.
var rules sync.Map

func ruleOf(t reflect.Type, tag reflect.StructTag) *rule {
	type of struct {
		t   reflect.Type
		tag reflect.StructTag
	}
	known, ok := rules.Load(of{t, tag})
	if !ok {
		known, _ = rules.LoadOrStore(of{t, tag}, newRule(t, tag))
	}
	return known.(*rule)
}

func newRule(t reflect.Type, tag reflect.StructTag) *rule {
	r := &rule{least: tag.Get("min"), most: tag.Get("max"), allowed: allowedWords(tag), mayBeZero: tag.Get("zero") != ""}
	read := Number
	if t == durationType {
		read = func(s string) float64 { return float64(mustDuration(s)) }
		r.least = cmp.Or(r.least, "0s")
	}
	if r.least != "" {
		r.low = read(r.least)
	}
	if r.most != "" {
		r.high = read(r.most)
	}
	if pattern := tag.Get("pattern"); pattern != "" {
		r.pattern = regexp.MustCompile(pattern)
	}
	return r
}

// breach says how a value breaks the limits that its tag sets; empty: it keeps
// them. got is the value as it was written; empty: nobody wrote it.
func breach(v reflect.Value, tag reflect.StructTag, got string) string {
	if v.Kind() == reflect.String {
		return textBreach(v.String(), tag)
	}
	if v.CanInt() || v.CanFloat() {
		return ruleOf(v.Type(), tag).breach(v, got)
	}
	return ""
}

// breach is the function of this name, where the rule is known.
func (r *rule) breach(v reflect.Value, got string) string {
	value := 0.0
	switch {
	case v.CanInt():
		value = float64(v.Int())
	case v.CanFloat():
		value = v.Float()
	default:
		return r.textBreach(v.String())
	}
	if value == 0 && r.mayBeZero && got == "" {
		return ""
	}
	low, high := r.least != "" && value < r.low, r.most != "" && value > r.high
	if (low || high) && got == "" {
		got = fmt.Sprint(v.Interface())
	}
	if low {
		return fmt.Sprintf("want at least %s, got %s", r.least, got)
	}
	if high {
		return fmt.Sprintf("want at most %s, got %s", r.most, got)
	}
	return ""
}

func textBreach(text string, tag reflect.StructTag) string {
	return ruleOf(textType, tag).textBreach(text)
}

func (r *rule) textBreach(text string) string {
	switch {
	case r.allowed != nil && !slices.Contains(r.allowed, text):
		return fmt.Sprintf("%q is not one of the values allowed here", Clip(text))
	case strings.ContainsFunc(text, isControl):
		return fmt.Sprintf("control characters are not allowed: %q", Clip(text))
	case r.pattern != nil && !r.pattern.MatchString(text):
		return fmt.Sprintf("%q does not match %s", Clip(text), r.pattern)
	case r.most != "" && len(text) > int(r.high):
		return fmt.Sprintf("longer than %s bytes", r.most)
	case r.least != "" && len(text) < int(r.low):
		return fmt.Sprintf("shorter than %s", words.Count(int(r.low), "byte"))
	}
	return ""
}

var textType = reflect.TypeFor[string]()

// countBreach says how the number of entries of a list or a dictionary breaks the limits
// of its tag.
func countBreach(count int, tag reflect.StructTag) string {
	if least := tag.Get("least"); least != "" && count < int(Number(least)) {
		return fmt.Sprintf("want at least %s, got %d", words.Count(int(Number(least)), "entry"), count)
	}
	if most := tag.Get("most"); most != "" && count > int(Number(most)) {
		return fmt.Sprintf("want at most %s, got %d", words.Count(int(Number(most)), "entry"), count)
	}
	return ""
}

// nameBreach says how a key of a dictionary breaks the limits of its tag.
func nameBreach(key string, tag reflect.StructTag) string {
	if pattern := tag.Get("names"); pattern != "" && !regexp.MustCompile(pattern).MatchString(key) {
		return fmt.Sprintf("%q does not match %s", Clip(key), pattern)
	}
	return ""
}

// isControl finds what could steer a terminal.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' &&
		(r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069)
}

// Limits holds a mapping that no file gave to the limits of its tags. What has no
// default and is zero is left out of a file.
func (d *Decoder) Limits(v reflect.Value, path string) {
	for _, f := range keyed(v.Type()) {
		switch value := v.Field(f.index); {
		case f.inline:
			d.Limits(value, path)
		case f.given || !value.IsZero():
			d.limit(value, &f, path)
		case f.required:
			d.ProblemAt(path, "%q is missing", f.key)
		}
	}
}

func (d *Decoder) limit(v reflect.Value, f *keyedField, path string) {
	if f.rule == nil {
		if t, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
			if _, err := t.MarshalText(); err != nil {
				d.ProblemAt(Join(path, f.key), "%s", err)
			}
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		d.Limits(v, Join(path, f.key))
	case reflect.Slice:
		for i := range v.Len() {
			d.limit(v.Index(i), f, path)
		}
	case reflect.Pointer:
		d.limit(v.Elem(), f, path)
	default:
		if f.rule == nil {
			return
		}
		if message := f.rule.breach(v, ""); message != "" {
			d.ProblemAt(Join(path, f.key), "%s", message)
		}
	}
}

// bounds are those parts of a list's or a dictionary's tag that are about its entries.
func bounds(tag reflect.StructTag) reflect.StructTag {
	var list []string
	for _, key := range []string{"min", "max", "pattern", "values"} {
		if value, ok := tag.Lookup(key); ok {
			list = append(list, fmt.Sprintf("%s:%q", key, value))
		}
	}
	return reflect.StructTag(strings.Join(list, " "))
}

// allowedWords are those that a tag lists; nil: any will do.
func allowedWords(tag reflect.StructTag) []string {
	if tag.Get("values") == "" {
		return nil
	}
	return strings.Split(tag.Get("values"), ",")
}
