package main

import (
	"bytes"
	"context"
	"testing"

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
		"few failed":  {explore.Report{Runs: 152, Failed: 15}, false, ""},
		"more failed": {explore.Report{Runs: 152, Failed: 16},
			false, "  undecided  16 of 152 runs could not be carried out, or not be judged\n"},
		"too slow for many": {explore.Report{Runs: 152, Slow: 69, Slowness: "no answer\nmore"},
			false, "  undecided  this machine was too slow for 69 of 152 runs, which are not judged; the last: no answer\n"},
		"too slow for few": {explore.Report{Runs: 152, Slow: 2, Slowness: "no answer"},
			false, "  too slow   this machine was too slow for 2 of 152 runs, which are not judged; the last: no answer\n"},
		"too slow for many, and found": {explore.Report{Runs: 152, Slow: 69, Slowness: "no answer"},
			true, "  too slow   this machine was too slow for 69 of 152 runs, which are not judged; the last: no answer\n"},
		"ended early": {explore.Report{Runs: 152, Slow: 2, Slowness: "no answer", GaveUp: true},
			false, "  undecided  this machine was too slow for 2 of 152 runs, which are not judged; " +
				"the last: no answer (so the search ended early)\n"},
	} {
		var out bytes.Buffer
		c.report.Judged = []explore.Class{{Name: string(checker.DeadlockFree), Runs: 80, Drawn: 80}}
		why := (&app{stdout: &out}).printUntold(context.Background(), search, &c.report, c.found)
		if out.String() != c.want || (why != "") != (c.report.GaveUp || 10*(c.report.Failed+c.report.Slow) > c.report.Runs) {
			t.Errorf("%s: %q (%s), want %q", name, out.String(), why, c.want)
		}
	}
}
