package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
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
	yamlform.SetDefaults(reflect.ValueOf(&standard).Elem())
	derived := Setup{Lock: lock.Config{TTL: setup.Lock.TTL, Clients: setup.Lock.Clients},
		Fencing: Fencing{Tokens: setup.Fencing.Tokens}, Workload: workload.Plan{Kind: setup.Workload.Kind}}
	derived.derive()
	standard.Fencing.Check, standard.GrantWithin, standard.Resource.Kind = derived.Fencing.Check, derived.GrantWithin, derived.Resource.Kind
	fields, defaults := yamlform.FieldsOf(reflect.ValueOf(setup).Elem()), yamlform.FieldsOf(reflect.ValueOf(&standard).Elem())
	for _, key := range yamlform.KeysOf(fields) {
		if key == "faults" {
			continue
		}
		if text, differs := yamlform.Encode(fields[key].Value, defaults[key].Value); differs || key == "lock" {
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
	trigger := yamlform.FieldsOf(reflect.ValueOf(&f.Trigger).Elem())
	var none nemesis.Trigger
	absent := yamlform.FieldsOf(reflect.ValueOf(&none).Elem())
	for _, key := range yamlform.KeysOf(trigger) {
		if text, differs := yamlform.Encode(trigger[key].Value, absent[key].Value); differs {
			fmt.Fprintf(b, "%s%s: %s\n", bullet, key, text)
			bullet = "    "
		}
	}
	kind, _ := nemesis.Lookup(f.Kind)
	standard := reflect.ValueOf(kind.New()).Elem()
	yamlform.SetDefaults(standard)
	text, _ := yamlform.Encode(reflect.ValueOf(f.Params).Elem(), standard)
	fmt.Fprintf(b, "%s%s: %s\n", bullet, f.Kind, text)
}
