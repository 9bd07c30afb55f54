package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

// MaxSize is the largest scenario file, in bytes.
const MaxSize = 1 << 20

// Scenario is a scenario with its variants worked out.
type Scenario struct {
	Head
	// File is where it was read from, Text what stood there. A shipped scenario has its
	// name for a file.
	File, Text string
	Shipped    bool
	// Variants, at least one.
	Variants []Variant
}

// Digest is the SHA-256 of the text in hex.
func (s *Scenario) Digest() string {
	sum := sha256.Sum256([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}

// Load reads a scenario file. What is wrong with the scenario comes back as
// Problems, all of them at once.
func Load(file string) (*Scenario, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("failed to open the scenario: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := readAll(f)
	if err != nil {
		return nil, fmt.Errorf("failed to read the scenario %q: %w", file, err)
	}
	return Parse(file, text)
}

// readAll reads a file; of one that is too large it reads enough to show that.
func readAll(f io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(f, MaxSize+1)) }

// Parse reads a scenario from its text; file is for messages.
func Parse(file string, text []byte) (*Scenario, error) {
	d := &decoder{file: file, at: make(map[string]position)}
	root, err := d.document(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, Problems{{File: file, Line: 1, Column: 1, Message: "the file is empty", Hint: "sim new writes a scenario to start from"}}
	}
	s := &Scenario{File: file, Text: string(text)}
	d.scenario(root, s)
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	return s, nil
}

// document parses the YAML; nil: there is none.
func (d *decoder) document(text []byte) (*yaml.Node, error) {
	if len(text) > MaxSize {
		return nil, Problems{{File: d.file, Line: 1, Column: 1, Message: fmt.Sprintf("larger than %d bytes", MaxSize)}}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, Problems{syntaxProblem(d.file, err)}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := d.resolve(doc.Content[0])
	if root.Kind != yaml.MappingNode {
		return nil, Problems{{File: d.file, Line: root.Line, Column: root.Column, Message: "want a mapping, got " + describe(root)}}
	}
	return root, nil
}

// syntaxProblem turns the YAML library's error into ours.
func syntaxProblem(file string, err error) *Problem {
	p := &Problem{File: file, Line: 1, Column: 1, Message: "not YAML: " + err.Error()}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		p.Line, p.Column = max(load.Mark.Line, 1), max(load.Mark.Column, 1)
		p.Message = "not YAML: " + load.Error()
	}
	return p
}

// scenario decodes the whole: the head, then every variant merged over the
// common part.
func (d *decoder) scenario(root *yaml.Node, s *Scenario) {
	var setup Setup
	setDefaults(reflect.ValueOf(&s.Head).Elem())
	head, common := fieldsOf(reflect.ValueOf(&s.Head).Elem()), fieldsOf(reflect.ValueOf(&setup).Elem())
	known := slices.Concat(keysOf(head), keysOf(common), []string{"variants", "expect", "demands"})
	base := &yaml.Node{Kind: yaml.MappingNode, Line: root.Line, Column: root.Column}
	var variants, expect, demands *yaml.Node
	d.at[""] = position{root.Line, root.Column}
	seen := d.mapping(root, "", known, func(key string, value *yaml.Node, path string) bool {
		if f, ok := head[key]; ok {
			d.value(value, f.value, f.tag, path)
			return true
		}
		switch key {
		case "variants":
			variants = d.resolve(value)
		case "expect":
			expect = d.resolve(value)
		case "demands":
			demands = d.resolve(value)
		default:
			if _, ok := common[key]; !ok {
				return false
			}
			base.Content = append(base.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, Line: value.Line, Column: value.Column}, value)
		}
		return true
	})
	if !seen["name"] {
		d.missing(root, "", "name")
	}
	if d.lost("variants") {
		d.spoiled = append(d.spoiled, "") // they may change anything
	}
	d.variants(base, variants, s)
	d.perVariant("expect", expect, variants != nil, s, func(v *Variant, n *yaml.Node, path string) { v.Expect = d.expected(n, path) })
	d.perVariant("demands", demands, variants != nil, s, func(v *Variant, n *yaml.Node, path string) { v.Demand = d.demands(n, path) })
}

// variants decodes the common part once for each variant, with its overlay
// merged in.
func (d *decoder) variants(base, variants *yaml.Node, s *Scenario) {
	if variants == nil {
		s.Variants = []Variant{{Name: DefaultVariant}}
		d.setup(base, &s.Variants[0].Setup)
		return
	}
	if variants.Kind != yaml.MappingNode || len(variants.Content) == 0 {
		d.problem(variants, "variants", "want a mapping from names to overlays, got %s", describe(variants))
		return
	}
	d.mapping(variants, "variants", nil, func(name string, overlay *yaml.Node, path string) bool {
		overlay = d.resolve(overlay)
		v := Variant{Name: name}
		switch {
		case !variantName.MatchString(name):
			d.problem(overlay, path, "a variant's name must match %s", variantName)
		case overlay.Kind == yaml.MappingNode:
			v.Settings = settings(overlay, "")
			d.setup(merge(base, overlay, reflect.TypeFor[Setup]()), &v.Setup)
		case overlay.ShortTag() == "!!null":
			d.setup(base, &v.Setup)
		default:
			d.problem(overlay, path, "want a mapping, got %s", describe(overlay))
		}
		s.Variants = append(s.Variants, v)
		return true
	})
	if len(s.Variants) > maxVariants {
		d.problem(variants, "variants", "more than %d variants", maxVariants)
	}
}

const maxVariants = 12

// setup decodes and checks one variant's settings.
func (d *decoder) setup(n *yaml.Node, s *Setup) {
	spoiled := len(d.spoiled)
	v := reflect.ValueOf(s).Elem()
	setDefaults(v)
	d.value(n, v, "", "")
	s.derive()
	if d.visited <= maxNodes {
		d.check(s)
	}
	d.spoiled = d.spoiled[:spoiled] // by this variant
}

// derive fills what by default follows from other settings.
func (s *Setup) derive() {
	if s.Fencing.Check == "" {
		s.Fencing.Check = resource.NoFence
		switch s.Fencing.Tokens {
		case lock.NoTokens:
		case lock.RandomValue:
			s.Fencing.Check = resource.CompareAndSet
		default:
			s.Fencing.Check = resource.Strict
		}
	}
	if s.Resource.Kind == "" {
		s.Resource.Kind = s.Workload.Workload().Resource
	}
	if s.GrantWithin == 0 {
		s.GrantWithin = s.Lock.TTL + 2*time.Second
	}
}

// merge lays an overlay over a base: mappings are merged key by key, anything
// else is replaced. A key of the overlay drops the base's key that it excludes, where t,
// the type of both, says so; nil: it says nothing.
func merge(base, overlay *yaml.Node, t reflect.Type) *yaml.Node {
	if base.Kind == yaml.AliasNode {
		base = base.Alias
	}
	if overlay.Kind == yaml.AliasNode {
		overlay = overlay.Alias
	}
	if base.Kind != yaml.MappingNode || overlay.Kind != yaml.MappingNode {
		return overlay
	}
	out := *base
	out.Content = slices.Clone(base.Content)
	var fields map[string]field
	if t != nil && t.Kind() == reflect.Struct {
		fields = fieldsOf(reflect.New(t).Elem())
	}
	for i := 0; i+1 < len(overlay.Content); i += 2 {
		key, value := overlay.Content[i], overlay.Content[i+1]
		if rival := rivalOf(fields, key.Value); rival != "" && indexOf(overlay, rival) < 0 {
			if at := indexOf(&out, rival); at >= 0 {
				out.Content = slices.Delete(out.Content, 2*at, 2*at+2)
			}
		}
		at := indexOf(&out, key.Value)
		if at < 0 {
			out.Content = append(out.Content, key, value)
			continue
		}
		var inner reflect.Type
		if f, ok := fields[key.Value]; ok {
			inner = f.value.Type()
		}
		out.Content[2*at+1] = merge(out.Content[2*at+1], value, inner)
	}
	return &out
}

// indexOf is where a mapping has a key; -1: nowhere.
func indexOf(mapping *yaml.Node, key string) int {
	return slices.IndexFunc(keys(mapping), func(k *yaml.Node) bool { return k.Value == key })
}

func keys(mapping *yaml.Node) []*yaml.Node {
	var list []*yaml.Node
	for i := 0; i < len(mapping.Content); i += 2 {
		list = append(list, mapping.Content[i])
	}
	return list
}

// settings says in a line each what an overlay sets.
func settings(n *yaml.Node, path string) []string {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.MappingNode && len(settingsDepth(path)) < 6 {
		var list []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			list = append(list, settings(n.Content[i+1], join(path, clip(n.Content[i].Value)))...)
		}
		return list
	}
	if n.Kind == yaml.ScalarNode {
		return []string{path + ": " + clip(n.Value)}
	}
	return []string{path + ": ..."}
}

