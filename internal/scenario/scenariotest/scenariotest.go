// Package scenariotest loads, for tests, the scenarios of this project.
package scenariotest

import (
	"path/filepath"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/docstest"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Shipped are the scenarios of this project.
func Shipped(t testing.TB) []*scenario.Scenario {
	t.Helper()
	files, err := scenario.Find([]string{filepath.Join(docstest.Root(t), "scenarios")})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]*scenario.Scenario, len(files))
	for i, file := range files {
		if list[i], err = scenario.Load(file); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return list
}
