package lock_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/docstest"
)

// TestAddingALock builds sim with the lock of the page and runs the page's scenario.
func TestAddingALock(t *testing.T) {
	t.Parallel()
	docstest.Follow(t, "docs/adding-a-lock.md").Run()
}
