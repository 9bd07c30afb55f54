package scenario

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Deployment is where a lock is kept: how its nodes are arranged, and what they promise of a write that they have acknowledged.
type Deployment string

var (
	// arrangements are how nodes are arranged, in the order of a report card.
	arrangements = []string{"one node", "several nodes", "replicas", "Sentinel", "Cluster"}
	// promises are what nodes promise of such a write; empty: nothing, a node that crashes may have lost any.
	promises = []string{"", "fsync each second", "fsync always", "min-replicas"}
)

func deployment(arrangement, promise string) Deployment {
	if promise == "" {
		return Deployment(arrangement)
	}
	return Deployment(arrangement + ", " + promise)
}

// Deployments lists them in the order of a report card.
func Deployments() (list []Deployment) {
	for _, arrangement := range arrangements {
		for _, promise := range promises {
			list = append(list, deployment(arrangement, promise))
		}
	}
	for _, store := range program.Stores() {
		if store != program.Redis {
			list = append(list, Deployment(store))
		}
	}
	return list
}

// Deployment is where a lock is kept that says r of itself, in the place of the setup's own.
func (s *Setup) Deployment(r *program.Ready) Deployment {
	if r.Elsewhere() {
		return Deployment(r.Store)
	}
	arrangement := arrangements[0]
	switch n := s.Nodes; {
	case n.Clustered():
		arrangement = arrangements[4]
	case n.Watched():
		arrangement = arrangements[3]
	case n.Replicated():
		arrangement = arrangements[2]
	case n.Count > 1:
		arrangement = arrangements[1]
	}
	promise := ""
	switch {
	case s.Nodes.MinReplicas > 0 && s.Nodes.Replicated():
		promise = promises[3]
	case s.Nodes.Persistence == world.AOFAlways:
		promise = promises[2]
	case s.Nodes.Persistence == world.AOFEverysec:
		promise = promises[1]
	}
	return deployment(arrangement, promise)
}

// Compare orders deployments as a report card does.
func (d Deployment) Compare(other Deployment) int {
	all := Deployments()
	return slices.Index(all, d) - slices.Index(all, other)
}
