//go:build !js

package compare

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// WriteText writes a comparison for a person at a terminal.
func WriteText(w io.Writer, c Comparison, o terminal.Options) error {
	p := terminal.New(o)
	tones := map[Kind]terminal.Tone{
		Regressed: terminal.Bad, Mended: terminal.Good, Changed: terminal.Doubt, Gone: terminal.Faint, Added: terminal.Faint,
	}
	for _, d := range c.Differences {
		p.Print(p.Paint(terminal.Doubt, terminal.Pad("differs", 9)), "  ", p.Paint(terminal.Strong, plain.Text(d.place())), "\n")
		for _, line := range terminal.Wrap(plain.Text(d.words()), p.Width-11) {
			p.Print("           ", line, "\n")
		}
	}
	for _, ch := range c.Changes {
		p.Print(p.Paint(tones[ch.Kind], terminal.Pad(string(ch.Kind), 9)), "  ", p.Paint(terminal.Strong, plain.Text(ch.place())), "\n")
		text := ch.Before.Words() + " -> " + ch.After.Words()
		if o.Unicode {
			text = ch.Before.Words() + " → " + ch.After.Words()
		}
		if ch.Note != "" {
			text += " (" + ch.Note + ")"
		}
		if ch.Why != "" {
			text += ": " + ch.Why
		}
		for _, line := range terminal.Wrap(plain.Text(text), p.Width-11) {
			p.Print("           ", line, "\n")
		}
	}
	for _, t := range c.Timings {
		p.Print(p.Paint(terminal.Faint, terminal.Pad("time", 9)), "  ", plain.Text(t.Scenario+" / "+t.Variant), "  ",
			ascii(p, words.Duration(t.Before)), " to ", ascii(p, words.Duration(t.After)), "\n")
	}
	word := p.Paint(terminal.Good, "NO REGRESSION")
	switch {
	case c.Regression:
		word = p.Paint(terminal.Bad, "REGRESSION")
	case c.Compared == 0:
		word = p.Paint(terminal.Doubt, "NOTHING TO COMPARE")
	case c.Unclear > 0:
		word = p.Paint(terminal.Doubt, "UNDECIDED")
	}
	line := fmt.Sprintf(" %s changed, %d the same", words.GroupedCount(len(c.Changes)-c.oneSided(), "verdict"), c.Same)
	if n := c.oneSided(); n > 0 {
		line += fmt.Sprintf(", %d on one side only", n)
	}
	if n := len(c.Differences); n > 0 {
		line += ", but the runs themselves differ: " + words.GroupedCount(n, "difference")
	}
	if c.Unclear > 0 {
		line += fmt.Sprintf("; %d worse, which may be for that reason", c.Unclear)
	}
	p.Print(word, line, "\n")
	return p.WriteAll(w)
}

// ascii keeps the micro sign off terminals that do not have it.
func ascii(p *terminal.Printer, s string) string {
	if p.Unicode {
		return s
	}
	return strings.ReplaceAll(s, "µ", "u")
}

// place names what changed: "gc-pause / fenced: no-late-effect".
func (c *Change) place() string {
	if c.Property == "" {
		return placeOf(c.Scenario, c.Variant)
	}
	return placeOf(c.Scenario, c.Variant) + ": " + string(c.Property)
}

// WriteJSON writes a comparison for programs.
func WriteJSON(w io.Writer, c Comparison) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("failed to encode the comparison: %w", err)
	}
	_, err = w.Write(append(plain.JSON(data), '\n'))
	return err
}

//go:embed compare.tmpl
var files embed.FS

var templates = page.Parse(files, nil)

// WriteHTML writes a comparison as a page of its own.
func WriteHTML(w io.Writer, c Comparison) error {
	p := comparisonPage{Comparison: c, Badge: page.Badge{Class: "safe", Icon: "✓", Word: "No regression"}, Headline: c.headline()}
	switch {
	case c.Regression:
		p.Badge = page.Badge{Class: "unsafe", Icon: "✗", Word: "Regression"}
	case c.Compared == 0:
		p.Badge = page.Badge{Class: "undecided", Icon: "?", Word: "Nothing to compare"}
	case c.Unclear > 0:
		p.Badge = page.Badge{Class: "undecided", Icon: "?", Word: "Undecided"}
	case len(c.Differences) > 0:
		p.Badge = page.Badge{Class: "undecided", Icon: "≠", Word: "Different runs"}
	}
	badges := map[Kind]page.Badge{
		Regressed: {Class: "unsafe", Icon: "✗", Word: "regressed"}, Mended: {Class: "safe", Icon: "✓", Word: "mended"},
		Changed: {Class: "undecided", Icon: "≠", Word: "changed"},
		Gone:    {Class: "undecided", Icon: "−", Word: "gone"}, Added: {Class: "undecided", Icon: "+", Word: "added"},
	}
	for i := range c.Changes {
		p.Rows = append(p.Rows, row{c.Changes[i], badges[c.Changes[i].Kind]})
	}
	names := maps.Clone(c.Before.Versions)
	maps.Copy(names, c.After.Versions)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if c.Before.Versions[n] != c.After.Versions[n] {
			p.Versions = append(p.Versions, [3]string{n, c.Before.Versions[n], c.After.Versions[n]})
		}
	}
	return templates.Write(w, "compare.tmpl", p)
}

type comparisonPage struct {
	Comparison
	Badge    page.Badge
	Headline string
	Rows     []row
	Versions [][3]string
}

type row struct {
	Change
	Badge page.Badge
}
