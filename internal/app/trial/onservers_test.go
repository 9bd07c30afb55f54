package trial

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// A run with models is the same on real servers in virtual time: the verdict, and what happens to keys in which order.
func TestRunOnServers(t *testing.T) {
	server, _, err := VirtualServer(t.Context(), "")
	if err != nil {
		suite.Lacks(t, err.Error())
	}
	for _, test := range []struct {
		scenario string
		property checker.Property
		verdict  checker.Verdict
	}{{"gc-pause", checker.ExclusiveBelief, checker.Violated}, {"set-nx-px", checker.OwnerRelease, checker.Holds}} {
		s, err := scenario.Load("../../../scenarios/" + test.scenario + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		on, err := RunOnServers(t.Context(), s, 1, server, test.property, test.verdict)
		if err != nil || !on.Same() || on.Verdict != test.verdict || on.Changes < 5 {
			t.Errorf("%s: %+v, %v", test.scenario, on, err)
		}
	}
	for _, name := range []string{"sentinel-failover", "sentinel-quick-restart"} {
		s, err := scenario.Load("../../../scenarios/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		on, err := RunOnServers(t.Context(), s, 1, server, checker.ExclusiveLease, checker.Violated)
		if err != nil || on.Drawn == "" || !on.Same() || on.Verdict != checker.Violated || on.Seed < 1 {
			t.Errorf("%s: %+v, %v", name, on, err)
		}
	}
}
