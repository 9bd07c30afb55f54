package yamlform

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Merge lays an overlay over a base: mappings are merged key by key, anything
// else is replaced. A key of the overlay drops the base's key that it excludes, where t,
// the type of both, says so; nil: it says nothing.
func Merge(base, overlay *yaml.Node, t reflect.Type) *yaml.Node {
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
	var fields map[string]Field
	if t != nil && t.Kind() == reflect.Struct {
		fields = FieldsOf(reflect.New(t).Elem())
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
			inner = f.Value.Type()
		}
		out.Content[2*at+1] = Merge(out.Content[2*at+1], value, inner)
	}
	return &out
}

// indexOf is where a mapping has a key; -1: nowhere.
func indexOf(mapping *yaml.Node, key string) int {
	return slices.IndexFunc(Keys(mapping), func(k *yaml.Node) bool { return k.Value == key })
}

// Keys are those of a mapping.
func Keys(mapping *yaml.Node) []*yaml.Node {
	var list []*yaml.Node
	for i := 0; i < len(mapping.Content); i += 2 {
		list = append(list, mapping.Content[i])
	}
	return list
}

// Settings says in a line each what an overlay sets.
func Settings(n *yaml.Node, path string) []string {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.MappingNode && len(settingsDepth(path)) < 6 {
		var list []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			list = append(list, Settings(n.Content[i+1], Join(path, Clip(n.Content[i].Value)))...)
		}
		return list
	}
	if n.Kind == yaml.ScalarNode {
		return []string{path + ": " + Clip(n.Value)}
	}
	return []string{path + ": ..."}
}

func settingsDepth(path string) []string { return strings.Split(path, ".") }

// SetAt is the text of a document with a value at a path below one of its nodes. Null takes away what is there. What is
// not changed stays as it is; where an entry comes or goes, the text is laid out anew.
func SetAt(text []byte, root, below *yaml.Node, path []any, value *yaml.Node) ([]byte, error) {
	if old := at(below, path); old != nil && value.ShortTag() != "!!null" {
		if out := replaced(text, old, value); out != nil {
			return out, nil
		}
	}
	if err := put(below, path, value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := yaml.NewDumper(&out, yaml.WithV4Defaults(), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
	if err == nil {
		err = errors.Join(w.Dump(root), w.Close())
	}
	return out.Bytes(), err
}

// Sets reports that an overlay sets what is at a path, or the list that it is in.
func Sets(overlay *yaml.Node, path []any) bool {
	for n, step := range path {
		key, ok := step.(string)
		if !ok {
			return true // a list is replaced as a whole
		}
		if overlay = ValueOf(overlay, key); overlay == nil {
			return false
		}
		if overlay.Kind == yaml.SequenceNode && n+1 < len(path) {
			return true
		}
	}
	return true
}

// ValueOf is what a mapping has under a key; nil: nothing.
func ValueOf(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil {
		return nil
	}
	if mapping.Kind == yaml.AliasNode {
		mapping = mapping.Alias
	}
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	if i := indexOf(mapping, key); i >= 0 {
		return mapping.Content[2*i+1]
	}
	return nil
}

// at is what stands at a path; nil: nothing, or what stands elsewhere as well.
func at(n *yaml.Node, path []any) *yaml.Node {
	for _, step := range path {
		if n != nil && n.Kind == yaml.AliasNode {
			return nil
		}
		switch step := step.(type) {
		case string:
			n = ValueOf(n, step)
		case float64:
			if n == nil || n.Kind != yaml.SequenceNode || step < 0 || int(step) >= len(n.Content) {
				return nil
			}
			n = n.Content[int(step)]
		default:
			return nil
		}
	}
	return n
}

// replaced is the text with another scalar in the place of one; nil: the old one does not stand there as a word in
// one line.
func replaced(text []byte, old, wanted *yaml.Node) []byte {
	if old.Kind != yaml.ScalarNode || wanted.Kind != yaml.ScalarNode || old.Anchor != "" || old.Line < 1 || old.Column < 1 {
		return nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	if old.Line > len(lines) {
		return nil
	}
	line := []rune(lines[old.Line-1])
	if old.Column-1 > len(line) {
		return nil
	}
	before, rest := string(line[:old.Column-1]), string(line[old.Column-1:])
	written := old.Value
	switch old.Style {
	case yaml.DoubleQuotedStyle:
		written = `"` + old.Value + `"`
	case yaml.SingleQuotedStyle:
		written = "'" + old.Value + "'"
	}
	rest, ok := strings.CutPrefix(rest, written)
	if !ok || old.Value == "" || strings.ContainsAny(old.Value, "\n\\'\"") {
		return nil
	}
	if next, _, _ := strings.Cut(rest, "\n"); next != "" && !strings.ContainsAny(next[:1], " ,}]\r") {
		return nil // the word goes on
	}
	scalar, err := yaml.Marshal(wanted)
	if err != nil {
		return nil
	}
	lines[old.Line-1] = before + strings.TrimSuffix(string(scalar), "\n") + rest
	return []byte(strings.Join(lines, ""))
}

// Plain is a value of JSON as a person would write it: in a line, with quotes only where they are needed.
func Plain(n *yaml.Node) *yaml.Node {
	n.Line, n.Column = 0, 0
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!str" && word(n.Value) == n.Value || n.ShortTag() == "!!str" && durationLike(n.Value) {
			n.Style = 0
		}
		return n
	}
	n.Style = yaml.FlowStyle
	for _, inner := range n.Content {
		Plain(inner)
	}
	return n
}

// durationLike is a text such as 1.5s, which needs no quotes.
func durationLike(s string) bool {
	return s != "" && !isNumber(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyz.()=µ", r)
	})
}

