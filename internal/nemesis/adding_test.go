package nemesis_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/docstest"
)

// TestAddingAFault builds sim with the fault of the page and runs the page's scenario.
func TestAddingAFault(t *testing.T) {
	t.Parallel()
	docstest.Follow(t, "docs/adding-a-fault.md").Run()
}
