package card

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// WriteMarkdown writes a card as Markdown, for a job summary or a design review. Links are
// relative to the card's folder.
func WriteMarkdown(w io.Writer, c *Card) error {
	var b bytes.Buffer
	head := func(cells ...string) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	var labels []string
	for i := range c.Locks {
		labels = append(labels, plain.Markdown(c.Locks[i].Label))
	}
	fmt.Fprintf(&b, "## Report card: %s\n\n", strings.Join(labels, ", "))
	for i := range c.Locks {
		l := &c.Locks[i]
		fmt.Fprintf(&b, "**%s**: %s. %s.\n\n", plain.Markdown(l.Label), plain.Markdown(l.sum(c)),
			plain.Markdown(plain.Clip(strings.Join(l.Facts(), "; "), 500)))
		if l.NotConforming != "" {
			fmt.Fprintf(&b, "It does not conform to the lock protocol, so nothing is held against it here: %s.\n\n", plain.Markdown(l.NotConforming))
		}
		for _, c := range l.Findings() {
			fmt.Fprintf(&b, "%s\n\n", plain.Markdown(c.Why))
		}
	}
	if len(c.Missing) > 0 {
		fmt.Fprintf(&b, "❔ **%s.** Their cells are unknown.\n\n", plain.Markdown(page.MissingShards(c.Missing)))
	}
	head(append([]string{"guarantee"}, labels...)...)
	head(slices.Repeat([]string{"---"}, len(labels)+1)...)
	for _, g := range c.Guarantees {
		row := []string{fmt.Sprintf("**%s** %s", plain.Markdown(g.Name), plain.Markdown(g.Title))}
		for i := range c.Locks {
			look := cellLooks[c.Locks[i].Row(g.Name)]
			text := look.markdown + " " + look.badge.Word
			if by := c.byDeployment(&c.Locks[i], g.Name); by != "" {
				text += " (" + plain.Markdown(by) + ")"
			}
			row = append(row, text)
		}
		head(row...)
	}
	for i := range c.Locks {
		l := &c.Locks[i]
		fmt.Fprintf(&b, "\n### %s: all cases\n\n| case | | |\n|---|---|---|\n", plain.Markdown(l.Label))
		all := l.all()
		for j, cell := range all {
			look := cellLooks[cell.State]
			if b.Len() > report.MaxSummary-4096 {
				fmt.Fprintf(&b, "\n%s not shown.\n", words.Count(len(all)-j, "case"))
				break
			}
			head(plain.Markdown(cell.ID), look.markdown+" "+look.badge.Word, plain.Markdown(plain.Clip(plain.Text(cell.Said()), 300)))
		}
	}
	for i := range c.Locks {
		for j := range c.Locks[i].Costs {
			cost := &c.Locks[i].Costs[j]
			if i == 0 && j == 0 {
				b.WriteString("\n### What it costs\n\n| lock | setting | |\n|---|---|---|\n")
			}
			head(plain.Markdown(c.Locks[i].Label), plain.Markdown(cost.Scenario+", "+cost.Variant), plain.Markdown(report.CostWords(&cost.Cost)))
		}
	}
	b.WriteString("\n")
	for _, legend := range legend {
		fmt.Fprintf(&b, "- %s **%s**: %s.\n", cellLooks[legend.State].markdown, legend.State, legend.Means)
	}
	_, err := w.Write(b.Bytes())
	return err
}
