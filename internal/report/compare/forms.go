//go:build !js

package compare

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
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
	row := func(tone terminal.Tone, label, text string) {
		head := p.Paint(tone, terminal.Pad(label, 9))
		for _, line := range terminal.Wrap(plain.Text(text), p.Width-11) {
			p.Print(head, "  ", line, "\n")
			head = terminal.Pad("", 9)
		}
	}
	for _, why := range c.causes() {
		row(terminal.Doubt, "differs", why.What+": "+why.Words)
	}
	for _, ch := range c.Changes {
		if ch.summed() {
			continue
		}
		head := p.Paint(tones[ch.Kind], terminal.Pad(ch.label(), 9))
		for _, line := range terminal.Wrap(plain.Text(ch.place()), p.Width-11) {
			p.Print(head, "  ", p.Paint(terminal.Strong, line), "\n")
			head = terminal.Pad("", 9)
		}
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
	for _, only := range c.only() {
		row(terminal.Faint, string(only.Kind), only.Words)
	}
	for _, t := range c.Timings {
		p.Print(p.Paint(terminal.Faint, terminal.Pad("time", 9)), "  ", plain.Text(t.Scenario+" / "+t.Variant), "  ",
			ascii(p, words.Duration(t.Before)), " to ", ascii(p, words.Duration(t.After)), "\n")
	}
	said, tone := c.outcome()
	otherwise := c.otherwise()
	changed := len(c.Changes) - c.oneSided() - otherwise
	line := fmt.Sprintf(" %s changed, %s the same", words.Count(changed, "verdict"), words.Grouped(c.Same))
	if otherwise > 0 {
		line += fmt.Sprintf(", the expectation of %s changed", words.Grouped(otherwise))
	}
	if n := c.oneSided(); n > 0 {
		line += fmt.Sprintf(", %s on one side only", words.Grouped(n))
	}
	if c.differ() {
		line += ", but the runs themselves differ"
	}
	if n := c.newlyUnmet(); n > 0 {
		line += fmt.Sprintf("; %d not as expected now, because something else is expected", n)
	}
	if n := c.Unclear - c.newlyUnmet(); n > 0 {
		line += fmt.Sprintf("; %d worse, which may be because the runs differ", n)
	}
	whole := []string{said + line}
	if o.Width > 0 { // a program that reads the last line gets it whole
		whole = terminal.Wrap(whole[0], p.Width)
	}
	for i, text := range whole {
		if rest, ok := strings.CutPrefix(text, said); ok && i == 0 {
			text = p.Paint(tone, said) + rest
		}
		p.Print(text, "\n")
	}
	return p.WriteAll(w)
}

// outcome is what the comparison came to, in a word or two.
func (c *Comparison) outcome() (said string, tone terminal.Tone) {
	switch {
	case c.Regression:
		return "REGRESSION", terminal.Bad
	case c.Compared == 0:
		return "NOTHING TO COMPARE", terminal.Doubt
	case c.Unclear > 0:
		return "UNDECIDED", terminal.Doubt
	}
	return "NO REGRESSION", terminal.Good
}

// summed reports that a change is told with others, as one of a scenario that is on one side only. What is not as expected is told alone.
func (c *Change) summed() bool {
	return c.alone && (c.Kind == Gone || c.Kind == Added && !c.Unmet())
}

// sided says which scenarios are on one side only.
type sided struct {
	Kind  Kind
	Words string
}

// only are the scenarios that one side has alone.
func (c *Comparison) only() (list []sided) {
	for _, of := range []struct {
		kind Kind
		side string
	}{{Gone, "first"}, {Added, "second"}} {
		var names []string
		for i := range c.Changes {
			if ch := &c.Changes[i]; ch.Kind == of.kind && ch.summed() && !slices.Contains(names, ch.Scenario) {
				names = append(names, ch.Scenario)
			}
		}
		if len(names) == 0 {
			continue
		}
		verb := "are"
		if len(names) == 1 {
			verb = "is"
		}
		list = append(list, sided{of.kind, fmt.Sprintf("%s %s only in the %s: %s",
			words.Count(len(names), "scenario"), verb, of.side, strings.Join(names, ", "))})
	}
	return list
}

