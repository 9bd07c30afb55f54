package scenario

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Deployment is where a lock is kept: how its nodes are arranged, and what they promise of a write that they have acknowledged.
type Deployment string

// How nodes are arranged, and what they promise of such a write.
const (
	oneNode, severalNodes, withReplicas, underSentinel = "one node", "several nodes", "replicas", "Sentinel"
	inCluster, inClusters                              = "Cluster", "several Clusters"

	promisesNothing                          = "" // a node that crashes may have lost any
	fsyncsEachSecond, fsyncsAlways, waitsFor = "fsync each second", "fsync always", "min-replicas"
)

// arrangements and promises are in the order of a report card.
var (
	arrangements = []string{oneNode, severalNodes, withReplicas, underSentinel, inCluster, inClusters}
	promises     = []string{promisesNothing, fsyncsEachSecond, fsyncsAlways, waitsFor}
)

func deployment(arrangement, promise string) Deployment {
	if promise == promisesNothing {
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
	arrangement := oneNode
	switch n := s.Nodes; {
	case n.SeveralClusters():
		arrangement = inClusters
	case n.Clustered():
		arrangement = inCluster
	case n.Watched():
		arrangement = underSentinel
	case n.Replicated():
		arrangement = withReplicas
	case n.Count > 1:
		arrangement = severalNodes
	}
	promise := promisesNothing
	switch {
	case s.Nodes.MinReplicas > 0 && s.Nodes.Replicated():
		promise = waitsFor
	case s.Nodes.Persistence == world.AOFAlways:
		promise = fsyncsAlways
	case s.Nodes.Persistence == world.AOFEverysec:
		promise = fsyncsEachSecond
	}
	return deployment(arrangement, promise)
}

// Compare orders deployments as a report card does.
func (d Deployment) Compare(other Deployment) int {
	all := Deployments()
	return slices.Index(all, d) - slices.Index(all, other)
}
