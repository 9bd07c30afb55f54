// Package terminal prints painted, padded and wrapped lines, as far as the terminal can show them.
package terminal

import (
	"bytes"
	"fmt"
	"io"
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
