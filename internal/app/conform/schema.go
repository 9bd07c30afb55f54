package conform

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redlock-sim/redlock-sim/docs"
)

// schema is the schema of a message.
type schema struct {
	*jsonschema.Schema
	// fields are those that it describes.
	fields map[string]any
}

// schemas are those of all messages, by "to." or "from." (the program) and their types.
var schemas = sync.OnceValue(func() map[string]schema {
	const url = "lock-protocol.schema.json"
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(docs.LockProtocolSchema))
	if err != nil {
		panic("conform: the schema is no JSON: " + err.Error())
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(url, doc); err != nil {
		panic("conform: " + err.Error())
	}
	list := make(map[string]schema)
	for name, definition := range doc.(map[string]any)["definitions"].(map[string]any) {
		fields, _ := definition.(map[string]any)["properties"].(map[string]any)
		list[name] = schema{compiler.MustCompile(url + "#/definitions/" + name), fields}
	}
	return list
})

// errNoMessage says that a line is for the log.
var errNoMessage = errors.New("no JSON object with a type")

// CheckLine says what is wrong with a line by the JSON Schema of the protocol. sent: it
// went to the program.
func CheckLine(sent bool, line []byte) error {
	name, fields := messageOf(sent, line)
	if fields == nil {
		return errNoMessage
	}
	s, known := schemas()[name]
	if !known {
		return fmt.Errorf("the type %q is not known", fields["type"])
	}
	err := s.Validate(fields)
	if invalid := (*jsonschema.ValidationError)(nil); errors.As(err, &invalid) {
		return errors.New(breaches(invalid))
	}
	return err
}

// messageOf is the name of a message in the schema, and its fields; nil: it is none.
func messageOf(sent bool, line []byte) (name string, fields map[string]any) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	fields, _ = v.(map[string]any)
	kind, named := fields["type"].(string)
	switch {
	case err != nil || !named:
		return "", nil
	case sent:
		return "to." + kind, fields
	}
	return "from." + kind, fields
}

// unknownFields are the fields of a message that the schema does not describe, with its
// name.
func unknownFields(sent bool, line []byte) (list []string) {
	name, fields := messageOf(sent, line)
	s, known := schemas()[name]
	for field := range fields {
		if _, described := s.fields[field]; known && !described {
			list = append(list, fmt.Sprintf("%q in %q", field, fields["type"]))
		}
	}
	return list
}

// breaches tells what a line breaks, without what does not help: the name of the schema.
func breaches(e *jsonschema.ValidationError) string {
	var list []string
	for line := range strings.Lines(e.Error()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			list = append(list, strings.TrimPrefix(text, "at '': "))
		}
	}
	return strings.Join(list, "; ")
}
