package scenario

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/resource"
)

// Points lists the points that a client of this setup may pass. Those of a lock program
// are not known before it has said them.
func (s *Setup) Points() []string {
	algorithm, _ := lock.Lookup(s.Lock.Algorithm)
	inside := algorithm.Points
	if s.Lock.Program == nil && s.Fencing.Tokens.Drawn() {
		inside = slices.Concat([]string{lock.PointToken}, inside)
	}
	return s.points(inside)
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
