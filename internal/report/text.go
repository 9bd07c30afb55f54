package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// TextOptions say what the terminal can show.
type TextOptions struct {
	// Color allows ANSI colours, Unicode marks beyond ASCII.
	Color, Unicode bool
	// ReportPath is where the HTML report lies; "" prints no line for it.
	ReportPath string
	// Width is how many columns there are; 0 means DefaultWidth.
	Width int
}

// DefaultWidth is used where the width of the terminal is not known.
const DefaultWidth = 100

// Bounds of the columns of the property table, and of the story.
const (
	nameColumn    = 22
	minWhyColumn  = 24
	maxWhyColumn  = 64
	maxStoryLines = 12
)

// WriteText writes r as a summary for a person at a terminal.
func WriteText(w io.Writer, r *Result, o TextOptions) error {
	p := newPrinter(o)
	p.head(r)
	if l := sharedLock(r); l != nil {
		p.lock(2, l)
	}
	for i := range r.Variants {
		p.variant(r, &r.Variants[i])
	}
	p.stories(r)
	p.foot(r)
	_, err := w.Write(p.buf.Bytes())
	return err
}

// WriteSummaryLine writes a suite's last line. Its first word goes with the
// exit code: DONE, UNDECIDED, FAIL, INTERRUPTED or ERROR. lost are errors that are in no
// result.
func WriteSummaryLine(w io.Writer, results []*Result, lost int, elapsed time.Duration, o TextOptions) error {
	p, t := newPrinter(o), tallyOf(results)
	if t.errors += lost; lost > 0 {
		t.worst = failed
	}
	outcomes := [...]struct {
		word string
		tone tone
	}{
		notApplicable: {"UNDECIDED", doubt}, nothingExpected: {"DONE", doubt},
		asExpected: {"DONE", good}, undecided: {"UNDECIDED", doubt}, unexpected: {"FAIL", bad},
		interrupted: {"INTERRUPTED", doubt}, failed: {"ERROR", bad},
	}
	word := outcomes[t.worst]
	line := fmt.Sprintf(" %s, %s", words.GroupedCount(t.scenarios, "scenario"), t.words())
	if t.errors > 0 {
		line += ", " + words.GroupedCount(t.errors, "error")
	}
	line += fmt.Sprintf(" in %.1f s", elapsed.Seconds())
	if slow := t.tooSlow(); slow != "" {
		line += "; " + slow
	}
	p.print(p.paint(word.tone, word.word), line, "\n")
	_, err := w.Write(p.buf.Bytes())
	return err
}

// tone is a way to stand out.
type tone string

const (
	strong tone = "1"
	faint  tone = "2"
	good   tone = "32"
	doubt  tone = "33"
	bad    tone = "1;31"
	seen   tone = "31"
)

type printer struct {
	buf bytes.Buffer
	o   TextOptions
}

func newPrinter(o TextOptions) *printer {
	if o.Width <= 0 {
		o.Width = DefaultWidth
	}
	return &printer{o: o}
}

func (p *printer) print(parts ...string) {
	for _, s := range parts {
		p.buf.WriteString(s)
	}
}

func (p *printer) paint(t tone, s string) string {
	if !p.o.Color || s == "" {
		return s
	}
	return "\x1b[" + string(t) + "m" + s + "\x1b[0m"
}

func (p *printer) head(r *Result) {
	name := plain.Text(r.Scenario)
	if name == "" {
		name = "(unnamed)"
	}
	facts := []string{fmt.Sprintf("seed %d", r.Seed)}
	for _, f := range r.Facts {
		facts = append(facts, plain.Text(f))
	}
	if r.World == "virtual" {
		facts = append(facts, "virtual")
	}
	p.print(p.paint(strong, name), "   ", p.paint(faint, strings.Join(facts, "   ")), "\n")
	if r.Error != "" {
		p.complaint(2, "error", r.Error, bad)
	}
	if r.Interrupted {
		p.complaint(2, "interrupted", "the run was stopped before its end; the verdicts judge what was recorded", doubt)
	}
}

// lock says which lock program is on trial.
func (p *printer) lock(indent int, l *Lock) {
	p.complaint(indent, "lock", strings.Join(l.facts(), "; "), faint)
}

// complaint writes a labelled, wrapped line.
func (p *printer) complaint(indent int, label, text string, t tone) {
	lead := strings.Repeat(" ", indent)
	room := p.o.Width - indent - len(label) - 2
	for i, line := range wrap(plain.Text(text), room) {
		if i == 0 {
			p.print(lead, p.paint(t, label+":"), " ", line, "\n")
			continue
		}
		p.print(lead, strings.Repeat(" ", len(label)+2), line, "\n")
	}
}