func settingsDepth(path string) []string { return strings.Split(path, ".") }

// perVariant decodes a block that is about the variants: with variants it has one of its
// own for each of them.
func (d *decoder) perVariant(key string, n *yaml.Node, variants bool, s *Scenario, block func(*Variant, *yaml.Node, string)) {
	switch {
	case n == nil:
	case n.Kind != yaml.MappingNode:
		d.problem(n, key, "want a mapping, got %s", describe(n))
	case d.lost("variants"):
	case !variants:
		block(&s.Variants[0], n, key)
	default:
		names := namesOf(s.Variants, func(v Variant) string { return v.Name })
		d.mapping(n, key, names, func(name string, value *yaml.Node, path string) bool {
			at := slices.Index(names, name)
			if at >= 0 {
				block(&s.Variants[at], d.resolve(value), path)
			}
			return at >= 0
		})
	}
}

// expected decodes one block of verdicts.
func (d *decoder) expected(n *yaml.Node, path string) []ExpectedVerdict {
	var list []ExpectedVerdict
	d.ofProperties(n, path, "verdicts", func(property checker.Property, value *yaml.Node, path string) {
		var verdict checker.Verdict
		if err := verdict.UnmarshalText([]byte(value.Value)); err != nil && value.Value != anything {
			d.problem(value, path, "%q is no verdict", clip(value.Value)).suggest(value.Value, expectations())
			return
		}
		list = append(list, ExpectedVerdict{Property: property, Verdict: verdict})
	})
	return list
}

