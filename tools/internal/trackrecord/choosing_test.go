package trackrecord

import (
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// TestChoosingPage: the tables of the page about choosing a library are those that the cards give, and what it says of a cell is so.
func TestChoosingPage(t *testing.T) {
	t.Parallel()
	root, all := libraries(t)
	findings, err := ReadFindings(root, all)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadRecord(root, all, findings)
	if err != nil {
		t.Fatal(err)
	}
	page := docstest.Read(t, choosingPage)
	made, err := withTables(page, r)
	if err != nil {
		t.Fatal(err)
	}
	if made != page {
		t.Errorf("%s is not what the cards say: make track-record-pages", choosingPage)
	}
	for _, n := range needs() {
		if !strings.Contains(page, "<!-- cards: "+n.name+" -->") {
			t.Errorf("%s has no table for %s", choosingPage, n.name)
		}
	}
	said := 0
	for _, m := range cellsSaid.FindAllStringSubmatch(page, -1) {
		for _, pair := range [][]string{m[2:4], m[4:6]} {
			if pair[0] == "" {
				continue
			}
			said++
			if problem := cellIs(r, pair[1], m[1], card.State(pair[0])); problem != "" {
				t.Error(problem)
			}
		}
	}
	if said < 8 {
		t.Errorf("%d cells are named: does the page still say them as %v?", said, cellsSaid)
	}
}

// cellsSaid are statements about cells, as in "`hung-node` is broken for `redsync` and kept for `redsync-tuned`".
var cellsSaid = regexp.MustCompile("`([a-z-]+)` is (kept|broken|by design|unknown) for `([a-z0-9-]+)`" +
	"(?: and (kept|broken|by design|unknown) for `([a-z0-9-]+)`)?")

func cellIs(r *Record, lock, guarantee string, want card.State) string {
	for i := range r.Locks {
		if l := &r.Locks[i]; l.Name == lock {
			if got := l.row(guarantee, ""); got != want {
				return lock + ": " + guarantee + " is " + string(got) + ", not " + string(want)
			}
			return ""
		}
	}
	return "there is no card of " + lock
}

// TestNeeds: a program is listed for what it is meant for, with what is broken of that alone.
func TestNeeds(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	all := kept(t, root)
	r, err := ReadRecord(root, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	alpha := &r.Locks[0]
	r.Locks = r.Locks[:1]
	wanted := need{"x", func(*lock) bool { return true }, []string{"exclusive", "owner-only", "late-release"}}
	if got := wanted.table(r); !strings.Contains(got, "| `alpha` ") || !strings.Contains(got, "| owner-only, late-release | nothing |") {
		t.Errorf("%s", got)
	}
	wanted.rows = []string{"exclusive"}
	if got := wanted.table(r); !strings.Contains(got, "| nothing | nothing |") {
		t.Errorf("%s", got)
	}
	alpha.found = []string{"exclusive"} // by somebody, and no card shows it
	if got := wanted.table(r); !strings.Contains(got, "| exclusive | nothing |") {
		t.Errorf("%s", got)
	}
	alpha.found = nil
	wanted.rows = []string{"cluster"}
	alpha.On.Cells = []card.Cell{{ID: "cluster/a", State: card.ByDesign}, {ID: "cluster/b", State: card.Unknown},
		{ID: "cluster/c", State: card.Kept}}
	if got := wanted.table(r); !strings.Contains(got, "| by design: 1 of 3 kept | cluster |") {
		t.Errorf("%s", got)
	}
	alpha.On.Cells = []card.Cell{{ID: "fencing/a", State: card.NotApplicable, Why: "Fencing tokens are wanted, and it tells none."},
		{ID: "fencing/b", State: card.Kept}}
	if got := cellOf(alpha, "fencing"); got.State != card.NotApplicable || alpha.row("fencing", "") != card.NotApplicable {
		t.Errorf("a lock that tells no token has %+v", got)
	}
	alpha.On.Cells[0].Why = "There is one node."
	if got := cellOf(alpha, "fencing"); got.State != card.Kept || got.Count != "1 of 1 kept" {
		t.Errorf("a lock that tells a token has %+v", got)
	}
	wanted.meets = func(*lock) bool { return false }
	if got := wanted.table(r); strings.Contains(got, "alpha") {
		t.Errorf("%s", got)
	}
	if _, err := withTables("<!-- cards: speed -->\n<!-- end -->", r); err == nil {
		t.Error("a need that is unknown has a table")
	}
}
