package checker_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestAddingAProperty holds the judge of the page against its naive definition.
func TestAddingAProperty(t *testing.T) {
	t.Parallel()
	suite.All(t)
	docstest.Follow(t, "docs/internals/adding-a-property.md").Go("test", "-run", "^TestDefinitionsOnRandomHistories$", "./internal/checker")
}
