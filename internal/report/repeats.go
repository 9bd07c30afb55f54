package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// repeated is a scenario with all its runs.
type repeated struct {
	runs []*Result
	rows []repeatedRow
}

// repeatedRow is how often each verdict on a property came; without a property, how often
// the variant could not be run.
type repeatedRow struct {
	variant  string
	property checker.Property
	Counted
	// off are the runs that did not come out as expected.
	off []*Result
	// reached: in one of them at least a verdict was reached that is not the expected one.
	reached bool
}

// sameScenario tells runs of one scenario from those of another with its name.
func sameScenario(r *Result) string { return r.Scenario + "\n" + r.ScenarioDigest }

// repeatsOf puts the runs of each scenario together, in their order; what did not come
// out as expected is first among its rows.
func repeatsOf(results []*Result) (list []*repeated) {
	at := make(map[string]*repeated)
	for _, r := range results {
		key := sameScenario(r)
		if at[key] == nil {
			at[key] = &repeated{}
			list = append(list, at[key])
		}
		at[key].runs = append(at[key].runs, r)
	}
	for _, g := range list {
		g.count()
	}
	return list
}

func (g *repeated) count() {
	cells := CountVerdicts(g.runs)
	for _, r := range g.runs {
		for i := range r.Variants {
			v := &r.Variants[i]
			if v.Error != "" {
				row := g.row(v.Name, "", cells)
				row.off = append(row.off, r)
			}
			for j := range v.Properties {
				p := &v.Properties[j]
				if row := g.row(v.Name, p.Name, cells); !p.Met {
					row.off = append(row.off, r)
					row.reached = row.reached || isUnexpected(p)
				}
			}
		}
	}
	slices.SortStableFunc(g.rows, func(a, b repeatedRow) int {
		return min(len(b.off), 1) - min(len(a.off), 1)
	})
}

// row is the row of a property, made where there is none.
func (g *repeated) row(variant string, property checker.Property, cells map[CountKey]*Counted) *repeatedRow {
	at := slices.IndexFunc(g.rows, func(r repeatedRow) bool { return r.variant == variant && r.property == property })
	if at < 0 {
		at = len(g.rows)
		counted := cells[CountKey{g.runs[0].Scenario, variant, property}]
		g.rows = append(g.rows, repeatedRow{variant: variant, property: property, Counted: *counted})
	}
	return &g.rows[at]
}

// asExpected is how many runs came out as expected.
func (g *repeated) asExpected() (n int) {
	for _, r := range g.runs {
		if outcomeOf(r) <= asExpected {
			n++
		}
	}
	return n
}

// brackets says what stands in the brackets behind how often a verdict came.
const brackets = "in brackets the 95 % intervals"

// words say which runs there were: "20 runs with the seeds 5 to 24, 18 as expected".
func (g *repeated) words() string {
	text := fmt.Sprintf("%s with the seeds %d to %d, %d as expected",
		words.Count(len(g.runs), "run"), g.runs[0].Seed, g.runs[len(g.runs)-1].Seed, g.asExpected())
	several := 0
	for _, r := range g.runs {
		if slices.ContainsFunc(r.Variants, func(v Variant) bool { return len(v.Tries) > 1 }) {
			several++
		}
	}
	if several > 0 {
		text += fmt.Sprintf("; %d took more than one try (--tries 1 measures how often a single try shows something)", several)
	}
	return text
}

// often says how often each verdict came, with the 95 % interval of its share.
func (c *Counted) often() string {
	var parts []string
	for _, v := range c.verdicts() {
		rate := RateOf(uint64(v.times), uint64(c.Runs), uint64(c.Runs))
		parts = append(parts, fmt.Sprintf("%s in %d of %d (%.3g to %.3g %%)", v.verdict, v.times, c.Runs, 100*rate.Low, 100*rate.High))
	}
	if c.Failed > 0 {
		parts = append(parts, c.Words())
	}
	return strings.Join(parts, ", ")
}

type verdictCount struct {
	verdict checker.Verdict
	times   int
}

// verdicts are those that came: what was not expected first, then the most frequent.
func (c *Counted) verdicts() []verdictCount {
	list := []verdictCount{{checker.Violated, c.Violated}, {checker.Holds, c.Holds}, {checker.Unknown, c.Unknown}}
	list = slices.DeleteFunc(list, func(v verdictCount) bool { return v.times == 0 })
	slices.SortStableFunc(list, func(a, b verdictCount) int { return b.times - a.times })
	slices.SortStableFunc(list, func(a, b verdictCount) int {
		switch c.Expected {
		case a.verdict:
			return 1
		case b.verdict:
			return -1
		}
		return 0
	})
	return list
}

