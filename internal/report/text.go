package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Bounds of the columns of the property table, and of the story.
const (
	nameColumn    = 22
	minWhyColumn  = 24
	maxWhyColumn  = 64
	maxStoryLines = 12
)

// printer writes results for a person at a terminal.
type printer struct {
	*terminal.Printer
	// suite: variants that do not apply are told of by WriteNotApplicable.
	suite bool
}

// WriteText writes r as a summary for a person at a terminal. reportPath is where the HTML report
// lies; "" prints no line for it.
func WriteText(w io.Writer, r *Result, reportPath string, o terminal.Options) error {
	return printer{Printer: terminal.New(o)}.write(w, r, reportPath)
}

// WriteSuiteText writes r as one of several results: what does not apply is left to WriteNotApplicable.
func WriteSuiteText(w io.Writer, r *Result, reportPath string, o terminal.Options) error {
	return printer{terminal.New(o), true}.write(w, r, reportPath)
}

func (p printer) write(w io.Writer, r *Result, reportPath string) error {
	p.head(r)
	if l := sharedLock(r); l != nil {
		p.lock(2, l)
	}
	for i := range r.Variants {
		p.variant(r, &r.Variants[i])
	}
	p.stories(r)
	p.foot(r, reportPath)
	return p.WriteAll(w)
}

// WriteSummaryLine writes a suite's last line. Its first word goes with the
// exit code: DONE, UNDECIDED, FAIL, INTERRUPTED or ERROR. lost are errors that are in no
// result.
func WriteSummaryLine(w io.Writer, results []*Result, lost int, elapsed time.Duration, o terminal.Options) error {
	p, t := &printer{Printer: terminal.New(o)}, tallyOf(results)
	if t.errors += lost; lost > 0 {
		t.worst = failed
	}
	outcomes := [...]struct {
		word string
		tone terminal.Tone
	}{
		notApplicable: {"UNDECIDED", terminal.Doubt}, nothingExpected: {"DONE", terminal.Doubt},
		asExpected: {"DONE", terminal.Good}, undecided: {"UNDECIDED", terminal.Doubt}, unexpected: {"FAIL", terminal.Bad},
		interrupted: {"INTERRUPTED", terminal.Doubt}, failed: {"ERROR", terminal.Bad},
	}
	word := outcomes[t.worst]
	line := fmt.Sprintf(" %s, %s", words.Count(t.scenarios, "scenario"), t.words())
	if t.errors > 0 {
		line += ", " + words.Count(t.errors, "error")
	}
	line += fmt.Sprintf(" in %.1f s", elapsed.Seconds())
	if slow := t.tooSlow(); slow != "" {
		line += "; " + slow
	}
	if p.narrow() {
		line = strings.TrimPrefix(strings.Join(terminal.Wrap(word.word+line, p.Width-2), "\n  "), word.word)
	}
	p.Print(p.Paint(word.tone, word.word), line, "\n")
	return p.WriteAll(w)
}

// narrow: lines that are not wrapped elsewhere, so that programs find them, would be cut by this terminal.
func (p *printer) narrow() bool { return p.Width < terminal.DefaultWidth }

func (p *printer) head(r *Result) {
	name := plain.Text(r.Scenario)
	if name == "" {
		name = "(unnamed)"
	}
	facts := []string{fmt.Sprintf("seed %d", r.Seed)}
	for _, f := range r.Facts {
		facts = append(facts, plain.Text(f))
	}
	if real := r.realInVirtualTime(); real != "" {
		facts = append(facts, plain.Text(real))
	} else if r.World == "virtual" {
		facts = append(facts, "virtual")
	}
	line, room := "", p.Width-utf8.RuneCountInString(name)
	p.Print(p.Paint(terminal.Strong, name))
	for _, f := range facts {
		if p.narrow() && line != "" && utf8.RuneCountInString(line+"   "+f) > room {
			p.Print(p.Paint(terminal.Faint, line), "\n")
			line, room = "", p.Width
		}
		line += "   " + f
	}
	p.Print(p.Paint(terminal.Faint, line), "\n")
	if r.Error != "" {
		p.Labelled(2, "error", r.Error, terminal.Bad)
	}
	if r.Interrupted {
		p.Labelled(2, "interrupted", "the run was stopped before its end"+judgedBeforeEnd(r.Variants...), terminal.Doubt)
	}
}

