// Package scenariotest loads, for tests, the scenarios of this project.
package scenariotest

import (
	"path/filepath"
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
