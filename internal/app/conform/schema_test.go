package conform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/app/conform"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// property is a field of a message in the schema.
type property struct {
	Ref   string `json:"$ref"`
	Type  string
	Enum  []string
	AnyOf []property
	Items *property
}

type definition struct {
	Type       string
	Required   []string
	Properties map[string]property
}

func definitions(t *testing.T) map[string]definition {
	t.Helper()
	var all struct{ Definitions map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(docs.LockProtocolSchema), &all); err != nil {
		t.Fatal(err)
	}
	list := make(map[string]definition)
	for name, text := range all.Definitions {
		var d definition
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list[name] = d
	}
	return list
}

// kind is how a Go type is written in JSON.
func kind(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "object"
	case t == reflect.TypeFor[[]byte]():
		return "string"
	case t.Kind() == reflect.Pointer:
		return kind(t.Elem())
	case t.Kind() == reflect.Slice:
		return "array"
	case t.Kind() == reflect.Struct:
		return "object"
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Float64:
		return "number"
	}
	return "integer"
}

// TestSchemaIsOfTheTypes: the schema has the fields of the Go types, with their types.
func TestSchemaIsOfTheTypes(t *testing.T) {
	list := definitions(t)
	types := map[string]reflect.Type{"from.ready": reflect.TypeFor[program.Ready](), "to.setup": reflect.TypeFor[program.Setup](),
		"lock": reflect.TypeFor[program.Lock](), "node": reflect.TypeFor[program.Node](), "tls": reflect.TypeFor[program.TLS]()}
	used := make(map[reflect.Type]map[string]bool)
	for name, d := range list {
		if d.Type != "object" {
			continue
		}
		goType := types[name]
		if goType == nil {
			goType = reflect.TypeFor[program.Message]()
		}
		if used[goType] == nil {
			used[goType] = make(map[string]bool)
		}
		fields := make(map[string]reflect.Type)
		for f := range goType.Fields() {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields[field] = f.Type
		}
		for field, p := range d.Properties {
			used[goType][field] = true
			if field == "type" {
				continue
			}
			if p.Ref != "" {
				p.Type = list[strings.TrimPrefix(p.Ref, "#/definitions/")].Type
			}
			if len(p.AnyOf) > 0 { // null, or what comes last
				if p.Type = p.AnyOf[len(p.AnyOf)-1].Type; p.Type == "" {
					p.Type = "object"
				}
			}
			if p.Enum != nil || field == "protocol" {
				continue
			}
			if fields[field] == nil || kind(fields[field]) != p.Type {
				t.Errorf("%s.%s: the schema says %q, the type is %v", name, field, p.Type, fields[field])
			}
		}
		for _, field := range d.Required {
			if _, ok := d.Properties[field]; !ok {
				t.Errorf("%s: %s is required, and not described", name, field)
			}
		}
	}
	for goType, fields := range used {
		for f := range goType.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" && !fields[name] {
				t.Errorf("the schema lacks %s of %v", name, goType)
			}
		}
	}
}

// TestSchemaKnowsTheWords: the schema has all types of messages, abilities, classes and
// topologies, and no others.
func TestSchemaKnowsTheWords(t *testing.T) {
	list := definitions(t)
	same := func(what string, got, want []string) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	ready := list["from.ready"].Properties
	same("can", ready["can"].Items.Enum, prefixed("", program.Abilities()...))
	same("class", ready["class"].Enum, prefixed("", program.Classes()...))
	same("topology", list["to.setup"].Properties["topology"].Enum,
		[]string{program.Independent, program.Replicated, program.Watched, program.Clustered})
	messages := slices.DeleteFunc(slices.Collect(maps.Keys(list)), func(name string) bool { return !strings.Contains(name, ".") })
	same("messages", messages, slices.Concat(
		prefixed("to.", program.Hello, program.SetupType,
			program.AcquireType, program.ReleaseType, program.ExtendType, program.ForgetType, program.CancelType, program.ClocksType, program.Go),
		prefixed("from.", program.ReadyType, program.SetUp, program.Unsupported,
			program.Acquired, program.Released, program.Extended, program.Forgotten, program.Refused, program.Unknown,
			program.ClocksType, program.Renewed, program.Lost, program.Point, program.Error),
	))
	var all struct{ AnyOf []property }
	if err := json.Unmarshal([]byte(docs.LockProtocolSchema), &all); err != nil {
		t.Fatal(err)
	}
	var refs []string
	for _, p := range all.AnyOf {
		refs = append(refs, strings.TrimPrefix(p.Ref, "#/definitions/"))
	}
	same("any of", refs, messages)
}

func prefixed[T ~string](prefix string, list ...T) (words []string) {
	for _, one := range list {
		words = append(words, prefix+string(one))
	}
	return words
}

func TestCheckLine(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`"x",`, 51), ",")
	for _, test := range []struct {
		sent       bool
		line, want string
	}{
		{false, `{"type":"acquired","id":7,"at_ns":1,"validity_ms":986.2,"owner_b64":"AAE=","token":7,"more":{}}`, ""},
		{false, `{"type":"acquired","id":7,"validity_ms":"986"}`, "at '/validity_ms': got string, want number"},
		{false, `{"type":"acquired"}`, "missing property 'id'"},
		{false, `{"type":"acquired","id":0}`, "at '/id': minimum: got 0, want 1"},
		{false, `{"type":"acquire","id":1,"wait_ms":100}`, `the type "acquire" is not known`},
		{true, `{"type":"acquire","id":1,"wait_ms":100}`, ""},
		{true, `{"type":"acquired","id":1}`, `the type "acquired" is not known`},
		{false, `{"type":"clocks","id":1}`, "missing property 'wall_ms'"},
		{true, `{"type":"clocks","id":1}`, ""},
		{false, `{"type":"ready","protocol":1,"name":"x","class":"single","can":["fly"]}`, "at '/can/0': value must be one of"},
		{false, `{"type":"ready","protocol":1,"name":"x","class":"single","keys":[` + many + `]}`, "at '/keys': maxItems: got 51, want 50"},
		{false, `{"type":"ready","protocol":2,"name":"","class":"semaphore"}`, "at '/class'"},
		{false, `{"type":"ready","protocol":1,"name":"x","class":"single","lease":"ever"}`, "at '/lease': value must be 'ttl'"},
		{false, `{"type":"dance"}`, `the type "dance" is not known`},
		{false, `{"no":"type"}`, "no JSON object with a type"},
		{false, `{"type":7}`, "no JSON object with a type"},
		{false, `[1]`, "no JSON object with a type"},
		{false, `a library prints`, "no JSON object with a type"},
	} {
		err := conform.CheckLine(test.sent, []byte(test.line))
		if got := fmt.Sprint(err); (test.want == "") != (err == nil) || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %q", test.line, got, test.want)
		}
	}
}

// TestPageSpeaksTheProtocol: the lines that docs/reference/lock-protocol.md shows are messages.
func TestPageSpeaksTheProtocol(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^([<>]) (\{.*\})$`).FindAllStringSubmatch(docstest.Read(t, "docs/reference/lock-protocol.md"), -1)
	if len(lines) < 20 {
		t.Fatalf("the page shows %d lines", len(lines))
	}
	for _, m := range lines {
		if err := conform.CheckLine(m[1] == ">", []byte(m[2])); err != nil {
			t.Errorf("%s %s: %v", m[1], m[2], err)
		}
	}
}
