package trackrecord

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// TestNothingDisclosed: nothing of this repository but the folder itself tells how to show what is not reported yet.
func TestNothingDisclosed(t *testing.T) {
	t.Parallel()
	root := docstest.Root(t)
	problems, err := CheckDisclosure(root)
	if err != nil {
		t.Fatal(err)
	}
	problems = slices.DeleteFunc(problems, func(p string) bool { return strings.HasPrefix(p, UnreportedDir+": ") })
	if len(problems) > 0 {
		t.Errorf("%s", strings.Join(problems, "\n"))
	}
}

// TestReleaseAsksForDisclosure: what makes a release sees first that nothing is published too soon.
func TestReleaseAsksForDisclosure(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"Makefile": "\nrelease-check: disclosure ",
		".goreleaser.yaml": "- make {{ if .IsSnapshot }}help{{ else }}disclosure{{ end }}"} {
		if !strings.Contains(docstest.Read(t, file), want) {
			t.Errorf("%s has no %q", file, want)
		}
	}
}

// TestDisclosure: a repository that tells how to show what is not reported yet is told to keep it, whatever the place.
func TestDisclosure(t *testing.T) {
	t.Parallel()
	const line = "The old release arrives when the second try of the same call was granted, and deletes it."
	problems := func(files map[string]string, findings string) []string {
		root := t.TempDir()
		all := kept(t, root)
		all = slices.DeleteFunc(all, func(l Library) bool { return l.Name == "evil" })
		if err := os.Remove(filepath.Join(root, ClaimsFile)); err != nil { // it is about all of them
			t.Fatal(err)
		}
		list, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, LibrariesFile), string(list))
		write(t, filepath.Join(root, FindingsDir, "one.yaml"), findings)
		write(t, filepath.Join(root, FindingsDir, "one.md"), "# One\n")
		write(t, filepath.Join(root, FindingsDir, "scenarios/one.yaml"), docstest.Read(t, "scenarios/gc-pause.yaml"))
		if strings.Contains(findings, NotYet) {
			for _, left := range []string{FindingsDir + "/one.md", FindingsDir + "/scenarios/one.yaml"} {
				if err := os.Remove(filepath.Join(root, left)); err != nil {
					t.Fatal(err)
				}
			}
		}
		published, err := ReadFindings(root, all)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if err := withholdKept(root, l.Name, published); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(filepath.Join(root, UnreportedDir)); err != nil { // it was moved
			t.Fatal(err)
		}
		for name, text := range files {
			write(t, filepath.Join(root, name), text)
		}
		found, err := CheckDisclosure(root)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := problems(nil, goodWithheld); len(got) > 0 {
		t.Errorf("nothing is told: %q", got)
	}
	if got := problems(map[string]string{"README.md": "sim run gc-pause --lock bin/adapters/alpha\n"}, good); len(got) > 0 {
		t.Errorf("it is reported: %q", got)
	}
	cardText, err := json.Marshal(reporttest.Card())
	if err != nil {
		t.Fatal(err)
	}
	made := &searched{}
	made.sum(state(t))
	search, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"the folder":          {"unreported/one.md", "# One\n", "unreported: move it"},
		"a report":            {"docs/findings/one.md", "# One\n", "docs/findings/one.md: it belongs to no finding"},
		"a scenario":          {"docs/findings/scenarios/one.yaml", "name: one\n", "scenarios/one.yaml: it belongs to no finding"},
		"what a search found": {"docs/track-record/alpha/search-1.yaml", "name: one\n", "search-1.yaml: it belongs"},
		"what a test found":   {"locktest/testdata/libraries/testdata/locktest/T/1.yaml", "name: one\n", "T/1.yaml: it belongs"},
		"a command in a page": {"docs/guide/x.md", "`sim run many-clients --lock 'bin/adapters/alpha -tuned'`\n",
			"docs/guide/x.md: it shows exclusive of alpha"},
		"a command in testdata": {"cmd/testdata/x.txt", "exec sim run --seed 3 scenarios/many-clients.yaml --lock bin/adapters/alpha\n",
			"x.txt: it shows exclusive of alpha"},
		"a line of a report": {"internal/lock/x.go", "// x\n" + line + "\n", "internal/lock/x.go: it has a line"},
		"a kept search":      {"docs/track-record/alpha/search.json", string(search), "docs/track-record/alpha/search.json: \"owner-release\""},
		"the kept card":      {"docs/track-record/alpha/card.json", string(cardText), "docs/track-record/alpha/card.json: "},
	} {
		files := map[string]string{c.file: c.text}
		if name == "a line of a report" {
			files["unreported/one.md"] = "# One\n\n" + line + "\n"
		}
		if got := problems(files, goodWithheld); !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, c.want) }) {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}

// TestWithhold: a cell that no reported finding is about says that it is broken, and neither why nor in which variant nor how to show it.
func TestWithhold(t *testing.T) {
	t.Parallel()
	for _, told := range []card.Cell{{Why: "It waits."}, {Why: hearFirst, Variant: "late"}, {Why: hearFirst, Assumption: "that it comes"},
		{Why: hearFirst, Replay: "sim run x"}, {Why: hearFirst, Report: "report.html"}, {Why: hearFirst, Scenario: "x.yaml"}} {
		if !tells(&told) {
			t.Errorf("%+v is said to tell nothing", told)
		}
		if withhold(&told, hearFirst); tells(&told) || told.Why != hearFirst {
			t.Errorf("%+v is left", told)
		}
	}
}

