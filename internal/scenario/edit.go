package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Change is a change of a scenario's text.
type Change struct {
	// Path are keys and, as numbers, places in lists from 0: ["faults", 0, "pause", "for"]. The place behind the
	// last entry of a list adds one.
	Path []any `json:"path"`
	// Value is what is to stand there, as JSON; null takes it away.
	Value json.RawMessage `json:"value"`
}

// Tree is what a variant of a scenario says, merged but not checked, as encoding/json would read it; and the names of
// all variants, none where there are no variants.
func Tree(text []byte, variant string) (tree any, variants []string, err error) {
	d := &decoder{}
	root, err := d.document(text)
	if err != nil || root == nil {
		return nil, nil, err
	}
	overlays := valueOf(root, "variants")
	if overlays != nil {
		overlays = d.resolve(overlays)
	}
	if overlays != nil && overlays.Kind == yaml.MappingNode {
		variants = namesOf(keys(overlays), func(k *yaml.Node) string { return k.Value })
		if overlay := valueOf(overlays, variant); overlay != nil && d.resolve(overlay).Kind == yaml.MappingNode {
			root = merge(root, overlay, reflect.TypeFor[Setup]())
		}
	}
	var merged map[string]any
	if err := root.Decode(&merged); err != nil {
		return nil, variants, Problems{syntaxProblem("", err)}
	}
	return merged, variants, nil
}

// Edit carries changes out in the text of a scenario. A value that the variant sets is changed there, any other in the
// common part. What is not changed stays as it is, comments included. A new or a removed entry has the text laid
// out anew, without its empty lines.
func Edit(text []byte, variant string, changes []Change) ([]byte, error) {
	for _, c := range changes {
		out, err := edit(text, variant, c)
		if err != nil {
			return nil, err
		}
		text = out
	}
	return text, nil
}

func edit(text []byte, variant string, c Change) ([]byte, error) {
	if len(c.Path) == 0 {
		return nil, errors.New("a change needs a path")
	}
	d := &decoder{}
	root, err := d.document(text)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return nil, errors.New("the scenario is empty")
	}
	var value yaml.Node
	if err := yaml.Unmarshal(c.Value, &value); err != nil || len(value.Content) != 1 {
		return nil, fmt.Errorf("%s is no value", c.Value)
	}
	wanted := plain(value.Content[0])
	base := root
	if overlay := valueOf(valueOf(root, "variants"), variant); overlay != nil && sets(overlay, c.Path) {
		base = overlay
	}
	if old := at(base, c.Path); old != nil && wanted.ShortTag() != "!!null" {
		if out := replaced(text, old, wanted); out != nil {
			return out, nil
		}
	}
	if err := put(base, c.Path, wanted); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := yaml.NewDumper(&out, yaml.WithV4Defaults(), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
	if err == nil {
		err = errors.Join(w.Dump(root), w.Close())
	}
	return out.Bytes(), err
}

// sets reports that an overlay sets what is at a path, or the list that it is in.
func sets(overlay *yaml.Node, path []any) bool {
	for n, step := range path {
		key, ok := step.(string)
		if !ok {
			return true // a list is replaced as a whole
		}
		if overlay = valueOf(overlay, key); overlay == nil {
			return false
		}
		if overlay.Kind == yaml.SequenceNode && n+1 < len(path) {
			return true
		}
	}
	return true
}

// valueOf is what a mapping has under a key; nil: nothing.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
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
			n = valueOf(n, step)
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

// plain is a value of JSON as a person would write it: in a line, with quotes only where they are needed.
func plain(n *yaml.Node) *yaml.Node {
	n.Line, n.Column = 0, 0
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!str" && word(n.Value) == n.Value || n.ShortTag() == "!!str" && durationLike(n.Value) {
			n.Style = 0
		}
		return n
	}
	n.Style = yaml.FlowStyle
	for _, inner := range n.Content {
		plain(inner)
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
	gone := value.ShortTag() == "!!null"
	switch step := path[0].(type) {
	case string:
		if n.ShortTag() == "!!null" {
			n.Kind, n.Tag, n.Value, n.Style = yaml.MappingNode, "!!map", "", yaml.FlowStyle
		}
		if n.Kind != yaml.MappingNode {
			return fmt.Errorf("there is %s in the place of a mapping with %q", describe(n), step)
		}
		i := indexOf(n, step)
		switch {
		case i >= 0 && len(path) > 1:
			return put(n.Content[2*i+1], path[1:], value)
		case i >= 0 && gone:
			n.Content = slices.Delete(n.Content, 2*i, 2*i+2)
		case i >= 0:
			old := n.Content[2*i+1]
			value.LineComment, value.HeadComment, value.FootComment = old.LineComment, old.HeadComment, old.FootComment
			n.Content[2*i+1] = value
		case gone:
		default:
			if len(path) > 1 {
				value = around(path[1:], value)
			}
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: step}, value)
		}
	case float64:
		i := int(step)
		switch {
		case n.Kind != yaml.SequenceNode || i < 0 || i > len(n.Content):
			return fmt.Errorf("there is no entry %d", i+1)
		case i < len(n.Content) && len(path) > 1:
			return put(n.Content[i], path[1:], value)
		case i < len(n.Content) && gone:
			n.Content = slices.Delete(n.Content, i, i+1)
		case i < len(n.Content):
			n.Content[i] = value
		case !gone:
			n.Content = append(n.Content, around(path[1:], value))
		}
	default:
		return fmt.Errorf("%v is no key and no place", step)
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
