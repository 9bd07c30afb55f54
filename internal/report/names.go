package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// mostNames is how many verdicts WriteNames names.
const mostNames = 20

// named is a verdict that is not as expected: whose it is, and the first run that shows it.
type named struct {
	undecided bool
	text      string
	run       *Result
	times     int
}

// WriteNames names each verdict of several results that is not as expected, with the report that shows it: what was reached first, then
// what is undecided, each once however many runs show it. reportOf is the path of a run's report; empty: it has none.
func WriteNames(w io.Writer, results []*Result, reportOf func(*Result) string, o terminal.Options) error {
	p := terminal.New(o)
	var wrong, doubts []*named
	for _, r := range results {
		for _, n := range namesOf(r) {
			to := &wrong
			if n.undecided {
				to = &doubts
			}
			*to = add(*to, n)
		}
	}
	all := slices.Concat(wrong, doubts)
	for _, n := range all[:min(len(all), mostNames)] {
		label, tone := "unexpected", terminal.Bad
		if n.undecided {
			label, tone = "undecided ", terminal.Doubt
		}
		text := plain.Text(n.text)
		if n.times > 1 {
			text += fmt.Sprintf(", in %d runs", n.times)
		}
		p.Print(p.Paint(tone, label), "  ", text)
		if path := reportOf(n.run); path != "" {
			p.Print("   ", p.Paint(terminal.Faint, plain.Text(path)))
		}
		p.Print("\n")
	}
	if more := len(all) - mostNames; more > 0 {
		p.Print(terminal.Pad("", len("unexpected")), "  and ", words.Grouped(more), " more: see the suite's page\n")
	}
	return p.WriteAll(w)
}

// add adds a name, or counts it where it is there.
func add(list []*named, n *named) []*named {
	for _, old := range list {
		if old.text == n.text {
			old.times++
			return list
		}
	}
	return append(list, n)
}

// namesOf names what a run did not do as expected. Without a verdict it is the run or the variant that could not be carried out or judged.
func namesOf(r *Result) (list []*named) {
	if !r.Applies() {
		return nil
	}
	name := func(undecided bool, text string) { list = append(list, &named{undecided, text, r, 1}) }
	scenario := cmp.Or(r.Scenario, "(unnamed)")
	if r.Error != "" {
		name(false, scenario+": could not be run: "+firstLine(r.Error))
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		whose := scenario + " / " + v.Name + ": "
		if v.Error != "" && r.Error == "" {
			name(false, whose+"could not be run: "+firstLine(v.Error))
		}
		if v.Unknown != "" {
			name(true, whose+firstLine(v.Unknown))
		}
		for j := range v.Properties {
			if one := &v.Properties[j]; !one.Met {
				name(isUndecided(one), whose+string(one.Name)+" "+besideExpectation(one))
			}
		}
	}
	return list
}

// firstLine is the first line of a text.
func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}
