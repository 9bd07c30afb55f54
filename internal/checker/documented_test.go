package checker_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/naive"
)

// TestPropertiesAreDocumented: each property has its section in docs/reference/properties.md, a
// definition that stands for it, a title, and a distance of its own.
func TestPropertiesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/properties.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections []checker.Property
	for line := range strings.Lines(string(page)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "## ")
		if ok && !slices.Contains([]string{"Terms", "Lock logs", "Confirmed by the nodes"}, name) {
			sections = append(sections, checker.Property(name))
		}
	}
	distances := make(map[int]bool)
	for _, p := range checker.Properties() {
		defined := slices.Contains(naive.Properties(), p)
		if !slices.Contains(sections, p) || !defined || p.Title() == "" || p.Distance() < 1 || distances[p.Distance()] {
			t.Errorf("%s: sections %q, defined %v, title %q, distance %d", p, sections, defined, p.Title(), p.Distance())
		}
		distances[p.Distance()] = true
	}
	if len(sections) != len(checker.Properties()) {
		t.Errorf("docs/reference/properties.md has sections %q, there are %q", sections, checker.Properties())
	}
}
