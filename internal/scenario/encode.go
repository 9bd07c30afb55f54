package scenario

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// Encode writes a scenario of one variant as YAML that Parse reads back: what
// differs from the defaults, a line for each section and for each fault.
// Comment lines come first. A random mix of faults cannot be written this way. Demands are
// those of all classes of locks.
func Encode(comments []string, head Head, setup *Setup, expect []ExpectedVerdict, demands ...PropertyDemand) (string, error) {
	if setup.Faults.Mix != nil {
		return "", errors.New("a random mix of faults has no explicit form")
	}
	var b strings.Builder
	for _, c := range comments {
		fmt.Fprintf(&b, "# %s\n", c)
	}
	fmt.Fprintf(&b, "name: %s\n", head.Name)
	for _, line := range [][2]string{{"title", head.Title}, {"source", head.Source}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], strconv.Quote(line[1]))
		}
	}
	if head.Guarantee != "" && head.Guarantee != NoGuarantee {
		fmt.Fprintf(&b, "guarantee: %s\n", head.Guarantee)
	}
	if len(head.Tags) > 0 {
		fmt.Fprintf(&b, "tags: [%s]\n", strings.Join(head.Tags, ", "))
	}
	if head.Story != "" {
		fmt.Fprintf(&b, "story: |\n  %s\n", strings.ReplaceAll(strings.TrimSpace(head.Story), "\n", "\n  "))
	}
	var standard Setup
	setDefaults(reflect.ValueOf(&standard).Elem())
	derived := Setup{Lock: lock.Config{TTL: setup.Lock.TTL},
		Fencing: Fencing{Tokens: setup.Fencing.Tokens}, Workload: workload.Plan{Kind: setup.Workload.Kind}}
	derived.derive()
	standard.Fencing.Check, standard.GrantWithin, standard.Resource.Kind = derived.Fencing.Check, derived.GrantWithin, derived.Resource.Kind
	fields, defaults := fieldsOf(reflect.ValueOf(setup).Elem()), fieldsOf(reflect.ValueOf(&standard).Elem())
	for _, key := range keysOf(fields) {
		if key == "faults" {
			continue
		}
		if text, differs := encodeValue(fields[key].value, defaults[key].value); differs || key == "lock" {
			fmt.Fprintf(&b, "%s: %s\n", key, text)
		}
	}
	if len(setup.Faults.List) > 0 {
		b.WriteString("faults:\n")
	}
	for i := range setup.Faults.List {
		encodeFault(&b, &setup.Faults.List[i])
	}
	if len(expect) > 0 {
		list := namesOf(expect, func(e ExpectedVerdict) string { return fmt.Sprintf("%s: %s", e.Property, e.word()) })
		fmt.Fprintf(&b, "expect: {%s}\n", strings.Join(list, ", "))
	}
	if len(demands) > 0 {
		list := namesOf(demands, func(d PropertyDemand) string { return fmt.Sprintf("%s: %s", d.Property, checker.Holds) })
		fmt.Fprintf(&b, "demands: {%s}\n", strings.Join(list, ", "))
	}
	return b.String(), nil
}

func encodeFault(b *strings.Builder, f *Fault) {
	bullet := "  - "
	trigger := fieldsOf(reflect.ValueOf(&f.Trigger).Elem())
	var none nemesis.Trigger
	absent := fieldsOf(reflect.ValueOf(&none).Elem())
	for _, key := range keysOf(trigger) {
		if text, differs := encodeValue(trigger[key].value, absent[key].value); differs {
			fmt.Fprintf(b, "%s%s: %s\n", bullet, key, text)
			bullet = "    "
		}
	}
	kind, _ := nemesis.Lookup(f.Kind)
	standard := reflect.ValueOf(kind.New()).Elem()
	setDefaults(standard)
	text, _ := encodeValue(reflect.ValueOf(f.Params).Elem(), standard)
	fmt.Fprintf(b, "%s%s: %s\n", bullet, f.Kind, text)
}

// encodeValue writes a value in one line, and reports whether it differs from
// the default.
func encodeValue(v, standard reflect.Value) (text string, differs bool) {
	differs = !reflect.DeepEqual(v.Interface(), standard.Interface())
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", false
		}
		standard = reflect.New(v.Type().Elem()).Elem()
		setDefaults(standard)
		text, _ = encodeValue(v.Elem(), standard)
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
			element, _ := encodeValue(v.Index(i), reflect.Zero(v.Type().Elem()))
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
		element, _ := encodeValue(v.MapIndex(key), reflect.Zero(v.Type().Elem()))
		list = append(list, word(key.String())+": "+element)
	}
	slices.Sort(list)
	return "{" + strings.Join(list, ", ") + "}", len(list) > 0
}

func encodeMapping(v, standard reflect.Value) (text string, differs bool) {
	fields, defaults := fieldsOf(v), fieldsOf(standard)
	var list []string
	for _, key := range keysOf(fields) {
		if text, differs := encodeValue(fields[key].value, defaults[key].value); differs {
			list = append(list, key+": "+cmp.Or(fields[key].tag.Get("mistake"), text))
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
