package scenario

import (
	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/resource"
)

// Points lists the points that a client of this setup may pass.
func (s *Setup) Points() []string {
	points := s.Workload.Points()
	if s.Workload.Workload().Pair {
		return points
	}
	if s.Fencing.Check == resource.CheckThenWrite {
		points = append(points, client.AfterFenceCheck)
	}
	algorithm, _ := lock.Lookup(s.Lock.Algorithm)
	return append(points, algorithm.PointsOn(s.Nodes.endpoints(), s.Fencing.Tokens)...)
}
