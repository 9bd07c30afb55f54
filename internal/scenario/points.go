package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/resource"
	"github.com/redlock-sim/redlock-sim/internal/workload"
)

// Points lists the points that a client of this setup may pass.
func (s *Setup) Points() []string {
	w := &s.Workload
	if w.Kind == "transactions" {
		points := []string{client.BeforeTransaction, client.BeforeSnapshot}
		if w.How == resource.Separately {
			points = append(points, client.BetweenCommands)
		}
		return points
	}
	points := []string{client.BeforeAcquire, workload.Acquired, client.BeforeWrite, client.BeforeRelease, workload.Released}
	if w.Kind != "jobs" && !w.Conditional {
		points = slices.Insert(points, 2, client.BeforeRead)
	}
	if s.Workload.Check {
		points = append(points, client.BeforeCheck)
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

// everySection lists the points that a client passes so many times in each of
// its sections (workload.Passes), however often its lock tries.
func everySection(point string) bool {
	return slices.Contains([]string{client.BeforeAcquire, workload.Acquired, client.BeforeRead, client.BeforeCheck,
		client.BeforeWrite, client.BeforeRelease, workload.Released,
		client.BeforeTransaction, client.BetweenCommands, client.BeforeSnapshot}, point)
}
