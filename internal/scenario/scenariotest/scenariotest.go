// Package scenariotest loads, for tests, the scenarios of this project.
package scenariotest

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// Shipped are the scenarios of this project.
func Shipped(t testing.TB) []*scenario.Scenario {
	t.Helper()
	list, err := scenario.LoadAll(filepath.Join(docstest.Root(t), "scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// OnModels are those whose nodes can be models: not a Redis Cluster.
func OnModels(t testing.TB) []*scenario.Scenario {
	t.Helper()
	return slices.DeleteFunc(Shipped(t), func(s *scenario.Scenario) bool { return s.Variants[0].Setup.Nodes.Clustered() })
}
