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
	"github.com/redlock-sim/redlock-sim/internal/resource"
)

// MaxSize is the largest scenario file, in bytes.
const MaxSize = 1 << 20

// Scenario is a scenario with its variants worked out.
type Scenario struct {
	Head
	// File is where it was read from, Text what stood there.
	File, Text string
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
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("failed to read the scenario %q: %w", file, err)
	}
	return Parse(file, text)
}

// Parse reads a scenario from its text; file is for messages.
func Parse(file string, text []byte) (*Scenario, error) {
	d := &decoder{file: file, at: make(map[string]position)}
	root, err := d.document(text)
	if err != nil {
		return nil, err
	}
	s := &Scenario{File: file, Text: string(text)}
	d.scenario(root, s)
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	return s, nil
}

// document parses the YAML.
func (d *decoder) document(text []byte) (*yaml.Node, error) {
	if len(text) > MaxSize {
		return nil, Problems{{File: d.file, Line: 1, Column: 1, Message: fmt.Sprintf("larger than %d bytes", MaxSize)}}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, Problems{syntaxProblem(d.file, err)}
	}
	if len(doc.Content) == 0 {
		return nil, Problems{{File: d.file, Line: 1, Column: 1, Message: "the file is empty", Hint: "sim new writes a scenario to start from"}}
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
	head, common := fieldsOf(reflect.ValueOf(&s.Head).Elem()), fieldsOf(reflect.ValueOf(&setup).Elem())
	known := slices.Concat(keysOf(head), keysOf(common), []string{"variants", "expect"})
	base := &yaml.Node{Kind: yaml.MappingNode, Line: root.Line, Column: root.Column}
	var variants, expect *yaml.Node
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
		default:
			if _, ok := common[key]; !ok {
				return false
			}
			base.Content = append(base.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, Line: value.Line, Column: value.Column}, value)
		}
		return true
	})
	if !seen["name"] {
		d.problem(root, "", "%q is missing", "name")
	}
	d.variants(base, variants, s)
	d.expectations(expect, variants != nil, s)
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
			d.setup(merge(base, overlay), &v.Setup)
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
	before := len(d.problems)
	v := reflect.ValueOf(s).Elem()
	setDefaults(v)
	d.value(n, v, "", "")
	s.derive()
	if len(d.problems) == before {
		d.check(s)
	}
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
// else is replaced.
func merge(base, overlay *yaml.Node) *yaml.Node {
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
	for i := 0; i+1 < len(overlay.Content); i += 2 {
		key, value := overlay.Content[i], overlay.Content[i+1]
		at := slices.IndexFunc(keys(&out), func(k *yaml.Node) bool { return k.Value == key.Value })
		if at < 0 {
			out.Content = append(out.Content, key, value)
			continue
		}
		out.Content[2*at+1] = merge(out.Content[2*at+1], value)
	}
	return &out
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

// expectations decodes what is expected of each variant.
func (d *decoder) expectations(n *yaml.Node, perVariant bool, s *Scenario) {
	if n == nil {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.problem(n, "expect", "want a mapping, got %s", describe(n))
		return
	}
	if !perVariant {
		s.Variants[0].Expect = d.expected(n, "expect")
		return
	}
	names := namesOf(s.Variants, func(v Variant) string { return v.Name })
	d.mapping(n, "expect", names, func(name string, value *yaml.Node, path string) bool {
		at := slices.Index(names, name)
		if at >= 0 {
			s.Variants[at].Expect = d.expected(d.resolve(value), path)
		}
		return at >= 0
	})
}

// expected decodes one block of verdicts.
func (d *decoder) expected(n *yaml.Node, path string) []ExpectedVerdict {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "want a mapping from properties to verdicts, got %s", describe(n))
		return nil
	}
	var list []ExpectedVerdict
	d.mapping(n, path, propertyNames(), func(name string, value *yaml.Node, path string) bool {
		if !slices.Contains(propertyNames(), name) {
			return false
		}
		value = d.resolve(value)
		var verdict checker.Verdict
		if err := verdict.UnmarshalText([]byte(value.Value)); err != nil && value.Value != anything {
			d.problem(value, path, "%q is no verdict", clip(value.Value)).suggest(value.Value, expectations())
			return true
		}
		list = append(list, ExpectedVerdict{checker.Property(name), verdict})
		return true
	})
	return list
}
