package workload_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/docstest"
)

// TestAddingAWorkload builds sim with the workload of the page and runs the page's scenario.
func TestAddingAWorkload(t *testing.T) {
	t.Parallel()
	docstest.Follow(t, "docs/adding-a-workload.md").Run()
}