// TestWithholdBeside: of a cell whose runs show what another cell withholds, only its own answer is left.
func TestWithholdBeside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ why, want string }{
		"kept": {"2 grants. (But deadlock-free is violated here for another reason: see progress/x.)",
			"2 grants. Something else is violated here. " + hearFirst},
		"unknown": {"It cannot be judged, because deadlock-free is violated here for another reason: see progress/x.",
			"Something else is violated here. " + hearFirst},
		"without the fault": {"It cannot be judged, because deadlock-free is violated also without the fault that this is about: see progress/x.",
			"Something else is violated here. " + hearFirst},
		"of another": {"2 grants. (But deadlock-free is violated here for another reason: see progress/y.)", ""},
		"of none":    {"2 grants.", ""},
	} {
		l := &card.Lock{Cells: []card.Cell{{ID: "exclusive/a", State: card.Kept, Why: c.why, Replay: "sim run a"},
			{ID: "progress/x", State: card.Broken, Why: hearFirst}}}
		said := sayingTooMuch("alpha", l, nil)
		if why, is := said[&l.Cells[0]]; why != c.want || is != (c.want != "") || len(said) > 1 {
			t.Errorf("%s: %q is left; want %q", name, why, c.want)
		}
		for cell, why := range said {
			withhold(cell, why)
		}
		if left := sayingTooMuch("alpha", l, nil); len(left) > 0 || (l.Cells[0].Replay == "") != (c.want != "") {
			t.Errorf("%s: left: %+v", name, l.Cells[0])
		}
	}
}

// TestWithholdSeen: what was seen in a row of a cell that is withheld may be the same. It says that something was seen, and no more.
func TestWithholdSeen(t *testing.T) {
	t.Parallel()
	seen := card.Cell{ID: "progress/a", State: card.Unknown, Replay: "sim run a",
		Why: "Look here: deadlock-free is violated by the lock's word."}
	other := seen
	other.ID = "exclusive/a"
	l := &card.Lock{Cells: []card.Cell{seen, other}, Conform: []card.Cell{{ID: "progress/conform-x", State: card.Broken, Why: hearFirst}}}
	said := sayingTooMuch("alpha", l, nil)
	if said[&l.Cells[0]] != seenThere || len(said) != 1 {
		t.Errorf("what is left: %v", said)
	}
	withhold(&l.Cells[0], seenThere)
	if said = sayingTooMuch("alpha", l, nil); len(said) > 0 || l.Cells[0].Replay != "" {
		t.Errorf("left: %+v, %v", l.Cells[0], said)
	}
}

// TestWithholdSearch: of what a search found the guarantee is left, and the whole stands where nothing is published.
func TestWithholdSearch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	all := kept(t, root)
	whole, err := readSearch(root, "alpha", "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is left to do
		if err := withholdKept(root, "alpha", nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := readSearch(root, "alpha", "")
	if err != nil {
		t.Fatal(err)
	}
	if r := &s.Searched.Report; len(r.Found)+len(r.Classes) > 0 || r.Runs != whole.Searched.Report.Runs {
		t.Errorf("left of the search: %+v", r)
	}
	if want := []withheldClass{{"exclusive", true}, {"owner-only", false}}; !slices.Equal(s.Searched.Withheld, want) {
		t.Errorf("%+v; want %+v", s.Searched.Withheld, want)
	}
	text, err := os.ReadFile(filepath.Join(foundDir(root, "alpha", ""), "search.json"))
	if err != nil {
		t.Fatal(err)
	}
	moved := &searched{}
	if err := json.Unmarshal(text, moved); err != nil || len(moved.Report.Found) != len(whole.Searched.Report.Found) {
		t.Errorf("moved: %+v (%v)", moved.Report, err)
	}
	in, err := readSearch(root, "alpha", "cluster")
	if err != nil {
		t.Fatal(err)
	}
	if r := &in.Searched.Report; len(r.Found)+len(r.Classes) > 0 || !slices.Equal(in.Searched.Withheld, []withheldClass{{"cluster", true}}) {
		t.Errorf("left of the search in a cluster: %+v, withheld %+v", r, in.Searched.Withheld)
	}
	if _, err := os.Stat(filepath.Join(foundDir(root, "alpha", "cluster"), "search.json")); err != nil {
		t.Error(err)
	}
	r, err := ReadRecord(root, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	nothing := r.Locks[0].Searches[0].Nothing
	if !r.isOpen("alpha", "search: exclusive") || len(nothing) != 1 || nothing[0].Property != checker.DeadlockFree {
		t.Errorf("open %+v; nothing found of %+v", r.Open, nothing)
	}
	var page strings.Builder
	if err := writeMarkdown(&page, r); err != nil {
		t.Fatal(err)
	}
	want := "- Found: something in exclusive. " + hearFirst + "\n- Undecided: something in owner-only."
	if !strings.Contains(page.String(), want) {
		t.Errorf("the page lacks %q", want)
	}
}