// label is what stands before a change in the text.
func (c *Change) label() string {
	switch {
	case c.expectedOtherwise():
		return "expected"
	case c.worse:
		return "worse"
	case c.apart != "":
		return "better"
	}
	return string(c.Kind)
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
	p := comparisonPage{
		Comparison: c, Badge: page.Badge{Class: "safe", Icon: "✓", Word: "No regression"},
		Headline: c.headline(), Lead: c.lead(), Causes: c.causes(), Groups: c.groups(), Differences: gathered(bySetting(c.Differences)),
	}
	switch {
	case c.Regression:
		p.Badge = page.Badge{Class: "unsafe", Icon: "✗", Word: "Regression"}
	case c.Compared == 0:
		p.Badge = page.Badge{Class: "undecided", Icon: "?", Word: "Nothing to compare"}
	case c.Unclear > c.newlyUnmet():
		p.Badge = page.Badge{Class: "undecided", Icon: "?", Word: "Undecided"}
	case c.otherwise() > 0:
		p.Badge = page.Badge{Class: "undecided", Icon: "≈", Word: "The expectation changed"}
	case c.differ():
		p.Badge = page.Badge{Class: "undecided", Icon: "≠", Word: "Different runs"}
	}
	return templates.Write(w, "compare.tmpl", &p)
}

type comparisonPage struct {
	Comparison
	Badge    page.Badge
	Headline string
	// Lead says what became of verdicts of which something else is expected; Causes why something may have changed.
	Lead   string
	Causes []cause
	// Groups are the changes by what they mean, what got worse first.
	Groups []group
	// Differences are those that several scenarios have in common.
	Differences []common
}

// PrintedDifference reports that a row of the differences is on paper, too.
func (p *comparisonPage) PrintedDifference(row int) bool { return row < mostBeside }

// FoldTimes says that the times are too many to stand open.
func (p *comparisonPage) FoldTimes() bool { return len(p.Timings) > mostOpen }

// group are changes of one meaning. Folded: they are there for who looks for them.
type group struct {
	ID, Heading, Intro string
	Badge              page.Badge
	Folded             bool
	// Expected: the verdicts are the same, and what is expected of them is compared.
	Expected bool
	Changes  []Change
	// Only says which scenarios are on one side only, with so many verdicts, Summed, that have no row.
	Only   []sided
	Summed int
}

// Count is how many verdicts the group has.
func (g group) Count() int { return len(g.Changes) + g.Summed }

// mostOpen is how many changes a group has at most that is not folded. What got worse is never folded; on paper there are at most
// mostPrinted rows of it, and mostBeside of each other group, for nobody reads more there.
const (
	mostOpen    = 30
	mostPrinted = 80
	mostBeside  = 12
)

// sideCell is what a change was on one side, what was expected there if that is not the same on both, and where that can be seen.
type sideCell struct{ Name, Words, Expected, Report, Scenario string }

// Sides are the two sides of a change.
func (c Change) Sides() []sideCell {
	cells := []sideCell{{"Before", c.Before.Words(), "", c.Reports[0], c.Scenario}, {"After", c.After.Words(), "", c.Reports[1], c.Scenario}}
	if c.Expected != nil {
		cells[0].Expected, cells[1].Expected = report.ExpectedWord(c.Expected.Before), report.ExpectedWord(c.Expected.After)
	}
	return cells
}

// Unmet reports that a verdict is not as expected after.
func (c Change) Unmet() bool { return c.After.Unmet > 0 }

// Printed reports that a row of a group is on paper, too.
func (g group) Printed(row int) bool {
	if g.ID == worseGroup {
		return row < mostPrinted
	}
	return row < mostBeside
}

// Unprinted is how many rows of the group are not on paper.
func (g group) Unprinted() (n int) {
	for row := range g.Changes {
		if !g.Printed(row) {
			n++
		}
	}
	return n
}

