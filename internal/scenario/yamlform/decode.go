package yamlform

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Decoder walks YAML nodes beside Go types. It collects all problems instead of
// stopping at the first, and remembers where each value stood, for the checks
// that come later, and which values they cannot rest on.
type Decoder struct {
	// File is for messages.
	File     string
	problems Problems
	// spoiled are the paths of the values that could not be read.
	spoiled []string
	// at are the positions of decoded values, by their path such as
	// faults[0].pause.client.
	at map[string]position
	// Unit is a unit of durations beside those of Go. UsedUnit: something was said in it.
	Unit     Unit
	UsedUnit bool
	// visited counts nodes, so that aliases cannot blow a small file up.
	visited int
}

// Unit is a unit of durations. What is at the path Not, or below it, cannot be said in it.
type Unit struct {
	Name   string
	Length time.Duration
	Not    string
}

type position struct{ line, column int }

// maxNodes bounds a document, aliases unfolded.
const maxNodes = 20_000

// Custom is implemented by types that read themselves.
type Custom interface {
	DecodeYAML(d *Decoder, n *yaml.Node, path string)
}

// Problems are those that were found.
func (d *Decoder) Problems() Problems { return d.problems }

// TooLarge reports that not all of the document was read.
func (d *Decoder) TooLarge() bool { return d.visited > maxNodes }

// Mark remembers where the value at path stands.
func (d *Decoder) Mark(path string, n *yaml.Node) {
	if d.at == nil {
		d.at = make(map[string]position)
	}
	d.at[path] = position{n.Line, n.Column}
}

// Spoil says that what rests on the value at path cannot be checked.
func (d *Decoder) Spoil(path string) { d.spoiled = append(d.spoiled, path) }

// Apart decodes something by itself: what it spoils does not count afterwards.
func (d *Decoder) Apart(decode func()) {
	before := len(d.spoiled)
	decode()
	d.spoiled = d.spoiled[:before]
}

// Problem reports that the value at path cannot be read.
func (d *Decoder) Problem(n *yaml.Node, path, format string, args ...any) *Problem {
	d.spoiled = append(d.spoiled, path)
	return d.complainAt(position{n.Line, n.Column}, path, format, args...)
}

// Complain reports that the value at path does not fit, at the place where path stood.
func (d *Decoder) Complain(path, format string, args ...any) *Problem {
	return d.complainAt(d.at[path], path, format, args...)
}

func (d *Decoder) complainAt(at position, path, format string, args ...any) *Problem {
	p := &Problem{File: d.File, Line: at.line, Column: at.column, Path: path, Message: fmt.Sprintf(format, args...)}
	d.problems = append(d.problems, p)
	return p
}

// Sound reports that the values at the paths, and below them, could be read. What rests on
// others is not checked: a complaint would only follow from the one that is there already.
func (d *Decoder) Sound(paths ...string) bool {
	return !slices.ContainsFunc(d.spoiled, func(bad string) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return within(bad, path) || within(path, bad) })
	})
}

// Lost reports that the value at path, or one above it, could not be read.
func (d *Decoder) Lost(path string) bool {
	return slices.ContainsFunc(d.spoiled, func(bad string) bool { return within(path, bad) })
}

// within reports that a path is another one, or below it.
func within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || above == "" || rest[0] == '.' || rest[0] == '[')
}

