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

// schemas are the schemas of all messages, by "to." or "from." (the program) and their
// types.
var schemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	const url = "lock-protocol.schema.json"
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(docs.LockProtocolSchema))
	if err != nil {
		panic("conform: the schema is no JSON: " + err.Error())
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(url, doc); err != nil {
		panic("conform: " + err.Error())
	}
	list := make(map[string]*jsonschema.Schema)
	for name := range doc.(map[string]any)["definitions"].(map[string]any) {
		list[name] = compiler.MustCompile(url + "#/definitions/" + name)
	}
	return list
})

// errNoMessage says that a line is for the log.
var errNoMessage = errors.New("no JSON object with a type")

// CheckLine says what is wrong with a line by the JSON Schema of the protocol. sent: it
// went to the program.
func CheckLine(sent bool, line []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	fields, object := v.(map[string]any)
	kind, named := fields["type"].(string)
	if err != nil || !object || !named {
		return errNoMessage
	}
	name := "from." + kind
	if sent {
		name = "to." + kind
	}
	schema := schemas()[name]
	if schema == nil {
		return fmt.Errorf("the type %q is not known", kind)
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(v); errors.As(err, &invalid) {
		return errors.New(breaches(invalid))
	} else if err != nil {
		return err
	}
	return nil
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
