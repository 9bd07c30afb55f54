package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/golden"
)

const pageHead = `# The scenarios

Each file shows one way in which a Redis lock fails, or works. It says in plain words what
happens, why, and what to do about it. They are part of ` + "`sim`" + `: ` + "`sim run gc-pause`" + ` works in any
folder, and ` + "`sim new --from gc-pause`" + ` writes a copy that you can change. ` + "`sim run all --tag kleppmann`" + `
runs all that have a tag. This page lists them by what they put to the test.
`

// TestPage: scenarios/README.md lists the shipped scenarios.
func TestPage(t *testing.T) {
	list, err := LoadAll(All)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(pageHead)
	for _, g := range Guarantees() {
		empty := true
		for _, s := range list {
			if s.Guarantee != g {
				continue
			}
			if empty {
				fmt.Fprintf(&b, "\n## %s\n\n| scenario | what happens | tags |\n|---|---|---|\n", g.Title())
				empty = false
			}
			fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", s.Name, shipped()[s.File], s.Title, strings.Join(s.Tags, ", "))
		}
	}
	golden.Compare(t, "../../scenarios/README.md", b.String())
}

// TestThePageOfScenariosShowsOne: docs/reference/scenario.md shows gc-pause as it is.
func TestThePageOfScenariosShowsOne(t *testing.T) {
	blocks := docstest.Blocks(t, "docs/reference/scenario.md")
	at := slices.IndexFunc(blocks, func(b docstest.Block) bool { return strings.HasPrefix(b.Text, "name: my-gc-pause") })
	if at < 0 {
		t.Fatal("docs/reference/scenario.md shows no scenario")
	}
	shown, err := Parse("docs/reference/scenario.md", []byte(blocks[at].Text))
	if err != nil {
		t.Fatal(err)
	}
	list, err := LoadAll("gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(shown.Variants, list[0].Variants) {
		t.Errorf("the page shows\n%+v\nand the scenario is\n%+v", shown.Variants, list[0].Variants)
	}
}

// TestShippedNames: a scenario is found by the name that it gives itself.
func TestShippedNames(t *testing.T) {
	list, err := LoadAll(All)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(Shipped()) {
		t.Errorf("%d scenarios for %d names", len(list), len(Shipped()))
	}
	for _, s := range list {
		if s.Name != s.File || s.Title == "" {
			t.Errorf("%s calls itself %s, %q", s.File, s.Name, s.Title)
		}
	}
}