// put sets what is at a path below a node, or takes it away. Mappings on the way are made.
func put(n *yaml.Node, path []any, value *yaml.Node) error {
	for n.Kind == yaml.AliasNode { // what others refer to as well must not change with it
		own := *n.Alias
		own.Anchor = ""
		*n = own
		n.Content = slices.Clone(n.Content)
	}
	switch step := path[0].(type) {
	case string:
		return putUnder(n, step, path[1:], value)
	case float64:
		return putInList(n, int(step), path[1:], value)
	default:
		return fmt.Errorf("%v is no key and no place", step)
	}
}

// putUnder sets what is at a path below a key of a mapping.
func putUnder(n *yaml.Node, key string, rest []any, value *yaml.Node) error {
	if n.ShortTag() == "!!null" {
		n.Kind, n.Tag, n.Value, n.Style = yaml.MappingNode, "!!map", "", yaml.FlowStyle
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("there is %s in the place of a mapping with %q", Describe(n), key)
	}
	i, gone := indexOf(n, key), value.ShortTag() == "!!null"
	switch {
	case i >= 0 && len(rest) > 0:
		return put(n.Content[2*i+1], rest, value)
	case i >= 0 && gone:
		n.Content = slices.Delete(n.Content, 2*i, 2*i+2)
	case i >= 0:
		old := n.Content[2*i+1]
		value.LineComment, value.HeadComment, value.FootComment = old.LineComment, old.HeadComment, old.FootComment
		n.Content[2*i+1] = value
	case !gone:
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, around(rest, value))
	}
	return nil
}

// putInList sets what is at a path below an entry of a list, or behind its last.
func putInList(n *yaml.Node, i int, rest []any, value *yaml.Node) error {
	gone := value.ShortTag() == "!!null"
	switch {
	case n.Kind != yaml.SequenceNode || i < 0 || i > len(n.Content):
		return fmt.Errorf("there is no entry %d", i+1)
	case i < len(n.Content) && len(rest) > 0:
		return put(n.Content[i], rest, value)
	case i < len(n.Content) && gone:
		n.Content = slices.Delete(n.Content, i, i+1)
	case i < len(n.Content):
		n.Content[i] = value
	case !gone:
		n.Content = append(n.Content, around(rest, value))
	}
	return nil
}

// around is a value inside new mappings and lists.
func around(path []any, value *yaml.Node) *yaml.Node {
	if len(path) == 0 {
		return value
	}
	inner := around(path[1:], value)
	if key, ok := path[0].(string); ok {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle,
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, inner}}
	}
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{inner}}
}
