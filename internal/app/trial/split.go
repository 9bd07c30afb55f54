package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// splitJSON cuts a text into the JSON documents that follow each other in it.
func splitJSON(text []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, raw)
	}
}
