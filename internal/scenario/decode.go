package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// decoder walks YAML nodes beside Go types. It collects all problems instead of
// stopping at the first, and remembers where each value stood, for the checks
// that come later, and which values they cannot rest on.
type decoder struct {
	file     string
	problems Problems
	// spoiled are the paths of the values that could not be read.
	spoiled []string
	// at are the positions of decoded values, by their path such as
	// faults[0].pause.client.
	at map[string]position
	// visited counts nodes, so that aliases cannot blow a small file up.
	visited int
}

type position struct{ line, column int }

// maxNodes bounds a scenario, aliases unfolded.
const maxNodes = 20_000

// customDecoder is implemented by types that read themselves.
type customDecoder interface {
	decodeYAML(d *decoder, n *yaml.Node, path string)
}

// problem reports that the value at path cannot be read.
func (d *decoder) problem(n *yaml.Node, path, format string, args ...any) *Problem {
	d.spoiled = append(d.spoiled, path)
	return d.complain(position{n.Line, n.Column}, path, format, args...)
}

func (d *decoder) complain(at position, path, format string, args ...any) *Problem {
	p := &Problem{File: d.file, Line: at.line, Column: at.column, Path: path, Message: fmt.Sprintf(format, args...)}
	d.problems = append(d.problems, p)
	return p
}

// sound reports that the values at the paths, and below them, could be read. What rests on
// others is not checked: a complaint would only follow from the one that is there already.
func (d *decoder) sound(paths ...string) bool {
	return !slices.ContainsFunc(d.spoiled, func(bad string) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return within(bad, path) || within(path, bad) })
	})
}

// lost reports that the value at path, or one above it, could not be read.
func (d *decoder) lost(path string) bool {
	return slices.ContainsFunc(d.spoiled, func(bad string) bool { return within(path, bad) })
}

// within reports that a path is another one, or below it.
func within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || above == "" || rest[0] == '.' || rest[0] == '[')
}

// problemAt reports that the value at path, which could be read, does not fit, at the
// place where path stood, or at the nearest place above it.
func (d *decoder) problemAt(path, format string, args ...any) *Problem {
	if !d.sound(path) {
		return &Problem{}
	}
	at, ok := d.at[path]
	for p := path; !ok && p != ""; {
		if i := strings.LastIndexAny(p, ".["); i >= 0 {
			p = p[:i]
		} else {
			p = ""
		}
		at, ok = d.at[p]
	}
	return d.complain(at, path, format, args...)
}

// resolve follows aliases and counts.
func (d *decoder) resolve(n *yaml.Node) *yaml.Node {
	d.visited++
	for depth := 0; n.Kind == yaml.AliasNode && depth < 10; depth++ {
		n = n.Alias
	}
	return n
}

// value decodes n into v, which must be settable.
func (d *decoder) value(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	n = d.resolve(n)
	if d.visited > maxNodes {
		if d.visited == maxNodes+1 {
			d.problem(n, path, "the scenario is too large: more than %d values", maxNodes)
		}
		return
	}
	d.at[path] = position{n.Line, n.Column}
	if c, ok := v.Addr().Interface().(customDecoder); ok {
		c.decodeYAML(d, n, path)
		return
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.unmarshal(n, t, tag, path)
		return
	}
	switch v.Kind() {
	case reflect.Map:
		d.dictionary(n, v, tag, path)
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Slice:
		d.sequence(n, v, tag, path)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		setDefaults(p.Elem())
		d.value(n, p.Elem(), tag, path)
		v.Set(p)
	default:
		d.scalar(n, v, tag, path)
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "want a mapping, got %s", describe(n))
		return
	}
	fields := fieldsOf(v)
	seen := d.mapping(n, path, keysOf(fields), func(key string, value *yaml.Node, path string) bool {
		f, ok := fields[key]
		if ok {
			d.value(value, f.value, f.tag, path)
		}
		return ok
	})
	for _, key := range keysOf(fields) {
		other := rivalOf(fields, key)
		at, there := d.at[join(path, key)]
		switch tag := fields[key].tag; {
		case tag.Get("required") == "true" && !seen[key] && !seen[other]:
			d.missing(n, path, key)
		case tag.Get("instead") != "" && there && seen[key] && seen[other]:
			d.complain(at, join(path, key), "stands in the place of %s: give one of the two", other)
		}
	}
}

// missing reports that a key is not there, unless an unknown key may stand for it.
func (d *decoder) missing(n *yaml.Node, path, key string) {
	if !d.lost(join(path, key)) {
		d.spoiled = append(d.spoiled, join(path, key))
		d.complain(position{n.Line, n.Column}, path, "%q is missing", key)
	}
}