// ProblemAt reports that the value at path, which could be read, does not fit, at the
// place where path stood, or at the nearest place above it.
func (d *Decoder) ProblemAt(path, format string, args ...any) *Problem {
	if !d.Sound(path) {
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
	return d.complainAt(at, path, format, args...)
}

// Resolve follows aliases and counts.
func (d *Decoder) Resolve(n *yaml.Node) *yaml.Node {
	d.visited++
	for depth := 0; n.Kind == yaml.AliasNode && depth < 10; depth++ {
		n = n.Alias
	}
	return n
}

// Value decodes n into v, which must be settable.
func (d *Decoder) Value(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	n = d.Resolve(n)
	if d.visited > maxNodes {
		if d.visited == maxNodes+1 {
			d.Problem(n, path, "the scenario is too large: more than %d values", maxNodes)
		}
		return
	}
	d.Mark(path, n)
	if c, ok := v.Addr().Interface().(Custom); ok {
		c.DecodeYAML(d, n, path)
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
		d.Structure(n, v, path)
	case reflect.Slice:
		d.sequence(n, v, tag, path)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		SetDefaults(p.Elem())
		d.Value(n, p.Elem(), tag, path)
		v.Set(p)
	default:
		d.scalar(n, v, tag, path)
	}
}

// Structure decodes a mapping into a struct.
func (d *Decoder) Structure(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.Problem(n, path, "want a mapping, got %s", Describe(n))
		return
	}
	fields := FieldsOf(v)
	seen := d.Mapping(n, path, KeysOf(fields), func(key string, value *yaml.Node, path string) bool {
		f, ok := fields[key]
		if ok {
			d.Value(value, f.Value, f.Tag, path)
		}
		return ok
	})
	for _, key := range KeysOf(fields) {
		other := rivalOf(fields, key)
		at, there := d.at[Join(path, key)]
		if tag := fields[key].Tag; tag.Get("required") == "true" && !seen[key] && !seen[other] {
			d.Missing(n, path, key)
		} else if tag.Get("instead") != "" && there && seen[key] && seen[other] {
			d.complainAt(at, Join(path, key), "stands in the place of %s: give one of the two", other)
		}
	}
}

// Missing reports that a key is not there, unless an unknown key may stand for it.
func (d *Decoder) Missing(n *yaml.Node, path, key string) {
	if !d.Lost(Join(path, key)) {
		d.spoiled = append(d.spoiled, Join(path, key))
		d.complainAt(position{n.Line, n.Column}, path, "%q is missing", key)
	}
}

// Mapping calls each for every pair and complains about keys that it does not
// know and keys given twice. It returns the keys that are there; an unknown key stands for
// the known one that was probably meant. Where none is near, it may stand for any that
// is not there.
func (d *Decoder) Mapping(
	n *yaml.Node, path string, known []string, each func(key string, value *yaml.Node, path string) bool,
) map[string]bool {
	seen := make(map[string]bool)
	var meant []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := d.Resolve(n.Content[i])
		inner := Join(path, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			d.Problem(key, path, "a key must be a word, got %s", Describe(key))
		case seen[key.Value]:
			d.Problem(key, inner, "%q is given twice", key.Value)
		default:
			seen[key.Value] = true
			d.Mark(inner, key)
			if !each(key.Value, n.Content[i+1], inner) {
				d.Problem(key, inner, "unknown key %q", Clip(key.Value)).Suggest(key.Value, known)
				meant = append(meant, Nearest(key.Value, known))
			}
		}
	}
	for _, key := range known {
		guessed := slices.Contains(meant, key)
		if guessed || !seen[key] && slices.Contains(meant, "") {
			d.spoiled = append(d.spoiled, Join(path, key))
		}
		seen[key] = seen[key] || guessed
	}
	return seen
}

// unmarshal decodes a word by the type's own rules.
func (d *Decoder) unmarshal(n *yaml.Node, t encoding.TextUnmarshaler, tag reflect.StructTag, path string) {
	if n.Kind != yaml.ScalarNode {
		d.Problem(n, path, "want a word, got %s", Describe(n))
		return
	}
	if allowed := allowedWords(tag); allowed != nil && !slices.Contains(allowed, n.Value) {
		d.Problem(n, path, "%s", textBreach(n.Value, tag)).Suggest(n.Value, allowed)
		return
	}
	if err := t.UnmarshalText([]byte(n.Value)); err != nil {
		d.Problem(n, path, "%s", clipTo(err.Error(), 200))
	}
}

// dictionary decodes a mapping with free keys.
func (d *Decoder) dictionary(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if n.Kind != yaml.MappingNode {
		d.Problem(n, path, "want a mapping, got %s", Describe(n))
		return
	}
	d.entries(n, len(n.Content)/2, tag, path)
	v.Set(reflect.MakeMap(v.Type()))
	d.Mapping(n, path, nil, func(key string, value *yaml.Node, path string) bool {
		if message := nameBreach(key, tag); message != "" {
			d.Problem(value, path, "%s", message)
			return true
		}
		element := reflect.New(v.Type().Elem()).Elem()
		SetDefaults(element)
		if d.Resolve(value).ShortTag() != "!!null" {
			d.Value(value, element, tag, path)
		}
		v.SetMapIndex(reflect.ValueOf(key), element)
		return true
	})
}

