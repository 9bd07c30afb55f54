package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

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

// decoder decodes scenarios, and checks that their parts fit each other.
type decoder struct{ yamlform.Decoder }

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
func readAll(f io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(f, yamlform.MaxSize+1)) }

// Parse reads a scenario from its text; file is for messages.
func Parse(file string, text []byte) (*Scenario, error) {
	d := &decoder{}
	d.File = file
	root, err := d.Document(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, yamlform.Problems{{File: file, Line: 1, Column: 1, Message: "the file is empty",
			Hint: "sim new writes a scenario to start from"}}
	}
	s := &Scenario{File: file, Text: string(text)}
	d.scenario(root, s)
	if problems := d.Problems(); len(problems) > 0 {
		return nil, problems.Sorted()
	}
	return s, nil
}

// scenario decodes the whole: the head, then every variant merged over the
// common part.
func (d *decoder) scenario(root *yaml.Node, s *Scenario) {
	var setup Setup
	yamlform.SetDefaults(reflect.ValueOf(&s.Head).Elem())
	head, common := yamlform.FieldsOf(reflect.ValueOf(&s.Head).Elem()), yamlform.FieldsOf(reflect.ValueOf(&setup).Elem())
	known := slices.Concat(yamlform.KeysOf(head), yamlform.KeysOf(common), []string{"variants", "expect", "demands"})
	base := &yaml.Node{Kind: yaml.MappingNode, Line: root.Line, Column: root.Column}
	var variants, expect, demands *yaml.Node
	d.Mark("", root)
	seen := d.Mapping(root, "", known, func(key string, value *yaml.Node, path string) bool {
		if f, ok := head[key]; ok {
			d.Value(value, f.Value, f.Tag, path)
			return true
		}
		switch key {
		case "variants":
			variants = d.Resolve(value)
		case "expect":
			expect = d.Resolve(value)
		case "demands":
			demands = d.Resolve(value)
		default:
			if _, ok := common[key]; !ok {
				return false
			}
			base.Content = append(base.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, Line: value.Line, Column: value.Column}, value)
		}
		return true
	})
	if !seen["name"] {
		d.Missing(root, "", "name")
	}
	if d.Lost("variants") {
		d.Spoil("") // they may change anything
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
		d.variant(base, &s.Variants[0])
		return
	}
	if variants.Kind != yaml.MappingNode || len(variants.Content) == 0 {
		d.Problem(variants, "variants", "want a mapping from names to overlays, got %s", yamlform.Describe(variants))
		return
	}
	d.Mapping(variants, "variants", nil, func(name string, overlay *yaml.Node, path string) bool {
		overlay = d.Resolve(overlay)
		v := Variant{Name: name}
		switch {
		case !variantName.MatchString(name):
			d.Problem(overlay, path, "a variant's name must match %s", variantName)
		case overlay.Kind == yaml.MappingNode:
			v.Settings = yamlform.Settings(overlay, "")
			d.variant(yamlform.Merge(base, overlay, reflect.TypeFor[Setup]()), &v)
		case overlay.ShortTag() == "!!null":
			d.variant(base, &v)
		default:
			d.Problem(overlay, path, "want a mapping, got %s", yamlform.Describe(overlay))
		}
		s.Variants = append(s.Variants, v)
		return true
	})
	if len(s.Variants) > maxVariants {
		d.Problem(variants, "variants", "more than %d variants", maxVariants)
	}
}

const maxVariants = 12

// setup decodes and checks one variant's settings.
func (d *decoder) setup(n *yaml.Node, s *Setup) {
	d.Apart(func() {
		v := reflect.ValueOf(s).Elem()
		yamlform.SetDefaults(v)
		d.Unit, d.UsedUnit = yamlform.Unit{Name: ttlUnit, Length: d.ttlOf(n, s.Lock.TTL), Not: "lock.ttl"}, false
		d.Value(n, v, "", "")
		s.derive()
		if !d.TooLarge() {
			d.check(s)
		}
	})
}

// derive fills what by default follows from other settings.
func (s *Setup) derive() {
	if s.Fencing.Check == "" {
		switch s.Fencing.Tokens {
		case lock.NoTokens:
			s.Fencing.Check = resource.NoFence
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
		s.GrantWithin = s.Lock.LongestTTL() + 2*time.Second
	}
}

// perVariant decodes a block that is about the variants: with variants it has one of its
// own for each of them.
func (d *decoder) perVariant(key string, n *yaml.Node, variants bool, s *Scenario, block func(*Variant, *yaml.Node, string)) {
	if n == nil {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.Problem(n, key, "want a mapping, got %s", yamlform.Describe(n))
		return
	}
	if d.Lost("variants") {
		return
	}
	if !variants {
		block(&s.Variants[0], n, key)
		return
	}
	names := namesOf(s.Variants, func(v Variant) string { return v.Name })
	d.Mapping(n, key, names, func(name string, value *yaml.Node, path string) bool {
		at := slices.Index(names, name)
		if at >= 0 {
			block(&s.Variants[at], d.Resolve(value), path)
		}
		return at >= 0
	})
}

// expected decodes one block of verdicts.
func (d *decoder) expected(n *yaml.Node, path string) []ExpectedVerdict {
	var list []ExpectedVerdict
	d.ofProperties(n, path, "verdicts", func(property checker.Property, value *yaml.Node, path string) {
		var verdict checker.Verdict
		if err := verdict.UnmarshalText([]byte(value.Value)); err != nil && value.Value != anything {
			d.Problem(value, path, "%q is no verdict", yamlform.Clip(value.Value)).Suggest(value.Value, expectations())
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
			d.Problem(value, path, "want %s, %s, or a list of the classes of locks of which it is demanded that it holds, got %s",
				checker.Holds, anything, yamlform.Describe(value))
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
		d.Problem(n, path, "want at least one class of locks").Allowed = known
	}
	for _, item := range n.Content {
		item = d.Resolve(item)
		class := program.Class(item.Value)
		switch {
		case item.Kind != yaml.ScalarNode || !slices.Contains(known, item.Value):
			d.Problem(item, path, "no class of locks %s", yamlform.Describe(item)).Suggest(item.Value, known)
		case slices.Contains(list, class):
			d.Problem(item, path, "%q is given twice", class)
		default:
			list = append(list, class)
		}
	}
	return list
}

// ofProperties decodes a mapping from properties to what.
func (d *decoder) ofProperties(n *yaml.Node, path, what string, each func(checker.Property, *yaml.Node, string)) {
	if n.Kind != yaml.MappingNode {
		d.Problem(n, path, "want a mapping from properties to %s, got %s", what, yamlform.Describe(n))
		return
	}
	d.Mapping(n, path, propertyNames(), func(name string, value *yaml.Node, path string) bool {
		known := slices.Contains(propertyNames(), name)
		if known {
			each(checker.Property(name), d.Resolve(value), path)
		}
		return known
	})
}
