package scenario

import (
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Demands are what the setup asks of the places where its nodes run, so that a
// place that cannot do it can refuse by name. What befalls clients, the resource
// and links is no matter of theirs.
func (s *Setup) Demands() []world.Demand {
	var list []world.Demand
	if s.Resource.Store == "postgres" {
		list = append(list, world.Demand{Power: world.PostgresPower, By: "resource: {store: postgres}"})
	}
	nodes := NodeNames(s.Nodes.Count)
	servers := nodes
	if s.Nodes.Watched() {
		list = append(list, world.Demand{Power: world.SentinelPower, Node: nodes[0], By: "topology: sentinel"})
		servers = slices.Concat(nodes, SentinelNames(s.Nodes.Sentinels))
	} else if s.Nodes.Replicated() {
		list = append(list, world.Demand{Power: world.ReplicaPower, Node: nodes[0], By: "topology: replicated"})
	}
	for i := range s.Faults.List {
		f := &s.Faults.List[i]
		if f.awaitsMessage() {
			list = append(list, world.Demand{Power: world.MessagePower, By: fmt.Sprintf("fault %d", i+1)})
		}
		if f.refuses() {
			list = append(list, world.Demand{Power: world.RefusePower, By: fmt.Sprintf("fault %d", i+1)})
		}
		if node := f.Params.Target(); slices.Contains(servers, node) {
			for _, p := range nemesis.PowersOf(f.Kind, f.Params) {
				list = append(list, world.Demand{Power: p, Node: node, By: fmt.Sprintf("fault %d (%s of %s)", i+1, f.Kind, noun(nodes, node))})
			}
		}
	}
	return append(list, s.mixDemands(nodes)...)
}

// noun is what a sentence calls a node or a sentinel.
func noun(nodes []string, name string) string {
	if slices.Contains(nodes, name) {
		return "node " + name
	}
	return "sentinel " + name
}

// onNodes are the powers over nodes that a mix can draw on.
var onNodes = []world.Power{world.PausePower, world.CrashPower, world.NodeClockPower, world.PowerCutPower, world.MemoryPower}

func (s *Setup) mixDemands(nodes []string) []world.Demand {
	var list []world.Demand
	if s.Faults.Mix == nil {
		return nil
	}
	for _, name := range nemesis.MixKinds() {
		drawn, ok := s.Faults.Mix.Kinds[name]
		if !ok || drawn.Of == "clients" {
			continue
		}
		kind, _ := nemesis.Lookup(name)
		for _, p := range kind.Powers {
			for _, node := range nodes {
				if slices.Contains(onNodes, p) {
					list = append(list, world.Demand{Power: p, Node: node, By: fmt.Sprintf("the mix (%s of node %s)", name, node)})
				}
			}
		}
	}
	return list
}
