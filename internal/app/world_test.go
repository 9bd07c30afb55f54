package app

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// What a request leaves open is settled once, and what it says stays.
func TestSettle(t *testing.T) {
	if missing := trial.VirtualTime(); missing != nil {
		suite.Lacks(t, "programs in virtual time: "+missing.Error())
	}
	mine := &scenario.StandIn{Program: &lock.Program{Command: []string{"./my-lock"}}}
	image := &scenario.StandIn{Program: &lock.Program{Command: []string{"image:mine"}}}
	builtIn := &scenario.StandIn{BuiltIn: lock.Config{Algorithm: "redlock"}}
	for name, c := range map[string]struct {
		world, nodes, usual   string
		locks                 []*scenario.StandIn
		system                string
		wantWorld, wantNodes  string
		chosen, told, refused bool
	}{
		"a program":            {locks: []*scenario.StandIn{mine}, wantWorld: request.Virtual, wantNodes: "auto", chosen: true},
		"one of two":           {locks: []*scenario.StandIn{builtIn, mine}, wantWorld: request.Virtual, wantNodes: "auto", chosen: true},
		"a lock of sim":        {locks: []*scenario.StandIn{builtIn}, wantWorld: request.Live, wantNodes: "docker", chosen: true},
		"that of the scenario": {locks: []*scenario.StandIn{nil}, wantWorld: request.Live, wantNodes: "docker", chosen: true},
		"usually virtual":      {usual: request.Virtual, wantWorld: request.Virtual, wantNodes: "auto", chosen: true},
		"live, by the user":    {world: request.Live, locks: []*scenario.StandIn{mine}, wantWorld: request.Live, wantNodes: "docker"},
		"virtual, by the user": {world: request.Virtual, locks: []*scenario.StandIn{builtIn}, wantWorld: request.Virtual, wantNodes: "auto"},
		"servers that exist": {nodes: "external", locks: []*scenario.StandIn{mine}, wantWorld: request.Live, wantNodes: "external",
			chosen: true},
		"processes": {nodes: "process", locks: []*scenario.StandIn{mine}, wantWorld: request.Virtual, wantNodes: "process",
			chosen: true},
		"an image":              {locks: []*scenario.StandIn{image}, wantWorld: request.Live, wantNodes: "docker", chosen: true, told: true},
		"where no programs run": {system: "plan9", locks: []*scenario.StandIn{mine}, wantWorld: request.Live, wantNodes: "docker", chosen: true},
		"a world that is not":   {world: "mars", refused: true},
	} {
		world, nodes, said := c.world, c.nodes, 0
		e := &Env{System: runtime.GOOS, RealTime: RealTime{Nodes: "docker"}}
		if c.system != "" {
			e.System = c.system
		}
		if c.usual == "" {
			c.usual = request.Live
		}
		p := &place{world: &world, nodes: &nodes}
		err := e.settle(t.Context(), p, c.usual, c.locks, func(Event) { said++ })
		if c.refused {
			if ExitCode(err) != ExitUsage {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || world != c.wantWorld || nodes != c.wantNodes || p.chosen != c.chosen || said > 0 != c.told {
			t.Errorf("%s: %s, %s, chosen %v, told %d times, %v", name, world, nodes, p.chosen, said, err)
		}
	}
}

// Where virtual time cannot be had the user reads why, and what mends it.
func TestFallBack(t *testing.T) {
	mine := &scenario.StandIn{Program: &lock.Program{}, Ready: program.Ready{Name: "mine", Store: program.Postgres}}
	for _, c := range []struct {
		why  error
		want []string
	}{
		{&trial.EnvironmentError{Err: errors.New("no kernel"), Hint: "another one"},
			[]string{"virtual time cannot be had here: no kernel; this runs in real time", "hint: another one"}},
		{&trial.EnvironmentError{Err: errors.New("no kernel")},
			[]string{"virtual time cannot be had here: no kernel; this runs in real time", "hint: sim doctor says what is missing"}},
		{storesInRealTime(nil, mine), []string{"virtual time cannot be had here: " +
			"mine keeps its lock in PostgreSQL, which runs in real time alone; this runs in real time"}},
	} {
		world, nodes := request.Virtual, "process"
		var told []string
		p := &place{world: &world, nodes: &nodes, open: true}
		p.fallBack(&Env{}, c.why, func(e Event) { told = append(told, e.(Note).Text) })
		if world != request.Live || nodes != "auto" || !slices.Equal(told, c.want) {
			t.Errorf("%v: %s, %s, %q", c.why, world, nodes, told)
		}
	}
	if err := storesInRealTime(nil, &scenario.StandIn{}, &scenario.StandIn{Program: &lock.Program{}}); err != nil {
		t.Error(err)
	}
}
