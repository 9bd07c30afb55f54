package scenario

import (
	"reflect"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Points lists the points that a client of this setup may pass. Those of a lock program
// are not known before it has said them.
func (s *Setup) Points() []string {
	algorithm, _ := lock.Lookup(s.Lock.Algorithm)
	inside := algorithm.Points
	if s.Lock.Program == nil && s.Fencing.Tokens.Drawn() {
		inside = slices.Concat([]string{lock.PointBeforeToken, lock.PointToken}, inside)
	}
	return s.points(inside)
}

// pointsFrom are the settings that say which points there are.
var pointsFrom = []string{"lock.algorithm", "nodes.count", "nodes.topology", "nodes.clusters", "workload", "fencing"}

// anyPoints are those of any setup: what a client may pass where it is not known what it
// does.
func anyPoints() []string {
	inside := []string{lock.PointBeforeToken, lock.PointToken}
	for _, a := range lock.Algorithms() {
		inside = append(inside, a.Points...)
	}
	points := []string{client.AfterFenceCheck}
	for _, name := range workload.Names() {
		p := workload.Plan{Kind: name, How: resource.Separately, Check: true}
		points = append(points, p.Points()...)
	}
	most := int(yamlform.Number(yamlform.FieldsOf(reflect.ValueOf(&Nodes{}).Elem())["count"].Tag.Get("max")))
	points = append(points, lock.PointsOn(inside, most)...)
	slices.Sort(points)
	return slices.Compact(points)
}

// points are those of the client, and those inside its lock.
func (s *Setup) points(inside []string) []string {
	points := s.Workload.Points()
	if s.Workload.Workload().Pair {
		return points
	}
	if s.Fencing.Check == resource.CheckThenWrite {
		points = append(points, client.AfterFenceCheck)
	}
	return append(points, lock.PointsOn(inside, s.Nodes.endpoints())...)
}