// mapping calls each for every pair and complains about keys that it does not
// know and keys given twice. It returns the keys that are there; an unknown key stands for
// the known one that was probably meant. Where none is near, it may stand for any that
// is not there.
func (d *decoder) mapping(
	n *yaml.Node, path string, known []string, each func(key string, value *yaml.Node, path string) bool,
) map[string]bool {
	seen := make(map[string]bool)
	var meant []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := d.resolve(n.Content[i])
		inner := join(path, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			d.problem(key, path, "a key must be a word, got %s", describe(key))
		case seen[key.Value]:
			d.problem(key, inner, "%q is given twice", key.Value)
		default:
			seen[key.Value] = true
			d.at[inner] = position{key.Line, key.Column}
			if !each(key.Value, n.Content[i+1], inner) {
				d.problem(key, inner, "unknown key %q", clip(key.Value)).suggest(key.Value, known)
				meant = append(meant, nearest(key.Value, known))
			}
		}
	}
	for _, key := range known {
		guessed := slices.Contains(meant, key)
		if guessed || !seen[key] && slices.Contains(meant, "") {
			d.spoiled = append(d.spoiled, join(path, key))
		}
		seen[key] = seen[key] || guessed
	}
	return seen
}

// unmarshal decodes a word by the type's own rules.
func (d *decoder) unmarshal(n *yaml.Node, t encoding.TextUnmarshaler, tag reflect.StructTag, path string) {
	if n.Kind != yaml.ScalarNode {
		d.problem(n, path, "want a word, got %s", describe(n))
		return
	}
	if allowed := allowedWords(tag); allowed != nil && !slices.Contains(allowed, n.Value) {
		d.problem(n, path, "%s", textBreach(n.Value, tag)).suggest(n.Value, allowed)
		return
	}
	if err := t.UnmarshalText([]byte(n.Value)); err != nil {
		d.problem(n, path, "%s", clipTo(err.Error(), 200))
	}
}

// dictionary decodes a mapping with free keys.
func (d *decoder) dictionary(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "want a mapping, got %s", describe(n))
		return
	}
	d.entries(n, len(n.Content)/2, tag, path)
	v.Set(reflect.MakeMap(v.Type()))
	d.mapping(n, path, nil, func(key string, value *yaml.Node, path string) bool {
		if message := nameBreach(key, tag); message != "" {
			d.problem(value, path, "%s", message)
			return true
		}
		element := reflect.New(v.Type().Elem()).Elem()
		setDefaults(element)
		if d.resolve(value).ShortTag() != "!!null" {
			d.value(value, element, tag, path)
		}
		v.SetMapIndex(reflect.ValueOf(key), element)
		return true
	})
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n, path, "want a list, got %s", describe(n))
		return
	}
	d.entries(n, len(n.Content), tag, path)
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		setDefaults(v.Index(i))
		d.value(item, v.Index(i), bounds(tag), fmt.Sprintf("%s[%d]", path, i))
	}
}

// entries bounds how many entries a list or a dictionary has.
func (d *decoder) entries(n *yaml.Node, count int, tag reflect.StructTag, path string) {
	if message := countBreach(count, tag); message != "" {
		d.problem(n, path, "%s", message)
	}
}

var durationType = reflect.TypeFor[time.Duration]()

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if v.Kind() == reflect.Bool && allowedWords(tag) != nil {
		var rule string
		d.scalar(n, reflect.ValueOf(&rule).Elem(), tag, path)
		v.SetBool(rule == tag.Get("mistake"))
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.problem(n, path, "want %s, got %s", wanted(v.Type()), describe(n))
		return
	}
	switch {
	case v.Type() == durationType:
		d.duration(n, v, tag, path)
	case v.Kind() == reflect.String:
		d.text(n, v, tag, path)
	case v.Kind() == reflect.Bool:
		if n.ShortTag() != "!!bool" {
			d.problem(n, path, "want true or false, got %q", clip(n.Value))
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true") != (tag.Get("mistake") == "false"))
	case v.CanInt():
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || v.OverflowInt(i) {
			d.problem(n, path, "want a whole number, got %q", clip(n.Value))
			return
		}
		v.SetInt(i)
		d.bounds(n, v, tag, path)
	case v.CanFloat():
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || f != f {
			d.problem(n, path, "want a number, got %q", clip(n.Value))
			return
		}
		v.SetFloat(f)
		d.bounds(n, v, tag, path)
	default:
		panic("scenario: the decoder has no rule for " + v.Type().String())
	}
}

func (d *decoder) duration(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	t, err := time.ParseDuration(n.Value)
	switch {
	case err != nil && isNumber(n.Value):
		d.problem(n, path, "want a duration with its unit, got %q", clip(n.Value)).Hint =
			fmt.Sprintf("write %ss, %sms or %sus", n.Value, n.Value, n.Value)
		return
	case err != nil:
		d.problem(n, path, "want a duration such as 50ms, 1.5s or 2m, got %q", clip(n.Value))
		return
	}
	v.SetInt(int64(t))
	d.bounds(n, v, tag, path)
}

func (d *decoder) text(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	v.SetString(n.Value)
	if message := breach(v, tag, n.Value); message != "" {
		v.SetString("")
		p := d.problem(n, path, "%s", message)
		if allowed := allowedWords(tag); allowed != nil {
			p.suggest(n.Value, allowed)
		}
	}
}

func (d *decoder) bounds(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if message := breach(v, tag, n.Value); message != "" {
		v.SetZero()
		d.problem(n, path, "%s", message)
	}
}