// lock says which lock program is on trial.
func (p *printer) lock(indent int, l *Lock) {
	p.Labelled(indent, "lock", strings.Join(l.Facts(), "; "), terminal.Faint)
}

func (p *printer) variant(r *Result, v *Variant) {
	if v.NotApplicable != "" {
		if !p.suite {
			p.Labelled(2, plain.Text(v.Name)+"   not applicable", v.NotApplicable, terminal.Faint)
		}
		return
	}
	p.Print("  ", p.Paint(terminal.Strong, plain.Text(v.Name)), "\n")
	if v.Lock != nil && sharedLock(r) == nil {
		p.lock(4, v.Lock)
	}
	if v.Error != "" && v.Error != r.Error {
		p.Labelled(4, "error", v.Error, terminal.Bad)
	}
	if v.Interrupted && !r.Interrupted {
		p.Labelled(4, "interrupted", "stopped before its end"+judgedBeforeEnd(*v), terminal.Doubt)
	}
	if v.TooSlow != "" {
		p.Labelled(4, "too slow", v.TooSlow+"; so what is not as expected is undecided", terminal.Doubt)
	} else if v.Unknown != "" {
		why, more, _ := strings.Cut(v.Unknown, "\n")
		p.Labelled(4, "unknown", why+"; so nothing was judged", terminal.Doubt)
		for line := range strings.Lines(more) {
			p.Print("      ", strings.Join(terminal.Wrap(plain.Text(line), p.Width-8), "\n        "), "\n")
		}
	}
	if v.TimedOut {
		p.Labelled(4, "time limit", v.Limit()+judgedBeforeEnd(*v), terminal.Doubt)
	}
	if tries := v.triesWords(); tries != "" {
		p.Labelled(4, "tries", tries, terminal.Doubt)
	}
	verdict := 0
	for i := range v.Properties {
		verdict = max(verdict, utf8.RuneCountInString(besideExpectation(&v.Properties[i])))
	}
	why := min(p.Width-4-2-nameColumn-2-2-verdict, maxWhyColumn)
	if why < minWhyColumn {
		why = 0
	}
	for i := range v.Properties {
		p.property(&v.Properties[i], why)
	}
	if v.Cost != nil {
		p.Labelled(4, "cost", CostWords(v.Cost), terminal.Faint)
	}
	for i := range v.Faults {
		if f := &v.Faults[i]; f.Fired == 0 {
			text := strings.TrimSpace(fmt.Sprintf("fault %d, %s %s %s", f.ID, f.Fault, f.Target, f.When))
			if f.Failed != "" {
				text += ": " + f.Failed
			}
			p.Labelled(4, "never fired", text, terminal.Doubt)
		}
	}
}

// judgedBeforeEnd says on what verdicts rest where runs did not come to their ends; empty: there are none.
func judgedBeforeEnd(of ...Variant) string {
	if slices.ContainsFunc(of, func(v Variant) bool { return len(v.Properties) > 0 }) {
		return "; the verdicts judge what was recorded"
	}
	return ""
}

// property prints a row of the table; without a width for its reasons, the terminal is too narrow for one, and what would stand side by
// side follows line by line.
func (p *printer) property(pr *PropertyResult, whyColumn int) {
	mark, t := p.mark(pr.Verdict), verdictTone(pr)
	beside := besideExpectation(pr)
	if !pr.Met {
		beside = p.Paint(t, beside)
	} else if pr.Expected != 0 {
		beside = p.Paint(terminal.Faint, beside)
	}
	if whyColumn == 0 {
		p.Print("    ", p.Paint(t, mark), " ", plain.Text(string(pr.Name)), "\n        ", beside, "\n")
		for _, line := range terminal.Wrap(plain.Text(pr.Why), p.Width-8) {
			p.Print("        ", line, "\n")
		}
		return
	}
	lines := terminal.Wrap(plain.Text(pr.Why), whyColumn)
	p.Print("    ", p.Paint(t, mark), " ", terminal.Pad(plain.Text(string(pr.Name)), nameColumn), "  ",
		terminal.Pad(lines[0], whyColumn), "  ", beside, "\n")
	for _, line := range lines[1:] {
		p.Print(strings.Repeat(" ", 4+2+nameColumn+2), line, "\n")
	}
}

