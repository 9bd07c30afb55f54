package scenario

import (
	"fmt"
	"strings"

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
	if s.Fencing.Tokens.Drawn() {
		points = append(points, lock.PointToken)
	}
	algorithm, _ := lock.Lookup(s.Lock.Algorithm)
	for _, p := range algorithm.Points {
		if !strings.HasSuffix(p, ":") {
			points = append(points, p)
			continue
		}
		for i := range s.Nodes.endpoints() {
			points = append(points, fmt.Sprintf("%s%d", p, i+1))
		}
	}
	return points
}
