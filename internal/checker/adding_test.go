package checker_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/docstest"
)

// TestAddingAProperty holds the judge of the page against its naive definition, builds sim
// with them and runs the page's scenario.
func TestAddingAProperty(t *testing.T) {
	t.Parallel()
	g := docstest.Follow(t, "docs/adding-a-property.md")
	g.Go("test", "-short", "-run", "^TestDefinitionsOnRandomHistories$", "./internal/checker")
	g.Run()
}
