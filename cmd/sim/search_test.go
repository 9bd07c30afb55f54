package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
)

// Nothing found says nothing if many runs were not carried out, or not judged. The last line has the numbers.
func TestSearchesThatTellNothing(t *testing.T) {
	search := explore.Search{Properties: []checker.Property{checker.DeadlockFree}}
	for name, c := range map[string]struct {
		report explore.Report
		found  bool
		want   string
	}{
		"all is well": {explore.Report{Runs: 152}, false, ""},
		"no run": {explore.Report{},
			false, "  undecided  no run was over when the time was: let it search for longer (--for)\n"},
		"few failed": {explore.Report{Runs: 152, Failed: 15}, false, ""},
		"more failed": {explore.Report{Runs: 152, Failed: 16, Failure: "no node\nmore"},
			false, "  undecided  16 of 152 runs tell nothing: 16 could not be carried out (the last: no node)\n"},
		"too slow for many": {explore.Report{Runs: 152, Slow: 69, Slowness: "no answer\nmore"},
			false, "  undecided  69 of 152 runs tell nothing: 69 not judged because this machine was too slow (the last: no answer)\n"},
		"few in doubt": {explore.Report{Runs: 152, Unjudged: 15, Doubt: "x"}, false, ""},
		"a few of each": {explore.Report{Runs: 152, Failed: 6, Failure: "no node", Slow: 5, Slowness: "no answer", Unjudged: 5, Doubt: "a key"},
			false, "  undecided  16 of 152 runs tell nothing: 6 could not be carried out (the last: no node); " +
				"5 not judged because this machine was too slow (the last: no answer); 5 could not be judged (the last: a key)\n"},
		"most unfinished": {explore.Report{Runs: 152, Unfinished: 80},
			false, "  undecided  80 of 152 runs did not finish: they came to the time limit\n"},
		"too slow for few": {explore.Report{Runs: 152, Slow: 2, Slowness: "no answer"},
			false, "  too slow   this machine was too slow for 2 of 152 runs, which are not judged; the last: no answer\n"},
		"too slow for many, and found": {explore.Report{Runs: 152, Slow: 69, Slowness: "no answer"},
			true, "  too slow   this machine was too slow for 69 of 152 runs, which are not judged; the last: no answer\n"},
		"ended early": {explore.Report{Runs: 152, Slow: 2, Slowness: "no answer", GaveUp: true},
			false, "  undecided  2 of 152 runs tell nothing: 2 not judged because this machine was too slow (the last: no answer); " +
				"so the search ended early\n"},
	} {
		var out bytes.Buffer
		c.report.Judged = []explore.Class{{Name: string(checker.DeadlockFree), Runs: 80, Drawn: 80}}
		why := app.Untold(search.Properties, &c.report)
		result := &app.SearchResult{Of: search, Report: c.report, Untold: why}
		if c.found {
			result.Found = []app.Found{{File: "x.yaml"}}
		}
		(&cli{stdout: &out}).printUntold(context.Background(), result)
		if out.String() != c.want || (why != "") != (strings.Contains(c.want, "undecided") || c.found) {
			t.Errorf("%s: %q (%s), want %q", name, out.String(), why, c.want)
		}
	}
}

// Reasons that differ in figures and names alone are one, the most frequent comes first, and together they are all runs that did not judge.
func TestReasonsOfASearchAddUp(t *testing.T) {
	reason := func(p checker.Property, runs uint64, why string) explore.Reason {
		return explore.Reason{Property: p, Why: why, Runs: runs}
	}
	r := &explore.Report{Runs: 2000, Reasons: []explore.Reason{
		reason(checker.DeadlockFree, 24, "0 grants was lost at 3 s by \"z\""),
		reason(checker.DeadlockFree, 978, "1 grant was lost at 2.5 ms by \"x\""),
		reason(checker.DeadlockFree, 22, "3 grants was lost at 17 ms by \"y\""), reason(checker.ExclusiveLease, 7, "another property"),
		reason(checker.DeadlockFree, 100, "nobody tried"), reason(checker.DeadlockFree, 10, "rare"), reason(checker.DeadlockFree, 9, "rarer"),
	}}
	got := strings.Join(whyNot(r, checker.DeadlockFree, 1500), "; ")
	want := `1 grant was lost at 2.5 ms by "x" (1,024 runs, some with other figures); nobody tried (100 runs); rare (10 runs); ` +
		"other reasons (366 runs)"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := whyNot(r, checker.DeadlockFree, 1134); len(got) != mostReasons {
		t.Errorf("others where there are none: %q", got)
	}
}
