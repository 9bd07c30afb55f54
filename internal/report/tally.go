package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// outcome is what a result amounts to, from the best to the worst. The order is
// the one in which a suite's worst result decides its exit code.
type outcome uint8

const (
	// notApplicable: it was not run.
	notApplicable outcome = iota
	// nothingExpected: there was no expectation to meet.
	nothingExpected
	asExpected
	undecided
	unexpected
	interrupted
	failed
)

// outcomeOf says what r amounts to. An error outranks everything: where a run
// could not be carried out, its verdicts say nothing.
func outcomeOf(r *Result) outcome {
	worst := nothingExpected
	switch {
	case r.Error != "":
		worst = failed
	case r.Interrupted:
		worst = interrupted
	case !r.Applies():
		return notApplicable
	}
	for i := range r.Variants {
		worst = max(worst, variantOutcome(&r.Variants[i]))
	}
	if worst <= asExpected && !r.Met {
		worst = unexpected
		if r.Undecided {
			worst = undecided
		}
	}
	return worst
}

func variantOutcome(v *Variant) outcome {
	switch {
	case v.NotApplicable != "":
		return notApplicable
	case v.Error != "":
		return failed
	case v.Interrupted:
		return interrupted
	}
	worst := nothingExpected
	for i := range v.Properties {
		switch p := &v.Properties[i]; {
		case p.Met && p.Expected != 0:
			worst = max(worst, asExpected)
		case isUnexpected(p):
			worst = max(worst, unexpected)
		case isUndecided(p):
			worst = max(worst, undecided)
		}
	}
	if worst <= asExpected && v.Undecided {
		worst = undecided
	}
	return worst
}

// isUnexpected: a verdict was reached, and it is not the one asked for.
func isUnexpected(p *PropertyResult) bool { return p.Unexpected() }

// Unexpected reports that a verdict was reached that is not the one asked for, and that nothing but the lock or the
// scenario can be the reason.
func (p *PropertyResult) Unexpected() bool { return !p.Met && decided(p.Verdict) && !p.TooSlow }

// isUndecided: a verdict was asked for, and none was reached, or none that can be blamed on anybody.
func isUndecided(p *PropertyResult) bool { return !p.Met && !p.Unexpected() }

func decided(v checker.Verdict) bool {
	return v == checker.Holds || v == checker.Violated
}

// tally counts what a suite's last line says.
type tally struct {
	// A scenario counts once, and so do its variants, however often it was run.
	scenarios, runs, variants, unexpected, undecided, errors int
	// unmet are the variants that have something unexpected, unmetIn their scenarios.
	unmet, unmetIn int
	// slow are the runs for which this machine was too slow, in the words of the first.
	slow     int
	slowness string
	// unasked are the variants of which nothing is expected, notApplicable those that
	// were not run.
	unasked, notApplicable int
	worst                  outcome
}

// words are what a suite's summaries say: "2 variants, 0 unexpected, 0 undecided".
func (t tally) words() string {
	text := fmt.Sprintf("%s, %s, %d undecided", words.Count(t.variants, "variant"), t.unexpectedWords(), t.undecided)
	if t.runs > t.scenarios {
		text = words.Count(t.runs, "run") + ", " + text
	}
	if t.unasked > 0 {
		text += fmt.Sprintf(", %d with nothing expected", t.unasked)
	}
	if t.notApplicable > 0 {
		text += fmt.Sprintf(", %d not applicable", t.notApplicable)
	}
	return text
}

// unexpectedWords are "4 unexpected"; where it is another number of variants, or of scenarios, also in how many.
func (t tally) unexpectedWords() string {
	const of = "%s in %s"
	verdicts := words.Count(t.unexpected, "unexpected verdict")
	switch {
	case t.unexpected != t.unmet:
		return fmt.Sprintf(of, verdicts, words.Count(t.unmet, "variant"))
	case t.unmet != t.unmetIn && t.scenarios > 1:
		return fmt.Sprintf(of, verdicts, words.Count(t.unmetIn, "scenario"))
	}
	return fmt.Sprintf("%d unexpected", t.unexpected)
}

// tooSlow says for how much this machine was too slow; empty: for nothing.
func (t tally) tooSlow() string {
	if t.slow == 0 {
		return ""
	}
	noun := "scenario"
	if t.runs > t.scenarios {
		noun = "run"
	}
	return fmt.Sprintf("this machine was too slow for %d of %s: %s", t.slow, words.Count(t.runs, noun), plain.Text(t.slowness))
}

func tallyOf(results []*Result) tally {
	t := tally{runs: len(results)}
	seen := make(map[string]bool)
	once := func(what string) int {
		if seen[what] {
			return 0
		}
		seen[what] = true
		return 1
	}
	if len(results) == 0 {
		t.worst = nothingExpected
	}
	for _, r := range results {
		t.worst = max(t.worst, outcomeOf(r))
		t.scenarios += once(sameScenario(r))
		if r.Error != "" {
			t.errors++
		}
		if why := r.TooSlow(); why != "" {
			t.slow, t.slowness = t.slow+1, cmp.Or(t.slowness, why)
		}
		for i := range r.Variants {
			v := &r.Variants[i]
			own := v.Name + "\n" + sameScenario(r)
			t.variants += once(own)
			if o := variantOutcome(v); o == notApplicable {
				t.notApplicable += once("not applicable\n" + own)
			} else if o == nothingExpected {
				t.unasked += once("unasked\n" + own)
			}
			if v.Error != "" && r.Error == "" {
				t.errors++
			}
			if v.Unknown != "" { // whatever its history holds
				t.undecided++
			}
			for j := range v.Properties {
				if isUnexpected(&v.Properties[j]) {
					t.unexpected++
					t.unmet += once("unexpected\n" + own)
					t.unmetIn += once("unexpected in\n" + sameScenario(r))
				}
				if isUndecided(&v.Properties[j]) {
					t.undecided++
				}
			}
		}
	}
	return t
}

