package yamlform

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// MaxSize is the largest document, in bytes.
const MaxSize = 1 << 20

// Document parses the YAML; nil: there is none.
func (d *Decoder) Document(text []byte) (*yaml.Node, error) {
	if len(text) > MaxSize {
		return nil, Problems{{File: d.File, Line: 1, Column: 1, Message: fmt.Sprintf("larger than %d bytes", MaxSize)}}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, Problems{SyntaxProblem(d.File, err)}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := d.Resolve(doc.Content[0])
	if root.Kind != yaml.MappingNode {
		return nil, Problems{{File: d.File, Line: root.Line, Column: root.Column, Message: "want a mapping, got " + Describe(root)}}
	}
	return root, nil
}

// SyntaxProblem turns the YAML library's error into ours.
func SyntaxProblem(file string, err error) *Problem {
	p := &Problem{File: file, Line: 1, Column: 1, Message: "not YAML: " + err.Error()}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		p.Line, p.Column = max(load.Mark.Line, 1), max(load.Mark.Column, 1)
		p.Message = "not YAML: " + load.Error()
	}
	return p
}
