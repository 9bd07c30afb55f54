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
	p.Groups = groupsOf(c.Changes)
	p.Differences = gathered(c.Differences)
	names := maps.Clone(c.Before.Versions)
	maps.Copy(names, c.After.Versions)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if c.Before.Versions[n] != c.After.Versions[n] {
			p.Versions = append(p.Versions, [3]string{n, c.Before.Versions[n], c.After.Versions[n]})
		}
	}
	return templates.Write(w, "compare.tmpl", &p)
}

type comparisonPage struct {
	Comparison
	Badge    page.Badge
	Headline string
	// Groups are the changes by what they mean, what got worse first.
	Groups []group
	// Differences are those that several scenarios have in common.
	Differences []common
	Versions    [][3]string
}

// Fold says that the differences are too many to stand open.
func (p *comparisonPage) Fold() bool { return len(p.Differences) > mostOpen }

// FoldTimes says so of the times.
func (p *comparisonPage) FoldTimes() bool { return len(p.Timings) > mostOpen }

// group are changes of one meaning. Folded: they are there for who looks for them.
type group struct {
	ID, Heading, Intro string
	Badge              page.Badge
	Folded             bool
	Changes            []Change
}

// mostOpen is how many changes a group has at most that is not folded. What got worse is never folded; on paper there are at most
// mostPrinted rows of it, for nobody reads more there.
const (
	mostOpen    = 30
	mostPrinted = 80
)

// sideCell is what a change was on one side, and where that can be seen.
type sideCell struct{ Name, Words, Report string }

// Sides are the two sides of a change.
func (c Change) Sides() []sideCell {
	return []sideCell{{"Before", c.Before.Words(), c.Reports[0]}, {"After", c.After.Words(), c.Reports[1]}}
}

// Printed reports that a row of a group is on paper, too.
func (g group) Printed(row int) bool { return row < mostPrinted }

// Unprinted is how many rows of the group are not on paper.
func (g group) Unprinted() int {
	if g.Folded {
		return 0
	}
	return max(0, len(g.Changes)-mostPrinted)
}

// groupsOf puts the changes into groups.
func groupsOf(changes []Change) []group {
	all := []group{
		{ID: "worse", Heading: "Got worse", Badge: page.Badge{Class: "unsafe", Icon: "✗", Word: "worse"}},
		{ID: "changed", Heading: "Changed", Badge: page.Badge{Class: "undecided", Icon: "≠", Word: "changed"},
			Intro: "Other verdicts, neither better nor worse than what is expected."},
		{ID: "apart", Heading: "Better or worse, but not of the same thing",
			Badge: page.Badge{Class: "undecided", Icon: "?", Word: "not comparable"},
			Intro: "The world or the scenario file is another one, which may be the reason."},
		{ID: "better", Heading: "Got better", Badge: page.Badge{Class: "safe", Icon: "✓", Word: "better"}},
		{ID: "expected", Heading: "The same verdict, but something else is expected",
			Badge: page.Badge{Class: "aside", Icon: "≈", Word: "expected otherwise"}, Folded: true},
		{ID: "one-side", Heading: "On one side only", Badge: page.Badge{Class: "aside", Icon: "±", Word: "on one side only"}, Folded: true},
	}
	at := map[Kind]int{Regressed: 0, Changed: 1, Mended: 3, Gone: 5, Added: 5}
	for _, c := range changes {
		i := at[c.Kind]
		switch {
		case c.apart():
			i, c.Note = 2, "another "+strings.TrimPrefix(c.Note, apartWords)
		case c.expectedOtherwise():
			i = 4
		}
		if c.Kind == Gone || c.Kind == Added {
			c.Note = string(c.Kind)
		}
		all[i].Changes = append(all[i].Changes, c)
	}
	for i := range all[1:] { // on paper and on a screen, what got worse is all that is always in full
		all[i+1].Folded = all[i+1].Folded || len(all[i+1].Changes) > mostOpen
	}
	return slices.DeleteFunc(all, func(g group) bool { return len(g.Changes) == 0 })
}

// common is a difference with all that have it.
type common struct {
	Difference
	Places []string
}

// gathered puts the differences together that are the same.
func gathered(list []Difference) (found []common) {
	for _, d := range list {
		same := func(c common) bool { return c.What == d.What && c.Before == d.Before && c.After == d.After }
		at := slices.IndexFunc(found, same)
		if at < 0 {
			at = len(found)
			found = append(found, common{Difference: d})
		}
		found[at].Places = append(found[at].Places, d.place())
	}
	return found
}
