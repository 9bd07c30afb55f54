package trial

import (
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// late makes a try as tried does, for which the machine was too slow.
func late(letters string) attempt {
	a := tried(letters)
	a.Pace = &report.Pace{Late: time.Second}
	for i := range a.Properties {
		p := &a.Properties[i]
		p.TooSlow = !p.Met
	}
	verdict.Settle(&a.Variant)
	return a
}

// A violation that is expected, and did not show, might have shown in the try for which the machine was too slow. What must hold is
// violated where it was so in a try in which nothing was late.
func TestCombineSlow(t *testing.T) {
	for name, c := range map[string]struct {
		tries     []attempt
		undecided bool
		slow      bool
	}{
		"not shown":                         {[]attempt{tried("hhh"), tried("hhh"), tried("hhh")}, false, false},
		"not shown, and one was slow":       {[]attempt{tried("hhh"), late("hhh"), tried("hhh")}, true, true},
		"shown at last":                     {[]attempt{late("hhh"), tried("vvh")}, false, false},
		"violated in the slow one":          {[]attempt{tried("hvh"), late("vvv")}, true, true},
		"violated in another, after a slow": {[]attempt{late("hvh"), tried("vvv")}, false, false},
	} {
		got := combine(c.tries, 3)
		if got.Undecided != c.undecided || (got.TooSlow != "") != c.slow {
			t.Errorf("%s: undecided %v, too slow %q", name, got.Undecided, got.TooSlow)
		}
	}
}

// tried makes a try of three properties: the first two are expected to be violated,
// the third to hold. A verdict is a letter: h, v or u.
func tried(letters string) attempt {
	verdicts := map[rune]checker.Verdict{'h': checker.Holds, 'v': checker.Violated, 'u': checker.Unknown}
	names := []checker.Property{checker.ExclusiveLease, checker.NoLateEffect, checker.LinearizableResource}
	expected := []checker.Verdict{checker.Violated, checker.Violated, checker.Holds}
	var a attempt
	for i, letter := range letters {
		f := checker.Finding{Property: names[i], Verdict: verdicts[letter], Events: []int{7}, Counterexample: &checker.Counterexample{}}
		a.Properties = append(a.Properties, report.Judged(f, expected[i]))
	}
	verdict.Settle(&a.Variant)
	return a
}

func TestCombine(t *testing.T) {
	for name, c := range map[string]struct {
		tries   []string
		want    string
		shown   int
		another bool // is one more try worth it?
		met     bool
	}{
		"all at once":                         {[]string{"vvh"}, "vvh", 0, false, true},
		"nothing showed":                      {[]string{"hhh"}, "hhh", 0, true, false},
		"one showed":                          {[]string{"vhh"}, "vhh", 0, true, false},
		"could not be judged":                 {[]string{"uuh"}, "uuh", 0, true, false},
		"showed later":                        {[]string{"hhh", "vvh"}, "vvh", 2, false, true},
		"each in a try of its own":            {[]string{"vhh", "hvh"}, "vvh", 2, false, true},
		"the first shows most":                {[]string{"vuh", "huh", "hvh"}, "vvh", 3, false, true},
		"never, and not judged in one":        {[]string{"hhh", "uhh", "hhh"}, "uhh", 2, true, false},
		"what must hold is violated":          {[]string{"hhv"}, "hhv", 0, false, false},
		"it is violated later":                {[]string{"vhh", "hvv"}, "vvv", 2, false, false},
		"a contradiction comes first":         {[]string{"vuh", "hhv"}, "vuv", 2, false, false},
		"what must hold stays undecided":      {[]string{"hhu", "vvh"}, "vvu", 2, false, false},
		"an undecided one does not end it":    {[]string{"hhu"}, "hhu", 0, true, false},
		"nothing is tried again to decide it": {[]string{"vvu"}, "vvu", 0, false, false},
	} {
		var tries []attempt
		for _, letters := range c.tries {
			tries = append(tries, tried(letters))
		}
		got := combine(tries, 3)
		verdicts := ""
		for i, p := range got.Properties {
			verdicts += p.Verdict.String()[:1]
			if p.Tried == nil {
				continue
			}
			if in := tries[p.Tried.In-1].Properties[i]; in.Verdict != p.Verdict {
				t.Errorf("%s: %s is said to be of try %d, which has %s", name, p.Verdict, p.Tried.In, in.Verdict)
			}
			if here := p.Tried.In == got.Shown; here != (len(p.Events) > 0) || here != (p.Counterexample != nil) {
				t.Errorf("%s: %s of try %d points into the history of try %d", name, p.Name, p.Tried.In, got.Shown)
			}
		}
		if verdicts != c.want || got.Shown != c.shown || got.Met != c.met {
			t.Errorf("%s: %s, met %v, try %d is shown; want %s, %v, %d", name, verdicts, got.Met, got.Shown, c.want, c.met, c.shown)
		}
		if another := worthAnother(tries); another != c.another {
			t.Errorf("%s: another try is worth it: %v", name, another)
		}
	}
}
