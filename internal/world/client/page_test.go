package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// TestPageSpeaksTheProtocol: the lines that docs/internals/client-protocol.md shows are messages, without
// a field that does not exist.
func TestPageSpeaksTheProtocol(t *testing.T) {
	t.Parallel()
	read := 0
	for _, b := range docstest.Blocks(t, "docs/internals/client-protocol.md") {
		for d := json.NewDecoder(strings.NewReader(b.Text)); b.Language == "json"; read++ {
			d.DisallowUnknownFields()
			var m client.Message
			if err := d.Decode(&m); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("line %d: %v", b.Line, err)
			}
			if m.Type == "" {
				t.Errorf("line %d: a message has no type", b.Line)
			}
		}
	}
	if read < 10 {
		t.Errorf("the page shows only %d messages", read)
	}
}
