package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// WriteNotApplicable counts the variants of several results that were not run, a line for each reason, for a person at a terminal. Which
// they are stands in the results and on their pages.
func WriteNotApplicable(w io.Writer, results []*Result, o terminal.Options) error {
	var reasons []string
	count, all := make(map[string]int), 0
	told := make(map[string]bool) // a variant counts once, however often it was to be run
	for _, r := range results {
		for i := range r.Variants {
			v := &r.Variants[i]
			if key := sameScenario(r) + "\n" + v.Name; v.NotApplicable != "" && !told[key] {
				told[key] = true
				if all++; count[v.NotApplicable] == 0 {
					reasons = append(reasons, v.NotApplicable)
				}
				count[v.NotApplicable]++
			}
		}
	}
	if all == 0 {
		return nil
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return count[b] - count[a] })
	p := terminal.New(o)
	p.Print(p.Paint(terminal.Strong, "not applicable"), "   ", p.Paint(terminal.Faint, words.Count(all, "variant")), "\n")
	for _, reason := range reasons {
		lines := terminal.Wrap(plain.Text(reason), p.Width-8)
		p.Print(fmt.Sprintf("  %4d  ", count[reason]), lines[0], "\n")
		for _, line := range lines[1:] {
			p.Print("        ", line, "\n")
		}
	}
	return p.WriteAll(w)
}