func (p *printer) variant(r *Result, v *Variant) {
	if v.NotApplicable != "" {
		p.complaint(2, plain.Text(v.Name)+"   not applicable", v.NotApplicable, faint)
		return
	}
	p.print("  ", p.paint(strong, plain.Text(v.Name)), "\n")
	if v.Lock != nil && sharedLock(r) == nil {
		p.lock(4, v.Lock)
	}
	if v.Error != "" && v.Error != r.Error {
		p.complaint(4, "error", v.Error, bad)
	}
	if v.Interrupted && !r.Interrupted {
		p.complaint(4, "interrupted", "stopped before its end; the verdicts judge what was recorded", doubt)
	}
	if v.TooSlow != "" {
		p.complaint(4, "too slow", v.TooSlow+"; so what is not as expected is undecided", doubt)
	}
	if v.TimedOut {
		p.complaint(4, "time limit", v.Limit()+"; the verdicts judge what was recorded", doubt)
	}
	if tries := v.triesWords(); tries != "" {
		p.complaint(4, "tries", tries, doubt)
	}
	verdict := 0
	for i := range v.Properties {
		verdict = max(verdict, utf8.RuneCountInString(besideExpectation(&v.Properties[i])))
	}
	why := min(max(p.o.Width-4-2-nameColumn-2-2-verdict, minWhyColumn), maxWhyColumn)
	for i := range v.Properties {
		p.property(&v.Properties[i], why)
	}
	if v.Cost != nil {
		p.complaint(4, "cost", costWords(v.Cost), faint)
	}
	for i := range v.Faults {
		if f := &v.Faults[i]; f.Fired == 0 {
			text := strings.TrimSpace(fmt.Sprintf("fault %d, %s %s %s", f.ID, f.Fault, f.Target, f.When))
			if f.Failed != "" {
				text += ": " + f.Failed
			}
			p.complaint(4, "never fired", text, doubt)
		}
	}
}

func (p *printer) property(pr *PropertyResult, whyColumn int) {
	mark, t := p.mark(pr.Verdict), verdictTone(pr)
	lines := wrap(plain.Text(pr.Why), whyColumn)
	beside := besideExpectation(pr)
	switch {
	case !pr.Met:
		beside = p.paint(t, beside)
	case pr.Expected != 0:
		beside = p.paint(faint, beside)
	}
	p.print("    ", p.paint(t, mark), " ", pad(plain.Text(string(pr.Name)), nameColumn), "  ",
		pad(lines[0], whyColumn), "  ", beside, "\n")
	for _, line := range lines[1:] {
		p.print(strings.Repeat(" ", 4+2+nameColumn+2), line, "\n")
	}
}

// mark shows the verdict by its shape; the colour only repeats it.
func (p *printer) mark(v checker.Verdict) string {
	if p.o.Unicode || !decided(v) {
		return verdictBadge(v).Icon
	}
	return map[checker.Verdict]string{checker.Holds: "+", checker.Violated: "x"}[v]
}

// verdictTone keeps the loud colour for what nobody expected.
func verdictTone(p *PropertyResult) tone {
	switch {
	case isUnexpected(p):
		return bad
	case !decided(p.Verdict):
		return doubt
	case p.Verdict == checker.Violated:
		return seen
	}
	return good
}

// stories tells what happened: in every variant with an unexpected violation,
// and otherwise in the one that the scenario is most about.
func (p *printer) stories(r *Result) {
	told := false
	for i := range r.Variants {
		if lead := leadOf(&r.Variants[i]); lead != nil && isUnexpected(lead) {
			p.story(r, &r.Variants[i], lead)
			told = true
		}
	}
	if told {
		return
	}
	var best *PropertyResult
	of := 0
	for i := range r.Variants {
		if lead := leadOf(&r.Variants[i]); lead != nil && (best == nil || leads(lead, best)) {
			best, of = lead, i
		}
	}
	if best != nil {
		p.story(r, &r.Variants[of], best)
	}
}

func (p *printer) story(r *Result, v *Variant, lead *PropertyResult) {
	title := "What happened"
	if len(r.Variants) > 1 {
		title += " in " + plain.Text(v.Name)
	}
	p.print("  ", p.paint(strong, title), "\n")
	c := lead.Counterexample
	shown := c.Story[:min(len(c.Story), maxStoryLines)]
	column := 0
	for _, s := range shown {
		column = max(column, len(words.Seconds(s.At)))
	}
	for _, s := range shown {
		when := fmt.Sprintf("%*s", column, words.Seconds(s.At))
		for i, line := range wrap(plain.Text(s.Text), p.o.Width-4-column-2) {
			if i > 0 {
				when = strings.Repeat(" ", column)
			}
			if s.Decisive {
				line = p.paint(strong, line)
			}
			p.print("    ", p.paint(faint, when), "  ", line, "\n")
		}
	}
	if more := len(c.Story) - len(shown); more > 0 {
		p.print("    ", strings.Repeat(" ", column), "  ", p.paint(faint, fmt.Sprintf("and %s more", words.GroupedCount(more, "step"))), "\n")
	}
	if c.Assumption != "" {
		p.complaint(4, "failed assumption", c.Assumption, strong)
	}
}

func (p *printer) foot(r *Result) {
	if p.o.ReportPath != "" {
		p.print(p.paint(faint, "report"), "   ", plain.Text(p.o.ReportPath), "\n")
	}
	for _, l := range replays(r) {
		line := plain.Text(l.Command)
		if l.For != "" {
			line += "   (" + plain.Text(l.For) + ")"
		}
		p.print(p.paint(faint, "replay"), "   ", line, "\n")
	}
}

// pad fills s with spaces up to width columns.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// wrap breaks s into lines of at most width runes, between words where it can;
// it returns at least one line.
func wrap(s string, width int) []string {
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
