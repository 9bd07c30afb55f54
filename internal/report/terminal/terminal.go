// Package terminal prints painted, padded and wrapped lines, as far as the terminal can show them.
package terminal

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// Options say what the terminal can show.
type Options struct {
	// Color allows ANSI colours, Unicode marks beyond ASCII.
	Color, Unicode bool
	// Width is how many columns there are; 0 means DefaultWidth.
	Width int
}

// DefaultWidth is used where the width of the terminal is not known.
const DefaultWidth = 100

// Tone is a way to stand out.
type Tone string

// The tones: what heads something, what is less important, and how good the news are.
const (
	Strong Tone = "1"
	Faint  Tone = "2"
	Good   Tone = "32"
	Doubt  Tone = "33"
	Bad    Tone = "1;31"
	// Seen is bad, but expected.
	Seen Tone = "31"
)

// Printer collects lines for a terminal.
type Printer struct {
	Options
	buf bytes.Buffer
}

// New makes a printer that prints as the options allow.
func New(o Options) *Printer {
	if o.Width <= 0 {
		o.Width = DefaultWidth
	}
	return &Printer{Options: o}
}

// WriteAll writes all that was printed.
func (p *Printer) WriteAll(w io.Writer) error {
	_, err := w.Write(p.buf.Bytes())
	return err
}

// Print prints texts one after the other.
func (p *Printer) Print(parts ...string) {
	for _, s := range parts {
		p.buf.WriteString(s)
	}
}

// Paint makes a text stand out, where the terminal has colours.
func (p *Printer) Paint(t Tone, s string) string {
	if !p.Color || s == "" {
		return s
	}
	return "\x1b[" + string(t) + "m" + s + "\x1b[0m"
}

// Labelled prints a text behind a label, each of its lines on one of its own, and wrapped. Lines that are the same are counted.
func (p *Printer) Labelled(indent int, label, text string, t Tone) {
	lead := strings.Repeat(" ", indent)
	if 2*(indent+len(label)+2) > p.Width { // there is no room beside the label
		p.Print(lead, p.Paint(t, label+":"), "\n")
		lead += "  "
		for _, line := range distinct(text) {
			p.Print(lead, strings.Join(Wrap(plain.Text(line), p.Width-len(lead)), "\n"+lead), "\n")
		}
		return
	}
	room, first := p.Width-indent-len(label)-2, true
	for _, text := range distinct(text) {
		for _, line := range Wrap(plain.Text(text), room) {
			if first {
				p.Print(lead, p.Paint(t, label+":"), " ", line, "\n")
				first = false
				continue
			}
			p.Print(lead, strings.Repeat(" ", len(label)+2), line, "\n")
		}
	}
}

// distinct are the lines of a text, each once, with how often it came.
func distinct(text string) (lines []string) {
	times := make(map[string]int)
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if times[line]++; times[line] == 1 {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		if n := times[line]; n > 1 {
			lines[i] += fmt.Sprintf(" (%d times)", n)
		}
	}
	return lines
}

// Pad fills s with spaces up to width columns.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// Wrap breaks s into lines of at most width runes, between words where it can;
// it returns at least one line.
func Wrap(s string, width int) []string {
	width = max(width, 8)
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for utf8.RuneCountInString(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// escapes are the sequences that take no room.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// columns is how wide a painted text is.
func columns(s string) int { return utf8.RuneCountInString(escapes.ReplaceAllString(s, "")) }

// parts are the words of a line, each with the spaces before it; of the form "  label   text", label and spaces are what the text hangs on.
var (
	parts    = regexp.MustCompile(` *[^ ]+`)
	labelled = regexp.MustCompile(`^( *)([^ ]+(?: [^ ]+)*? {2,})[^ ]`)
)

// Hang breaks a line that is wider than the terminal, between words. What follows is indented as the text behind the line's label, if there
// is room beside it. A word that is wider than that stays whole, and so does a command: it is to be copied.
func Hang(line string, width int) []string {
	if columns(line) <= width {
		return []string{line}
	}
	text := strings.TrimLeft(line, " ")
	if strings.HasPrefix(text, "hint: sim ") {
		return []string{line}
	}
	lead := min(len(line)-len(text), width/4) // what stands below a far column has room only further left
	line = strings.Repeat(" ", lead) + text
	indent, rest, lines, at := lead+4, line, []string(nil), ""
	if m := labelled.FindStringSubmatch(line); m != nil {
		label := m[1] + m[2]
		if rest = line[len(label):]; strings.HasPrefix(rest, "sim ") {
			return []string{line}
		}
		if n := columns(label); 2*n <= width {
			indent, at = n, label
		} else {
			indent, lines = len(m[1])+4, []string{strings.TrimRight(label, " ")}
			at = strings.Repeat(" ", indent)
		}
	}
	empty := true
	for _, part := range parts.FindAllString(rest, -1) {
		if !empty && columns(at)+columns(part) > width {
			lines, at, empty = append(lines, at), strings.Repeat(" ", indent), true
		}
		if empty && at != "" {
			part = strings.TrimLeft(part, " ")
		}
		at, empty = at+part, false
	}
	return append(lines, at)
}

// Hanging passes lines on as Hang breaks them.
type Hanging struct {
	io.Writer
	Width int
	line  []byte
}

func (h *Hanging) Write(b []byte) (int, error) {
	h.line = append(h.line, b...)
	end := bytes.LastIndexByte(h.line, '\n') + 1
	if end == 0 {
		return len(b), nil
	}
	var out strings.Builder
	for line := range strings.Lines(string(h.line[:end])) {
		out.WriteString(strings.Join(Hang(strings.TrimSuffix(line, "\n"), h.Width), "\n") + "\n")
	}
	h.line = append(h.line[:0], h.line[end:]...)
	if _, err := io.WriteString(h.Writer, out.String()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Rest is what was written of a line that has no end yet.
func (h *Hanging) Rest() []byte { return []byte(strings.Join(Hang(string(h.line), h.Width), "\n")) }