// mark shows the verdict by its shape; the colour only repeats it.
func (p *printer) mark(v checker.Verdict) string {
	if p.Unicode || !decided(v) {
		return verdictBadge(v).Icon
	}
	return map[checker.Verdict]string{checker.Holds: "+", checker.Violated: "x"}[v]
}

// verdictTone keeps the loud colour for what nobody expected.
func verdictTone(p *PropertyResult) terminal.Tone {
	switch {
	case isUnexpected(p):
		return terminal.Bad
	case !decided(p.Verdict):
		return terminal.Doubt
	case p.Verdict == checker.Violated:
		return terminal.Seen
	}
	return terminal.Good
}

// stories tells what happened: in every variant with an unexpected violation, and what was expected and did not happen; if there is
// neither, in the variant that the scenario is most about.
func (p *printer) stories(r *Result) {
	told := p.notSeen(r)
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
		lead := leadOf(&r.Variants[i])
		if lead == nil {
			continue
		}
		// Of a variant that is not as expected, also where its story is of what is.
		surprising, before := variantOutcome(&r.Variants[i]) == unexpected, variantOutcome(&r.Variants[of]) == unexpected
		if best == nil || surprising && !before || surprising == before && leads(lead, best) {
			best, of = lead, i
		}
	}
	if best != nil {
		p.story(r, &r.Variants[of], best)
	}
}

// notSeen says which violations were expected, and did not show; it reports whether there are any.
func (p *printer) notSeen(r *Result) (any bool) {
	for i := range r.Variants {
		v := &r.Variants[i]
		for j := range v.Properties {
			pr := &v.Properties[j]
			if !isUnexpected(pr) || pr.Expected != checker.Violated {
				continue
			}
			if !any {
				p.Print("  ", p.Paint(terminal.Strong, "Expected and not seen"), "\n")
				any = true
			}
			text := fmt.Sprintf("a violation of %s, which %s", pr.Name, verdictWord(pr.Verdict))
			if pr.Why != "" {
				text += ": " + pr.Why
			}
			p.Labelled(4, plain.Text(v.Name), text, terminal.Bad)
		}
	}
	return any
}

func (p *printer) story(r *Result, v *Variant, lead *PropertyResult) {
	title := "What happened"
	if len(r.Variants) > 1 {
		title += " in " + plain.Text(v.Name)
	}
	p.Print("  ", p.Paint(terminal.Strong, title), "\n")
	c := lead.Counterexample
	shown := c.Story[:min(len(c.Story), maxStoryLines)]
	column := 0
	for _, s := range shown {
		column = max(column, len(words.Seconds(s.At)))
	}
	for _, s := range shown {
		when := fmt.Sprintf("%*s", column, words.Seconds(s.At))
		for i, line := range terminal.Wrap(plain.Text(s.Text), p.Width-4-column-2) {
			if i > 0 {
				when = strings.Repeat(" ", column)
			}
			if s.Decisive {
				line = p.Paint(terminal.Strong, line)
			}
			p.Print("    ", p.Paint(terminal.Faint, when), "  ", line, "\n")
		}
	}
	if more := len(c.Story) - len(shown); more > 0 {
		p.Print("    ", strings.Repeat(" ", column), "  ",
			p.Paint(terminal.Faint, fmt.Sprintf("and %s more", words.Count(more, "step"))), "\n")
	}
	if c.Assumption != "" {
		p.Labelled(4, "failed assumption", c.Assumption, terminal.Strong)
	}
}

func (p *printer) foot(r *Result, reportPath string) {
	if reportPath != "" {
		p.Print(p.Paint(terminal.Faint, "report"), "   ", plain.Text(reportPath), "\n")
	}
	for _, l := range replays(r) {
		line := plain.Text(l.Command)
		if l.For != "" {
			line += "   (" + plain.Text(l.For) + ")"
		}
		p.Print(p.Paint(terminal.Faint, "replay"), "   ", line, "\n")
	}
}
