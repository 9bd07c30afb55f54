package trackrecord

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// libraries are those of the project, whose folder is root.
func libraries(t *testing.T) (root string, all []Library) {
	t.Helper()
	root = docstest.Root(t)
	all, err := ReadLibraries(filepath.Join(root, LibrariesFile))
	if err != nil {
		t.Fatal(err)
	}
	return root, all
}

// TestFindings: all findings of the project are as they should be, and name cases that exist.
func TestFindings(t *testing.T) {
	t.Parallel()
	root, all := libraries(t)
	list, err := ReadFindings(root, all)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d findings: %v", len(list), err)
	}
	page := docstest.Read(t, markdownPage)
	for _, f := range list {
		want := "- " + f.Heading() + "\n"
		if !f.NotYet() {
			want = "(" + fromPage(markdownPage, f.Report) + ")"
			casesExist(t, root, &f)
		}
		if !strings.Contains(page, want) {
			t.Errorf("%s does not have %s: make track-record-pages", markdownPage, f.ID)
		}
	}
	// No text and no scenario is left over.
	for _, pattern := range []string{"*.md", "scenarios/*.yaml"} {
		files, _ := filepath.Glob(filepath.Join(root, FindingsDir, pattern))
		for _, file := range files {
			id := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
			if id != "README" && !slices.ContainsFunc(list, func(f Finding) bool { return f.ID == id && !f.NotYet() }) {
				t.Errorf("%s belongs to no finding that is reported", file)
			}
		}
	}
}

// casesExist: there are the cases that a finding names, or the lock's card has a cell of its own for what is violated in one.
func casesExist(t *testing.T, root string, f *Finding) {
	t.Helper()
	shipped, err := scenario.LoadAll(scenario.All)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Where {
		kept, err := readStored(root, p.Lock)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Cases {
			exists := func(s *scenario.Scenario) bool { return string(s.Guarantee)+"/"+s.Name == c }
			added := kept.Card != nil && kept.Card.Locks[0].Cell(c) != nil
			if !strings.Contains(c, "/conform-") && !slices.ContainsFunc(shipped, exists) && !added {
				t.Errorf("%s: there is no case %s", f.ID, c)
			}
		}
	}
}

