package docstest_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// TestAdding builds sim with the lock, the fault, the workload and the property of the pages that say how to add them, and runs
// the pages' scenarios.
func TestAdding(t *testing.T) {
	t.Parallel()
	docstest.Follow(t, "docs/internals/adding-a-lock.md", "docs/internals/adding-a-fault.md",
		"docs/internals/adding-a-workload.md", "docs/internals/adding-a-property.md").Run()
}
