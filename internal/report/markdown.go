package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// MaxSummary bounds a Markdown summary: GitHub refuses one above 1 MiB.
const MaxSummary = 1<<20 - 1<<12

// WriteMarkdown writes the results as a table, for a job summary or a comment:
// first what went wrong, with its story, then all verdicts. Missing are the shards that merged results lack.
func WriteMarkdown(w io.Writer, results []*Result, missing ...string) error {
	var b bytes.Buffer
	t := tallyOf(results)
	icon := map[outcome]string{notApplicable: "➖", nothingExpected: "➖",
		asExpected: "✅", undecided: "❔", unexpected: "❌", interrupted: "⏸️", failed: "💥"}
	if len(missing) > 0 && t.worst <= undecided {
		t.worst = undecided
	}
	fmt.Fprintf(&b, "## %s redlock-sim: %s, %s\n\n", icon[t.worst], words.Count(t.scenarios, "scenario"), t.words())
	if len(missing) > 0 {
		fmt.Fprintf(&b, "**%s.**\n\n", plain.Markdown(page.MissingShards(missing)))
	}
	if slow := t.tooSlow(); slow != "" {
		fmt.Fprintf(&b, "**%s.**\n\n", plain.Markdown(plain.Clip(slow, 500)))
	}
	told := make(Told)
	for _, r := range results {
		if told.News(r) {
			markdownTroubles(&b, r)
		}
	}
	if facts := lockOf(results); facts != nil {
		fmt.Fprintf(&b, "Lock: %s\n\n", plain.Markdown(plain.Clip(strings.Join(facts, "; "), 500)))
	}
	b.WriteString("| scenario | variant | property | verdict | |\n|---|---|---|---|---|\n")
	left := 0
	row := func(cells ...string) {
		if b.Len() > MaxSummary-4096 {
			left++
			return
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, g := range repeatsOf(results) {
		markdownRows(g, row)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%s not shown.\n", words.Count(left, "verdict"))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdownRows are the rows of a scenario in the table.
func markdownRows(g *repeated, row func(...string)) {
	name := plain.Markdown(g.runs[0].Scenario)
	several := len(g.runs) > 1
	if several {
		row(name, "", "", plain.Markdown(g.words()+"; "+brackets), "")
	}
	for i := range g.runs[0].Variants {
		v := &g.runs[0].Variants[i]
		if v.NotApplicable != "" {
			row(name, plain.Markdown(v.Name), "", "➖ not applicable", plain.Markdown(plain.Clip(plain.Text(v.NotApplicable), 200)))
		}
		for j := range v.Properties {
			if p := &v.Properties[j]; !several {
				row(name, plain.Markdown(v.Name), plain.Markdown(string(p.Name)), markdownVerdict(p),
					plain.Markdown(plain.Clip(plain.Text(p.Why), 200)))
			}
		}
	}
	for i := range g.rows {
		if of := &g.rows[i]; several {
			row(name, plain.Markdown(of.variant), plain.Markdown(string(of.property)),
				of.icon()+plain.Markdown(strings.Trim(of.often()+"; "+of.beside(), "; ")), plain.Markdown(plain.Clip(plain.Text(of.Why), 200)))
		}
	}
}

// icon shows at a glance whether all runs came out as expected.
func (row *repeatedRow) icon() string {
	if len(row.off) > 0 {
		return "❌ "
	}
	if row.Expected != 0 {
		return "✅ "
	}
	return ""
}

func markdownTroubles(b *bytes.Buffer, r *Result) {
	if r.Error != "" {
		fmt.Fprintf(b, "**%s could not be run:** %s\n\n", plain.Markdown(r.Scenario), plain.Markdown(plain.Clip(plain.Text(r.Error), 500)))
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Error != "" && v.Error != r.Error {
			fmt.Fprintf(b, "**%s / %s could not be run:** %s\n\n",
				plain.Markdown(r.Scenario), plain.Markdown(v.Name), plain.Markdown(plain.Clip(plain.Text(v.Error), 500)))
		}
		if doubt := v.Doubt(); doubt != "" {
			fmt.Fprintf(b, "**%s / %s is undecided:** %s\n\n",
				plain.Markdown(r.Scenario), plain.Markdown(v.Name), plain.Markdown(plain.Clip(plain.Text(doubt), 500)))
		}
		for _, p := range v.Properties {
			if p.Met || b.Len() > MaxSummary/2 {
				continue
			}
			fmt.Fprintf(b, "**%s / %s: %s is %s.** %s\n\n", plain.Markdown(r.Scenario), plain.Markdown(v.Name), plain.Markdown(string(p.Name)),
				plain.Markdown(besideExpectation(&p)), plain.Markdown(plain.Clip(plain.Text(p.Why), 300)))
			if c := p.Counterexample; c != nil {
				for _, s := range c.Story[:min(len(c.Story), maxSentences)] {
					fmt.Fprintf(b, "1. %s: %s\n", words.Seconds(s.At), plain.Markdown(plain.Clip(plain.Text(s.Text), 300)))
				}
				b.WriteByte('\n')
			}
			if replay := replayOf(r, v); replay != "" {
				fmt.Fprintf(b, "Replay: %s\n\n", plain.MarkdownCode(plain.Clip(plain.Text(replay), 500)))
			}
		}
	}
}

func markdownVerdict(p *PropertyResult) string {
	text := verdictWord(p.Verdict)
	switch {
	case isUnexpected(p):
		text = "❌ **" + text + "**, " + expectationWords(p)
	case isUndecided(p):
		text = "❔ **" + text + "**, " + expectationWords(p)
	case p.Expected != 0:
		text = "✅ " + text
	case p.ByDesign:
		text += ", " + expectationWords(p)
	}
	if tried := p.triedWords(); tried != "" {
		text += ", " + tried
	}
	return text
}