// beside says what was expected, and with which seeds it did not come.
func (row *repeatedRow) beside() string {
	if len(row.off) == 0 && row.Expected == 0 {
		return ""
	}
	if len(row.off) == 0 {
		return "as expected"
	}
	const most = 5
	var seeds []string
	for _, r := range row.off[:min(len(row.off), most)] {
		seeds = append(seeds, fmt.Sprint(r.Seed))
	}
	text := "not with " + words.Noun(len(row.off), "seed") + " " + strings.Join(seeds, ", ")
	if more := len(row.off) - len(seeds); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if row.property == "" {
		return text
	}
	return "expected " + ExpectedWord(row.Expected) + ": " + text
}

// WriteRepeats sums up the scenarios that were run more than once, for a person at a
// terminal: those with a run that was not as expected first.
func WriteRepeats(w io.Writer, results []*Result, o terminal.Options) error {
	p := printer{Printer: terminal.New(o)}
	list := slices.DeleteFunc(repeatsOf(results), func(g *repeated) bool { return len(g.runs) < 2 })
	slices.SortStableFunc(list, func(a, b *repeated) int {
		return cmp.Compare(a.asExpected()-len(a.runs), b.asExpected()-len(b.runs))
	})
	for _, g := range list {
		p.repeats(g)
	}
	return p.WriteAll(w)
}

func (p *printer) repeats(g *repeated) {
	p.Print(p.Paint(terminal.Strong, plain.Text(g.runs[0].Scenario)), "   ",
		p.Paint(terminal.Faint, plain.Text(g.words()+"; "+brackets)), "\n")
	variant, beside := 0, 0
	for i := range g.rows {
		variant = max(variant, utf8.RuneCountInString(plain.Text(g.rows[i].variant)))
	}
	for i := range g.rows {
		if len(g.rows[i].off) == 0 {
			beside = max(beside, len(g.rows[i].beside()))
		}
	}
	room := max(p.Width-2-2-variant-2-nameColumn-2-2-beside, minWhyColumn)
	for i := range g.rows {
		row := &g.rows[i]
		mark, t := "~", terminal.Doubt
		if came := row.verdicts(); len(came) == 1 {
			pr := PropertyResult{Verdict: came[0].verdict, Expected: row.Expected, Met: len(row.off) == 0}
			mark, t = p.mark(pr.Verdict), verdictTone(&pr)
		}
		beside := p.Paint(terminal.Faint, row.beside())
		text := row.often()
		if len(row.off) > 0 {
			t, beside, text = terminal.Bad, "", text+"; "+row.beside()
		}
		lines := terminal.Wrap(plain.Text(text), room)
		p.Print("  ", p.Paint(t, mark), " ", terminal.Pad(plain.Text(row.variant), variant), "  ",
			terminal.Pad(plain.Text(string(row.property)), nameColumn), "  ",
			strings.TrimRight(terminal.Pad(lines[0], room)+"  "+beside, " "), "\n")
		for _, line := range lines[1:] {
			p.Print(strings.Repeat(" ", 4+variant+2+nameColumn+2), line, "\n")
		}
	}
}

// Told are the surprises that were told: of many runs each needs to be told but once.
type Told map[string]bool

// News reports that a run has a surprise that was not told, and takes it for told.
func (t Told) News(r *Result) (news bool) {
	for _, surprise := range surprises(r) {
		news = news || !t[surprise]
		t[surprise] = true
	}
	return news
}

// surprises names what a run did not do as expected.
func surprises(r *Result) (list []string) {
	add := func(parts ...string) { list = append(list, strings.Join(append(parts, sameScenario(r)), "\n")) }
	if outcomeOf(r) == interrupted {
		add("interrupted", fmt.Sprint(r.Seed))
	}
	if r.Error != "" {
		add(r.Error)
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Error != "" {
			add(v.Name, v.Error)
		}
		if v.Unknown != "" {
			add(v.Name, "unknown")
		}
		for j := range v.Properties {
			if p := &v.Properties[j]; !p.Met {
				add(v.Name, string(p.Name), verdictWord(p.Verdict), fmt.Sprint(p.TooSlow))
			}
		}
	}
	return list
}
