package docstest_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// TestAdding builds sim with the lock, the fault, the workload and the property of the pages that say how to add them, and runs
// the pages' scenarios.
func TestAdding(t *testing.T) {
	t.Parallel()
	docstest.Follow(t, "docs/adding-a-lock.md", "docs/adding-a-fault.md", "docs/adding-a-workload.md", "docs/adding-a-property.md").Run()
}
