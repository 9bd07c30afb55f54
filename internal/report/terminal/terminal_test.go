package terminal_test

import (
	"bytes"
	"slices"
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

// A line that is wider than the terminal goes on under its text. What is to be copied stays whole.
func TestHang(t *testing.T) {
	for name, c := range map[string]struct {
		line  string
		width int
		want  []string
	}{
		"fits":        {"  name   a text", 15, []string{"  name   a text"}},
		"hangs":       {"  name   one two three", 18, []string{"  name   one two", "         three"}},
		"no room":     {"a-long-name   one two three", 16, []string{"a-long-name", "    one two", "    three"}},
		"no label":    {"one two three four", 12, []string{"one two", "    three", "    four"}},
		"a long word": {"  file   a/long/path/to/a/file.yaml  x", 20, []string{"  file   a/long/path/to/a/file.yaml", "         x"}},
		"a command":   {"  replay   sim run gc-pause --seed 42", 20, []string{"  replay   sim run gc-pause --seed 42"}},
		"painted":     {"  \x1b[32mok\x1b[0m   one two", 14, []string{"  \x1b[32mok\x1b[0m   one two"}},
		"columns":     {"ok   name   one two three", 18, []string{"ok   name   one", "     two three"}},
		"far right":   {"                  one two", 20, []string{"     one two"}},
		"a hint":      {"      hint: sim list locks", 20, []string{"      hint: sim list locks"}},
		"empty":       {"", 10, []string{""}},
	} {
		if got := terminal.Hang(c.line, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A line may be written in parts.
func TestHanging(t *testing.T) {
	var got bytes.Buffer
	h := &terminal.Hanging{Writer: &got, Width: 12}
	for _, part := range []string{"a   one ", "two three\n", "b", "   x\nc   one two ", "three"} {
		if n, err := h.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	got.Write(h.Rest())
	if want := "a   one two\n    three\nb   x\nc   one two\n    three"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}