// otherwise is how many verdicts are the same, with something else expected of them.
func (c *Comparison) otherwise() (n int) {
	for i := range c.Changes {
		if c.Changes[i].expectedOtherwise() {
			n++
		}
	}
	return n
}

// newlyUnmet is how many of them are less often as expected than before.
func (c *Comparison) newlyUnmet() (n int) {
	for i := range c.Changes {
		if ch := &c.Changes[i]; ch.expectedOtherwise() && ch.rate(ch.Before.Unmet, ch.After.Unmet) > 0 {
			n++
		}
	}
	return n
}

// lead says what became of the verdicts of which something else is expected; empty: there is none, or something else comes first.
func (c *Comparison) lead() string {
	all, unmet := c.otherwise(), c.newlyUnmet()
	switch {
	case all == 0:
		return ""
	case unmet == 0:
		return fmt.Sprintf("The lock did the same as before. Of %s something else is expected now, and none is less as expected for that.",
			words.Count(all, "verdict"))
	}
	return fmt.Sprintf("Of %s something else is expected now. Not as expected any more, for that reason alone: %d.",
		words.Count(all, "verdict"), unmet)
}

const worseGroup = "worse"

// groups puts the changes into groups: what got worse, what is not as expected any more, what was mended, and what changed otherwise.
func (c *Comparison) groups() []group {
	const worse, apart, expected, better, changed, oneSide = 0, 1, 2, 3, 4, 5
	all := []group{
		worse: {ID: worseGroup, Heading: "Got worse", Badge: page.Badge{Class: "unsafe", Icon: "✗", Word: "got worse"}},
		apart: {ID: "apart", Badge: page.Badge{Class: "undecided", Icon: "?"},
			Intro: "That the runs differ may be the reason, so this is not called a regression."},
		expected: {ID: "expected", Heading: "The same verdict, but something else is expected",
			Badge: page.Badge{Class: "aside", Icon: "≈", Word: "the expectation changed"}, Expected: true,
			Intro: "The verdict did not change. The scenario, or the demands on another lock, ask for something else."},
		better: {ID: "better", Heading: "Mended", Badge: page.Badge{Class: "safe", Icon: "✓", Word: "mended"},
			Intro: "Not as expected before, and as expected now."},
		changed: {ID: "changed", Heading: "Changed otherwise", Badge: page.Badge{Class: "undecided", Icon: "≠", Word: "changed otherwise"},
			Intro: "Other verdicts, neither better nor worse than what is expected."},
		oneSide: {ID: "one-side", Heading: "On one side only",
			Badge: page.Badge{Class: "aside", Icon: "±", Word: "on one side only"}},
	}
	at := map[Kind]int{Regressed: worse, Changed: changed, Mended: better, Gone: oneSide, Added: oneSide}
	all[oneSide].Only = c.only()
	for _, ch := range c.Changes {
		if ch.summed() {
			all[oneSide].Summed++
			continue
		}
		i := at[ch.Kind]
		switch {
		case ch.apart != "":
			i = apart
		case ch.expectedOtherwise():
			i = expected
		}
		if ch.Expected != nil || ch.apart != "" {
			ch.Note = "" // the heading or the cells say it
		}
		if ch.Kind == Gone || ch.Kind == Added {
			ch.Note = string(ch.Kind)
		}
		all[i].Changes = append(all[i].Changes, ch)
	}
	all[oneSide].Folded = len(all[oneSide].Changes) > 0
	slices.SortStableFunc(all[expected].Changes, func(x, y Change) int { return cmp.Compare(y.After.Unmet, x.After.Unmet) })
	all[apart].Badge.Word = "got " + c.apartHeading(all[apart].Changes)
	all[apart].Heading = "Got " + c.apartHeading(all[apart].Changes)
	for i := range all[1:] { // on paper and on a screen, what got worse is all that is always in full
		all[i+1].Folded = all[i+1].Folded || len(all[i+1].Changes) > mostOpen
	}
	return slices.DeleteFunc(all, func(g group) bool { return g.Count() == 0 })
}
