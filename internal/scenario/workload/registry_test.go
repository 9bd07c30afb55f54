package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

func TestEveryWorkloadIsDescribedAndRuns(t *testing.T) {
	reader := make(map[string]Name)
	for _, name := range Names() {
		p := Plan{Kind: name, Check: true, Think: 2, Extend: 1}
		w := p.Workload()
		if w.Title == "" || w.run == nil || w.Name != name {
			t.Errorf("%s: %+v", name, w)
		}
		for _, point := range p.Points() {
			if p.Passes(point) < 1 {
				t.Errorf("%s: a client never passes %s", name, point)
			}
		}
		for _, setting := range w.Settings {
			if other := reader[setting]; other != "" {
				t.Errorf("%s is a setting of %s and of %s", setting, name, other)
			}
			reader[setting] = name
		}
	}
	if p := (Plan{Kind: "chess"}); p.Run(nil) == nil || p.Final() != nil {
		t.Error("there is no workload chess")
	}
}

// TestWorkloadsAreDocumented: docs/reference/scenario.md says what each workload does.
func TestWorkloadsAreDocumented(t *testing.T) {
	page := docstest.Read(t, "docs/reference/scenario.md")
	for _, name := range Names() {
		if !strings.Contains(page, fmt.Sprintf("| `%s` |", name)) && !strings.Contains(page, fmt.Sprintf("`workload.kind: %s`", name)) {
			t.Errorf("docs/reference/scenario.md does not say what %s does", name)
		}
	}
}

func TestWorkloadsOfHistories(t *testing.T) {
	for name, want := range map[Name]Name{"jobs": "jobs", "": "increment", "register": "increment", "chess": ""} {
		if got := Of(name); got.Name != want {
			t.Errorf("a history with the workload %q is one of %q, want %q", name, got.Name, want)
		}
	}
	mail, sent := Of("side-effect"), Of("side-effect")
	if mail.CellOf(cellMail).Data == sent.CellOf(cellSent).Data || slices.Contains(Names(), "register") {
		t.Errorf("cells %+v and %+v, workloads %q", mail.CellOf(cellMail), sent.CellOf(cellSent), Names())
	}
}
