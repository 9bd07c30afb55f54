package scenario

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
)

var variantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// check makes sure that the parts of a setup fit each other.
func (d *decoder) check(s *Setup) {
	algorithm, ok := lock.Lookup(s.Lock.Algorithm)
	if !ok {
		d.problemAt("lock.algorithm", "no lock algorithm %q", clip(s.Lock.Algorithm)).suggest(s.Lock.Algorithm, algorithmNames())
		return
	}
	if n := s.Nodes.endpoints(); n < algorithm.MinNodes || algorithm.MaxNodes > 0 && n > algorithm.MaxNodes {
		d.problemAt("nodes.count", "%s uses %s, not %d", algorithm.Name, nodeRange(algorithm), n)
	}
	if !slices.Contains(algorithm.Tokens, s.Fencing.Tokens) {
		var allowed []string
		for _, t := range algorithm.Tokens {
			allowed = append(allowed, string(t))
		}
		d.problemAt("fencing.tokens", "%s has no tokens %q", algorithm.Name, s.Fencing.Tokens).Allowed = allowed
	}
	d.checkElsewhere(&s.Nodes)
	if s.Lock.NodeTimeout >= s.Lock.TTL {
		d.problemAt("lock.node_timeout", "%v is not shorter than the ttl %v", s.Lock.NodeTimeout, s.Lock.TTL).Hint =
			"the timeout for one node should be small beside the ttl"
	}
	s.Lock.Switches.check(d, algorithm)
	points := s.Points()
	for i := range s.Faults.List {
		s.Faults.List[i].check(d, s, points)
	}
	s.Faults.checkDead(d)
	s.Faults.checkMix(d)
}

func nodeRange(a lock.Algorithm) string {
	switch {
	case a.MaxNodes == a.MinNodes && a.MinNodes == 1:
		return "one node"
	case a.MaxNodes == 0:
		return fmt.Sprintf("at least %d nodes", a.MinNodes)
	}
	return fmt.Sprintf("%d to %d nodes", a.MinNodes, a.MaxNodes)
}

func algorithmNames() []string {
	var list []string
	for _, a := range lock.Algorithms() {
		list = append(list, a.Name)
	}
	return list
}

func propertyNames() []string {
	var list []string
	for _, p := range checker.Properties() {
		list = append(list, string(p))
	}
	return list
}
