package terminal_test

import (
	"bytes"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

// Each error has a line of its own, and the same one is told once; a label that takes half of the line has its text below it.
func TestLabelled(t *testing.T) {
	for name, c := range map[string]struct {
		width int
		text  string
		want  string
	}{
		"several":       {40, "the first\nthe second\nthe first\n", "  error: the first (2 times)\n         the second\n"},
		"wrapped":       {24, "one two three four", "  error: one two three\n         four\n"},
		"beside a word": {12, "one two", "  error:\n    one two\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := terminal.New(terminal.Options{Width: c.width})
			p.Labelled(2, "error", c.text, terminal.Bad)
			var got bytes.Buffer
			if err := p.WriteAll(&got); err != nil || got.String() != c.want {
				t.Errorf("%q, want %q (%v)", got.String(), c.want, err)
			}
		})
	}
}
