package app

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// What real servers do in the run that was found stands beside it. A search that is strict ends where they differ.
func TestFindsAreHeldAgainstServers(t *testing.T) {
	on := func(lacking, differs string, v checker.Verdict, apart time.Duration) trial.OnServers {
		return trial.OnServers{Property: checker.ExclusiveLease, Lacking: lacking, OnModels: checker.Violated, Verdict: v,
			Agreement: guests.Agreement{Differs: differs, Changes: 7, Apart: apart, Where: "A: here, and there on a model"}}
	}
	drawn := func(runs int, v checker.Verdict) trial.OnServers {
		return trial.OnServers{Property: checker.ExclusiveLease, OnModels: checker.Violated, Verdict: v, Runs: runs, Seed: 5,
			Agreement: guests.Agreement{Drawn: "whom sentinels elect"}}
	}
	for name, test := range map[string]struct {
		on           trial.OnServers
		said         string
		proved, same bool
	}{
		"the same": {on("", "", checker.Violated, 300), "real servers do the same: 7 changes of keys and nodes, at most 300ns apart", true, true},
		"the same, far apart": {on("", "", checker.Violated, time.Second),
			"real servers do the same: 7 changes of keys and nodes, at most 1s apart (A: here, and there on a model)", true, true},
		"another order": {on("", "A: this, and that on a model", checker.Violated, 0),
			"real servers differ from the model: A: this, and that on a model", true, false},
		"another verdict": {on("", "", checker.Holds, 0), "real servers differ from the model: exclusive-lease is holds there", false, false},
		"drawn": {drawn(2, checker.Violated),
			"real servers show it, too, with seed 5, where keys changed otherwise: they draw whom sentinels elect", true, true},
		"drawn, and never so": {drawn(10, checker.Holds),
			"real servers, which draw whom sentinels elect, did not show it in 10 runs", false, false},
		"no servers": {on("there are none", "", 0, 0), "not run on real servers: there are none", true, false},
	} {
		for _, strict := range []bool{false, true} {
			s := &searching{out: &SearchResult{Request: request.Search{StrictModel: strict}}}
			one := Found{File: "found.yaml", Proved: true}
			err := s.tellServers(&one, &test.on)
			if one.Servers != test.said || one.Proved != test.proved {
				t.Errorf("%s: %q, proved: %v", name, one.Servers, one.Proved)
			}
			switch stops := strict && !test.same; {
			case (err != nil) != stops:
				t.Errorf("%s, strict %v: %v", name, strict, err)
			case stops && (ExitCode(err) != ExitInternal || !strings.Contains(err.Error(), test.said)):
				t.Errorf("%s: exit code %d, %v", name, ExitCode(err), err)
			}
		}
	}
}