// demands decodes one block of demands.
func (d *decoder) demands(n *yaml.Node, path string) []PropertyDemand {
	var list []PropertyDemand
	d.ofProperties(n, path, "demands", func(property checker.Property, value *yaml.Node, path string) {
		demand := PropertyDemand{Property: property, Holds: true}
		switch {
		case value.Kind == yaml.SequenceNode:
			demand.Of = d.classes(value, path)
		case value.Value == anything:
			demand.Holds = false
		case value.Kind != yaml.ScalarNode || value.Value != checker.Holds.String():
			d.problem(value, path, "want %s, %s, or a list of the classes of locks of which it is demanded that it holds, got %s",
				checker.Holds, anything, describe(value))
		}
		list = append(list, demand)
	})
	return list
}

// classes decodes a list of classes of locks.
func (d *decoder) classes(n *yaml.Node, path string) []program.Class {
	known := namesOf(program.Classes(), func(c program.Class) string { return string(c) })
	var list []program.Class
	if len(n.Content) == 0 {
		d.problem(n, path, "want at least one class of locks").Allowed = known
	}
	for _, item := range n.Content {
		item = d.resolve(item)
		class := program.Class(item.Value)
		switch {
		case item.Kind != yaml.ScalarNode || !slices.Contains(known, item.Value):
			d.problem(item, path, "no class of locks %s", describe(item)).suggest(item.Value, known)
		case slices.Contains(list, class):
			d.problem(item, path, "%q is given twice", class)
		default:
			list = append(list, class)
		}
	}
	return list
}

// ofProperties decodes a mapping from properties to what.
func (d *decoder) ofProperties(n *yaml.Node, path, what string, each func(checker.Property, *yaml.Node, string)) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "want a mapping from properties to %s, got %s", what, describe(n))
		return
	}
	d.mapping(n, path, propertyNames(), func(name string, value *yaml.Node, path string) bool {
		known := slices.Contains(propertyNames(), name)
		if known {
			each(checker.Property(name), d.resolve(value), path)
		}
		return known
	})
}