// TestUnreported: each report that is not sent yet is whole, and what is published of it says as much as it may: the same library,
// version and guarantees.
func TestUnreported(t *testing.T) {
	t.Parallel()
	root, all := libraries(t)
	if _, err := os.Stat(filepath.Join(root, UnreportedDir)); err != nil {
		suite.Lacks(t, "the reports that are not sent yet ("+UnreportedDir+"/), which are kept in a private place")
	}
	published, err := ReadFindings(root, all)
	if err != nil {
		t.Fatal(err)
	}
	reports, err := readUnreported(root, all)
	if err != nil {
		t.Fatal(err)
	}
	says := func(f *Finding) string {
		var where []string
		for _, p := range f.Where {
			where = append(where, p.Lock+": "+strings.Join(p.guarantees(), ", "))
		}
		slices.Sort(where)
		return fmt.Sprintf("%s: %s %s\n%s", f.ID, f.Library, f.Version, strings.Join(slices.Compact(where), "\n"))
	}
	var want, got []string
	for i := range published {
		if f := &published[i]; f.NotYet() {
			got = append(got, says(f))
		}
	}
	for i := range reports {
		want = append(want, says(&reports[i]))
		casesExist(t, root, &reports[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has\n%s\n%s has\n%s", FindingsDir, strings.Join(got, "\n"), UnreportedDir, strings.Join(want, "\n"))
	}
}

const good = `id: one
title: It breaks
library: alpha
version: "1.2"
where:
  - {lock: alpha, cases: [exclusive/many-clients], properties: [exclusive-lease]}
shows: sim run gc-pause
rate: 3 of 3 runs
reported: https://example.com/issues/1, 2026-11-30
source:
  - {file: alpha.go, lines: lock, does: It locks twice.}
report: docs/findings/one.md
scenario: docs/findings/scenarios/one.yaml
`

// TestBadFindings: the format is strict.
func TestBadFindings(t *testing.T) {
	t.Parallel()
	all := []Library{{Name: "alpha"}}
	read := func(text string, lacks ...string) error {
		root := t.TempDir()
		files := map[string]string{"one.yaml": text, "one.md": "# One\n", "scenarios/one.yaml": docstest.Read(t, "scenarios/gc-pause.yaml")}
		for name, text := range files {
			if !slices.Contains(lacks, name) {
				write(t, filepath.Join(root, FindingsDir, name), text)
			}
		}
		_, err := ReadFindings(root, all)
		return err
	}
	if err := read(good); err != nil {
		t.Errorf("a good one: %v", err)
	}
	if err := read(goodWithheld); err != nil {
		t.Errorf("a good one that is not reported yet: %v", err)
	}
	for name, c := range map[string][3]string{
		"another id":          {"id: one", "id: two", "want the file's name"},
		"unknown field":       {"rate:", "ratio:", "ratio"},
		"no title":            {"title: It breaks\n", "", "title is missing"},
		"no source":           {"  - {file: alpha.go, lines: lock, does: It locks twice.}\n", "", "source is missing"},
		"half a source":       {", does: It locks twice.", "", "want file, lines and does"},
		"unknown lock":        {"lock: alpha", "lock: beta", "beta"},
		"bad case":            {"exclusive/many-clients", "many-clients", "guarantee/case"},
		"unknown property":    {"exclusive-lease", "exclusive", "no property"},
		"nothing on reports":  {"reported: https://example.com/issues/1, 2026-11-30\n", "", "reported is missing"},
		"no address":          {"https://example.com/issues/1", "issue 1", "want an address"},
		"no day":              {", 2026-11-30", "", "want an address"},
		"guarantees":          {"cases: [exclusive/many-clients]", "guarantees: [exclusive]", "cases say"},
		"report elsewhere":    {"findings/one.md", "findings/two.md", "want docs/findings/one.md"},
		"scenario elsewhere":  {"docs/findings/scenarios/one.yaml", "../one.yaml", "scenario"},
		"scenario is missing": {"docs/findings/scenarios/one.yaml", "scenarios/none.yaml", "none.yaml"},
	} {
		text := strings.Replace(good, c[0], c[1], 1)
		if err := read(text); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v; want %q", name, err, c[2])
		}
	}
	for name, c := range map[string][3]string{
		"no library":        {"library: alpha\n", "", "want library"},
		"unknown guarantee": {"[exclusive]", "[excluding]", "no guarantee"},
		"a case":            {"guarantees: [exclusive]", "cases: [exclusive/many-clients]", "the guarantees of alpha alone"},
		"a title":           {"library:", "title: It breaks\nlibrary:", "title belongs into unreported/one.yaml"},
		"a command":         {"library:", "shows: sim run gc-pause\nlibrary:", "shows belongs into unreported/one.yaml"},
	} {
		text := strings.Replace(goodWithheld, c[0], c[1], 1)
		if err := read(text); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("not reported yet, %s: %v; want %q", name, err, c[2])
		}
	}
	if err := read(good, "one.md"); err == nil {
		t.Error("the report may be missing")
	}
}

const goodWithheld = `id: one
library: alpha
version: "1.2"
where:
  - {lock: alpha, guarantees: [exclusive]}
reported: not yet
`

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := machine.WriteFile(file, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		t.Fatal(err)
	}
}

// TestLibraries: the list, the table of adapters/README.md and the Makefile name the same programs.
func TestLibraries(t *testing.T) {
	t.Parallel()
	root, all := libraries(t)
	var want, built []string
	for _, l := range all {
		want = append(want, l.Name+": "+l.Command)
		if info, err := os.Stat(filepath.Join(root, l.Adapter)); err != nil || !info.IsDir() {
			t.Errorf("%s: %s is no folder", l.Name, l.Adapter)
		}
		if program, is := strings.CutPrefix(strings.Fields(l.Command)[0], "bin/adapters/"); is && !slices.Contains(built, "./"+program) {
			built = append(built, "./"+program)
		}
	}
	var rows []string
	row := regexp.MustCompile("(?m)^\\| (\\S+) \\|.*\\| `([^`]*(?:adapters|\\.cache)/[^`]*)` \\|$")
	for _, m := range row.FindAllStringSubmatch(docstest.Read(t, "adapters/README.md"), -1) {
		rows = append(rows, m[1]+": "+m[2])
	}
	if !slices.Equal(rows, want) {
		t.Errorf("adapters/README.md has\n%s\n%s has\n%s", strings.Join(rows, "\n"), LibrariesFile, strings.Join(want, "\n"))
	}
	m := regexp.MustCompile(`(?m)^ADAPTERS\s*:= (.*)$`).FindStringSubmatch(docstest.Read(t, "Makefile"))
	slices.Sort(built)
	if m == nil || !slices.Equal(slices.Sorted(slices.Values(strings.Fields(m[1]))), built) {
		t.Errorf("the Makefile builds %q, want %q", m, built)
	}
	if _, err := choose(all, []string{"nobody"}); err == nil {
		t.Error("a library that is not there can be chosen")
	}
	if list, _ := choose(all, []string{"tooz", "redsync"}); len(list) != 2 || list[0].Name != "redsync" {
		t.Errorf("chosen: %v", list)
	}
}
