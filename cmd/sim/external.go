package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/trial"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// checkExternal makes sure that scenarios for existing servers name them, and
// that no command of a scenario is run without a word from the user.
func checkExternal(list []*scenario.Scenario, f runFlags) error {
	if f.world != trial.Live || f.nodes != string(server.External) {
		if f.allowHooks {
			return usageError("--allow-hooks is for --nodes external")
		}
		return nil
	}
	for _, s := range list {
		for i := range s.Variants {
			n := &s.Variants[i].Setup.Nodes
			if len(n.Addresses) == 0 {
				return usageError("%s: --nodes external needs the addresses of the nodes\nhint: nodes: {count: 1, addresses: [\"127.0.0.1:6379\"]}", s.File)
			}
			if commands := commandsOf(n); len(commands) > 0 && !f.allowHooks {
				return usageError("%s names commands to run on this machine:\n  %s\nhint: read them; if they are safe, run with --allow-hooks", s.File, strings.Join(commands, "\n  "))
			}
		}
	}
	return nil
}

// commandsOf are the hooks of the nodes, as a person can judge them.
func commandsOf(n *scenario.Nodes) []string {
	var list []string
	for _, node := range slices.Sorted(maps.Keys(n.Hooks)) {
		h := n.Hooks[node]
		for _, c := range [][]string{h.Pause, h.Resume, h.Kill, h.Restart, h.Clock} {
			if len(c) > 0 {
				list = append(list, fmt.Sprintf("%q", c))
			}
		}
	}
	return list
}