// verdictWord is the verdict as readers see it; one that is missing is unknown.
func verdictWord(v checker.Verdict) string {
	if v == checker.Holds || v == checker.Violated {
		return v.String()
	}
	return checker.Unknown.String()
}

// besideExpectation says the verdict together with what was expected of it.
func besideExpectation(p *PropertyResult) string {
	words := []string{verdictWord(p.Verdict), expectationWords(p), p.triedWords()}
	if p.Expected == 0 && !p.ByDesign {
		words[1] = ""
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), ", ")
}

// expectationWords say what was expected of a verdict.
func expectationWords(p *PropertyResult) string {
	switch {
	case p.ByDesign && p.Verdict == checker.Violated:
		return "by design"
	case p.ByDesign:
		return "not demanded of its class"
	case p.Expected == 0:
		return "nothing expected"
	case p.Met:
		return "as expected"
	case p.TooSlow:
		return "expected " + verdictWord(p.Expected) + ", but too slow"
	}
	return "expected " + verdictWord(p.Expected)
}

// triedWords say in which of several tries a verdict was seen: "shown in try 2 of 3".
func (p *PropertyResult) triedWords() string {
	t := p.Tried
	switch {
	case t == nil:
		return ""
	case p.Verdict == checker.Violated:
		return fmt.Sprintf("shown in try %d of %d", t.In, t.Allowed)
	case p.Expected == checker.Violated:
		return "not shown in " + words.Count(t.Made, "try")
	case p.Verdict == checker.Holds:
		return "in all of " + words.Count(t.Made, "try")
	}
	return fmt.Sprintf("in try %d of %d", t.In, t.Allowed)
}

// triesWords say which try of a variant is shown and where the others are.
func (v *Variant) triesWords() string {
	shown := v.shownTry()
	if shown == nil {
		return ""
	}
	text := fmt.Sprintf("try %d is shown, with seed %d", v.Shown, shown.Seed)
	for i, t := range v.Tries {
		if i+1 != v.Shown {
			text += fmt.Sprintf("; try %d, with seed %d, is in %s", i+1, t.Seed, t.Folder)
		}
	}
	return text
}

// replayOf is the command line that shows a variant again: with the seed of the try
// that is shown.
func replayOf(r *Result, v *Variant) string {
	if t := v.shownTry(); t != nil {
		return t.Replay
	}
	return r.Replay
}

// seedOf is the seed of what is shown of a variant.
func seedOf(r *Result, v *Variant) uint64 {
	if t := v.shownTry(); t != nil {
		return t.Seed
	}
	return r.Seed
}

// shownTry is the one of several tries that is shown, nil where there was one.
func (v *Variant) shownTry() *Try {
	if v.Shown < 1 || v.Shown > len(v.Tries) {
		return nil
	}
	return &v.Tries[v.Shown-1]
}

// replayLine is a command line that runs a scenario again; For says for which
// variant where they differ.
type replayLine struct{ Command, For string }

// replays are the command lines that show all variants again.
func replays(r *Result) []replayLine {
	var list []replayLine
	for _, v := range r.Variants {
		if command := replayOf(r, &v); command != r.Replay {
			list = append(list, replayLine{command, fmt.Sprintf("%s, try %d", v.Name, v.Shown)})
		}
	}
	if r.Replay != "" && (len(list) == 0 || len(list) < len(r.Variants)) {
		list = slices.Insert(list, 0, replayLine{Command: r.Replay})
	}
	return list
}

// PlayCommand is the command line that shows the run in the playground; empty: it cannot be had there.
func (p *resultPage) PlayCommand() string {
	rest, ok := strings.CutPrefix(p.Replay, "sim run ")
	at := strings.LastIndex(rest, " --seed ")
	if !ok || at < 0 || !p.Plays() {
		return ""
	}
	return fmt.Sprintf("sim play %s --seed %d", rest[:at], p.Seed)
}

// leadOf returns the property whose counterexample tells a variant's story best:
// what nobody expected, then what the scenario is about, then by rank. It is nil where
// nothing has a story.
func leadOf(v *Variant) *PropertyResult {
	var lead *PropertyResult
	for _, p := range v.Properties {
		if p.Counterexample == nil || len(p.Counterexample.Story) == 0 {
			continue
		}
		if lead == nil || leads(&p, lead) {
			lead = &p
		}
	}
	return lead
}

func leads(p, q *PropertyResult) bool {
	if isUnexpected(p) != isUnexpected(q) {
		return isUnexpected(p)
	}
	if onTrial(p) != onTrial(q) {
		return onTrial(p)
	}
	return p.Name.Distance() < q.Name.Distance()
}

// onTrial: the scenario is about the violation of this property.
func onTrial(p *PropertyResult) bool { return p.Expected == checker.Violated }

// Pictured is the property that a variant's picture is about: the one whose story is
// told, or else the first that was violated.
func (v *Variant) Pictured() *PropertyResult {
	if lead := leadOf(v); lead != nil {
		return lead
	}
	for i := range v.Properties {
		if v.Properties[i].Verdict == checker.Violated {
			return &v.Properties[i]
		}
	}
	return nil
}
