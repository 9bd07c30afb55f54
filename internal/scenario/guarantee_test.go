package scenario_test

import (
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// What is lost by design is lost because something failed that the design relies on.
func TestGuaranteesGiveUpSomething(t *testing.T) {
	t.Parallel()
	for _, g := range scenario.Guarantees() {
		if (g.ByDesign() != "") != (len(g.GivesUp()) > 0) {
			t.Errorf("%s is lost by design (%q), and gives up %q", g, g.ByDesign(), g.GivesUp())
		}
		if slices.Contains(g.GivesUp(), checker.BlamesLock) || slices.Contains(g.GivesUp(), checker.BlamesNothing) {
			t.Errorf("%s gives up what no design does: %q", g, g.GivesUp())
		}
	}
	for p, want := range map[checker.Property]scenario.Guarantee{
		checker.ExclusiveLease: "exclusive", checker.OwnerRelease: "owner-only", checker.DeadlockFree: "progress",
		checker.NoOrphanLock: "lost-release", checker.Atomic: scenario.NoGuarantee, checker.AsksItsTTL: "exclusive",
	} {
		if got := scenario.Home(p); got != want {
			t.Errorf("%s belongs to %s, want %s", p, got, want)
		}
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	shipped, err := scenario.LoadAll("node-restart", "failover-wait", "many-clients", "woken-by-release")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shipped {
		for i := range s.Variants {
			v, ok := s.Guarantee.Control(s.Variants[i])
			kills := slices.ContainsFunc(v.Setup.Faults.List, func(f scenario.Fault) bool { return f.Kind == "kill" || f.Kind == "promote" })
			if want := s.Name == "node-restart" || s.Name == "failover-wait"; ok != want || ok && kills {
				t.Errorf("%s, %s: control %v, with kills %v", s.Name, v.Name, ok, kills)
			}
		}
	}
}

// Where other faults are left, two holders at once speak for a guarantee that is about these.
func TestHomeWith(t *testing.T) {
	t.Parallel()
	for want, kinds := range map[scenario.Guarantee][]string{
		"exclusive": nil, "unreachable-minority": {"reset", "cut"}, "late-messages": {"cut", "pause"},
	} {
		var left scenario.Faults
		for _, k := range kinds {
			left.List = append(left.List, scenario.Fault{Kind: k})
		}
		if got := scenario.HomeWith(checker.ExclusiveLease, left); got != want {
			t.Errorf("with %q left: %s, want %s", kinds, got, want)
		}
		if got := scenario.HomeWith(checker.OwnerRelease, left); got != "owner-only" {
			t.Errorf("owner-release with %q left: %s", kinds, got)
		}
	}
}
