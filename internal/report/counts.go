package report

import (
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// Counts are the verdicts of one property over all runs of one side.
type Counts struct {
	Runs     int `json:"runs"`
	Holds    int `json:"holds"`
	Violated int `json:"violated"`
	Unknown  int `json:"unknown"`
	// Unmet is how many were not as expected, Failed how many runs could not
	// be carried out.
	Unmet  int `json:"unmet"`
	Failed int `json:"failed,omitempty"`
}

// CountKey is whose verdicts are counted. Without a property it stands for the variant
// as a whole; without a variant, for the scenario.
type CountKey struct {
	Scenario, Variant string
	Property          checker.Property
}

// Counted is what came of one property, variant or scenario in all runs. Walls are how long its runs took, in ms.
type Counted struct {
	Counts
	Expected checker.Verdict
	Why      string
	Walls    []int64
}

// CountVerdicts counts the verdicts of results.
func CountVerdicts(results []*Result) map[CountKey]*Counted {
	cells := map[CountKey]*Counted{}
	at := func(k CountKey) *Counted {
		if cells[k] == nil {
			cells[k] = &Counted{}
		}
		return cells[k]
	}
	for _, r := range results {
		c := at(CountKey{Scenario: r.Scenario})
		c.Runs++
		if r.Error != "" {
			c.Failed++
			c.Why = r.Error
		}
		for i := range r.Variants {
			v := &r.Variants[i]
			if v.NotApplicable != "" {
				continue
			}
			whole := at(CountKey{Scenario: r.Scenario, Variant: v.Name})
			whole.Runs++
			whole.Walls = append(whole.Walls, v.WallMS)
			if v.Error != "" && v.Error != r.Error {
				whole.Failed++
				whole.Why = v.Error
			}
			for j := range v.Properties {
				at(CountKey{r.Scenario, v.Name, v.Properties[j].Name}).add(&v.Properties[j])
			}
		}
	}
	return cells
}

func (c *Counted) add(p *PropertyResult) {
	c.Runs++
	c.Expected = p.Expected
	switch p.Verdict {
	case checker.Holds:
		c.Holds++
	case checker.Violated:
		c.Violated++
	default:
		c.Unknown++
	}
	if !p.Met {
		c.Unmet++
	}
	if c.Why == "" || !p.Met {
		c.Why = p.Why
	}
}

// ExpectedWord is what was expected, in a word.
func ExpectedWord(v checker.Verdict) string {
	if v == 0 {
		return "nothing"
	}
	return verdictWord(v)
}

// Words says counts for a person: "holds", or "violated in 3 of 10".
func (c Counts) Words() string {
	if c.Failed > 0 {
		if c.Runs == 1 {
			return "could not be run"
		}
		return fmt.Sprintf("could not be run in %d of %d", c.Failed, c.Runs)
	}
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{c.Holds, "holds"}, {c.Violated, "violated"}, {c.Unknown, "unknown"}} {
		if p.n == 0 {
			continue
		}
		if c.Runs > 1 && p.n < c.Runs {
			p.word += fmt.Sprintf(" in %d of %d", p.n, c.Runs)
		}
		parts = append(parts, p.word)
	}
	if len(parts) == 0 {
		if c.Runs > 0 {
			return "could be run"
		}
		return "not judged"
	}
	return strings.Join(parts, ", ")
}

// CountSurprises counts variants, each of a scenario once, and the verdicts that are unexpected and undecided.
func CountSurprises(results []*Result) (variants, unexpected, undecided int) {
	t := tallyOf(results)
	return t.variants, t.unexpected, t.undecided
}
