package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
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
	root, err := d.Document(text)
	if err != nil || root == nil {
		return nil, nil, err
	}
	overlays := yamlform.ValueOf(root, "variants")
	if overlays != nil {
		overlays = d.Resolve(overlays)
	}
	if overlays != nil && overlays.Kind == yaml.MappingNode {
		variants = namesOf(yamlform.Keys(overlays), func(k *yaml.Node) string { return k.Value })
		if overlay := yamlform.ValueOf(overlays, variant); overlay != nil && d.Resolve(overlay).Kind == yaml.MappingNode {
			root = yamlform.Merge(root, overlay, reflect.TypeFor[Setup]())
		}
	}
	var merged map[string]any
	if err := root.Decode(&merged); err != nil {
		return nil, variants, yamlform.Problems{yamlform.SyntaxProblem("", err)}
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
	root, err := d.Document(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, errors.New("the scenario is empty")
	}
	var value yaml.Node
	if err := yaml.Unmarshal(c.Value, &value); err != nil || len(value.Content) != 1 {
		return nil, fmt.Errorf("%s is no value", c.Value)
	}
	wanted := yamlform.Plain(value.Content[0])
	base := root
	if overlay := yamlform.ValueOf(yamlform.ValueOf(root, "variants"), variant); overlay != nil && yamlform.Sets(overlay, c.Path) {
		base = overlay
	}
	return yamlform.SetAt(text, root, base, c.Path, wanted)
}
