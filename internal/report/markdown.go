package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// maxSummary bounds a Markdown summary: GitHub refuses one above 1 MiB.
const maxSummary = 1<<20 - 1<<12

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
	fmt.Fprintf(&b, "## %s redlock-sim: %s, %s\n\n", icon[t.worst], count(t.scenarios, "scenario"), t.words())
	if len(missing) > 0 {
		fmt.Fprintf(&b, "**%s.**\n\n", markdown(missingShards(missing)))
	}
	if slow := t.tooSlow(); slow != "" {
		fmt.Fprintf(&b, "**%s.**\n\n", markdown(clip(slow, 500)))
	}
	told := make(Told)
	for _, r := range results {
		if told.News(r) {
			markdownTroubles(&b, r)
		}
	}
	if facts := lockOf(results); facts != nil {
		fmt.Fprintf(&b, "Lock: %s\n\n", markdown(clip(strings.Join(facts, "; "), 500)))
	}
	b.WriteString("| scenario | variant | property | verdict | |\n|---|---|---|---|---|\n")
	left := 0
	row := func(cells ...string) {
		if b.Len() > maxSummary-4096 {
			left++
			return
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, g := range repeatsOf(results) {
		markdownRows(g, row)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%s not shown.\n", count(left, "verdict"))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdownRows are the rows of a scenario in the table.
func markdownRows(g *repeated, row func(...string)) {
	name := markdown(g.runs[0].Scenario)
	several := len(g.runs) > 1
	if several {
		row(name, "", "", markdown(g.words()+"; "+brackets), "")
	}
	for i := range g.runs[0].Variants {
		v := &g.runs[0].Variants[i]
		if v.NotApplicable != "" {
			row(name, markdown(v.Name), "", "➖ not applicable", markdown(clip(plain(v.NotApplicable), 200)))
		}
		for j := range v.Properties {
			if p := &v.Properties[j]; !several {
				row(name, markdown(v.Name), markdown(string(p.Name)), markdownVerdict(p), markdown(clip(plain(p.Why), 200)))
			}
		}
	}
	for i := range g.rows {
		if of := &g.rows[i]; several {
			row(name, markdown(of.variant), markdown(string(of.property)),
				of.icon()+markdown(strings.Trim(of.often()+"; "+of.beside(), "; ")), markdown(clip(plain(of.why), 200)))
		}
	}
}

// icon shows at a glance whether all runs came out as expected.
func (row *repeatedRow) icon() string {
	switch {
	case len(row.off) > 0:
		return "❌ "
	case row.expected != 0:
		return "✅ "
	}
	return ""
}

func markdownTroubles(b *bytes.Buffer, r *Result) {
	if r.Error != "" {
		fmt.Fprintf(b, "**%s could not be run:** %s\n\n", markdown(r.Scenario), markdown(clip(plain(r.Error), 500)))
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Error != "" && v.Error != r.Error {
			fmt.Fprintf(b, "**%s / %s could not be run:** %s\n\n", markdown(r.Scenario), markdown(v.Name), markdown(clip(plain(v.Error), 500)))
		}
		if v.TooSlow != "" {
			fmt.Fprintf(b, "**%s / %s is undecided:** this machine was too slow: %s\n\n",
				markdown(r.Scenario), markdown(v.Name), markdown(clip(plain(v.TooSlow), 500)))
		}
		for _, p := range v.Properties {
			if p.Met || b.Len() > maxSummary/2 {
				continue
			}
			fmt.Fprintf(b, "**%s / %s: %s is %s.** %s\n\n", markdown(r.Scenario), markdown(v.Name), markdown(string(p.Name)),
				markdown(besideExpectation(&p)), markdown(clip(plain(p.Why), 300)))
			if c := p.Counterexample; c != nil {
				for _, s := range c.Story[:min(len(c.Story), maxSentences)] {
					fmt.Fprintf(b, "1. %s: %s\n", seconds(s.At), markdown(clip(plain(s.Text), 300)))
				}
				b.WriteByte('\n')
			}
			if replay := replayOf(r, v); replay != "" {
				fmt.Fprintf(b, "Replay: %s\n\n", markdownCode(clip(plain(replay), 500)))
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

// markdown makes text of unknown origin stand for itself: a name must not be a
// link, an image, a mention, HTML or the end of a table's cell.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range plain(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("@<!-- -->")
		case strings.ContainsRune("\\`*_{}[]()#+!|~:", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Markdown is markdown for other packages, and MarkdownCode markdownCode, of one line.
func Markdown(s string) string     { return markdown(s) }
func MarkdownCode(s string) string { return markdownCode(plain(s)) }

// markdownCode writes text as code, with a fence longer than any in it.
func markdownCode(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + s + " " + fence
}
