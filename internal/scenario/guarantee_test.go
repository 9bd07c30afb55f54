package scenario_test

import (
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/docstest"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

func TestGuaranteesAreDocumented(t *testing.T) {
	t.Parallel()
	page := docstest.Read(t, "docs/scenario.md")
	for _, g := range scenario.Guarantees() {
		if row := "\n| `" + string(g) + "` | " + g.Title() + " |\n"; !strings.Contains(page, row) {
			t.Errorf("docs/scenario.md lacks the row%s", row)
		}
	}
}
