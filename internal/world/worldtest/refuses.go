package worldtest

import (
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// none is a value that no closed type has.
const none = 99

// RefusesTheUnknown makes sure that a world refuses kinds that there are not: those
// that its Spec asks for before anything is built, and those of a call at the call.
// The Spec has a node A, a client c1 and a link between them.
func RefusesTheUnknown(t *testing.T, spec world.Spec, open func(world.Spec) (world.World, error)) {
	t.Helper()
	refused := func(what, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	for _, test := range []struct {
		name, want string
		change     func(*world.Spec)
	}{
		{"a power", "no power 99", func(s *world.Spec) { s.Needs = []world.Power{world.PausePower, none} }},
		{"no power", "no power 0", func(s *world.Spec) { s.Needs = []world.Power{0} }},
		{"a kind of disturbance", "no power 0", func(s *world.Spec) { s.Needs = []world.Power{world.DisturbanceKind(none).Power()} }},
		{"a node's persistence", "no persistence 99", func(s *world.Spec) { s.Nodes = []world.Node{{Name: "A", Persistence: none}} }},
		{"the resource's persistence", "no persistence 99", func(s *world.Spec) { s.StorePersistence = none }},
	} {
		changed := spec
		test.change(&changed)
		_, err := open(changed)
		refused(test.name, test.want, err)
	}
	w, err := open(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	links := []world.Link{{From: "c1", To: "A"}}
	for _, test := range []struct {
		d    world.Disturbance
		want string
	}{{world.Disturbance{}, "no disturbance 0"}, {world.Disturbance{Kind: none}, "no disturbance 99"},
		{world.Disturbance{Kind: world.Cut, Direction: none}, "no direction 99"}} {
		_, err := w.Disturb(links, test.d)
		refused("a disturbance", test.want, err)
	}
	refused("a clock", "no clock 99", w.SetClock("c1", none, world.ClockFault{Rate: 1}))
	refused("a clock set right", "no clock 99", w.ResetClock("c1", none))
	refused("what is kept", "no keep 99", w.Restart("A", none))
}