func (d *Decoder) sequence(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if n.Kind != yaml.SequenceNode {
		d.Problem(n, path, "want a list, got %s", Describe(n))
		return
	}
	d.entries(n, len(n.Content), tag, path)
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		SetDefaults(v.Index(i))
		d.Value(item, v.Index(i), bounds(tag), fmt.Sprintf("%s[%d]", path, i))
	}
}

// entries bounds how many entries a list or a dictionary has.
func (d *Decoder) entries(n *yaml.Node, count int, tag reflect.StructTag, path string) {
	if message := countBreach(count, tag); message != "" {
		d.Problem(n, path, "%s", message)
	}
}

var durationType = reflect.TypeFor[time.Duration]()

func (d *Decoder) scalar(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if v.Kind() == reflect.Bool && allowedWords(tag) != nil {
		var rule string
		d.scalar(n, reflect.ValueOf(&rule).Elem(), tag, path)
		v.SetBool(rule == tag.Get("mistake"))
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.Problem(n, path, "want %s, got %s", wanted(v.Type()), Describe(n))
		return
	}
	switch {
	case v.Type() == durationType:
		d.duration(n, v, tag, path)
	case v.Kind() == reflect.String:
		d.text(n, v, tag, path)
	case v.Kind() == reflect.Bool:
		if n.ShortTag() != "!!bool" {
			d.Problem(n, path, "want true or false, got %q", Clip(n.Value))
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true") != (tag.Get("mistake") == "false"))
	case v.CanInt():
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || v.OverflowInt(i) {
			d.Problem(n, path, "want a whole number, got %q", Clip(n.Value))
			return
		}
		v.SetInt(i)
		d.bounds(n, v, tag, path)
	case v.CanFloat():
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || f != f {
			d.Problem(n, path, "want a number, got %q", Clip(n.Value))
			return
		}
		v.SetFloat(f)
		d.bounds(n, v, tag, path)
	default:
		panic("yamlform: the decoder has no rule for " + v.Type().String())
	}
}

func (d *Decoder) duration(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if zero := tag.Get("zero"); zero != "" && n.Value == zero {
		v.SetInt(0)
		return
	}
	if d.Unit.Length == 0 && d.inUnit(n.Value, path) {
		d.Problem(n, path, "there is no %s to count in", d.Unit.Name)
		return
	}
	t, err := d.parseDuration(n.Value, path)
	if err != nil && isNumber(n.Value) {
		d.Problem(n, path, "want a duration with its unit, got %q", Clip(n.Value)).Hint =
			fmt.Sprintf("write %ss, %sms or %sus", n.Value, n.Value, n.Value)
		return
	}
	if err != nil {
		d.Problem(n, path, "want a duration such as 50ms, 1.5s or 2m, got %q", Clip(n.Value))
		return
	}
	v.SetInt(int64(t))
	d.bounds(n, v, tag, path)
}

// mostUnits bounds a duration in the decoder's own unit.
const mostUnits = 1000

// inUnit reports that a text is a number in the decoder's own unit, where that may stand.
func (d *Decoder) inUnit(text, path string) bool {
	number, own := strings.CutSuffix(text, d.Unit.Name)
	return own && d.Unit.Name != "" && isNumber(number) && !within(path, d.Unit.Not)
}

// parseDuration reads a duration in the units of Go, or a number in the decoder's own.
func (d *Decoder) parseDuration(text, path string) (time.Duration, error) {
	if d.inUnit(text, path) {
		if times, err := strconv.ParseFloat(strings.TrimSuffix(text, d.Unit.Name), 64); err == nil && math.Abs(times) <= mostUnits {
			d.UsedUnit = true
			return time.Duration(times * float64(d.Unit.Length)).Round(time.Millisecond), nil
		}
	}
	return time.ParseDuration(text)
}

func (d *Decoder) text(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	v.SetString(n.Value)
	if message := breach(v, tag, n.Value); message != "" {
		v.SetString("")
		p := d.Problem(n, path, "%s", message)
		if allowed := allowedWords(tag); allowed != nil {
			p.Suggest(n.Value, allowed)
		}
	}
}

func (d *Decoder) bounds(n *yaml.Node, v reflect.Value, tag reflect.StructTag, path string) {
	if message := breach(v, tag, n.Value); message != "" {
		v.SetZero()
		d.Problem(n, path, "%s", message)
	}
}
