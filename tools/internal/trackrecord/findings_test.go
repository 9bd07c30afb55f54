package trackrecord

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// TestFindings: all findings of the project are as they should be, and name cases that exist.
func TestFindings(t *testing.T) {
	t.Parallel()
	root := docstest.Root(t)
	all, err := ReadLibraries(filepath.Join(root, LibrariesFile))
	if err != nil {
		t.Fatal(err)
	}
	list, err := ReadFindings(filepath.Join(root, FindingsDir), all)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d findings: %v", len(list), err)
	}
	var cases []string
	shipped, err := scenario.LoadAll(scenario.All)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shipped {
		cases = append(cases, string(s.Guarantee)+"/"+s.Name)
	}
	page := docstest.Read(t, markdownPage)
	for _, f := range list {
		if !strings.Contains(page, "("+fromPage(markdownPage, f.Report)+")") {
			t.Errorf("%s does not have %s: make track-record-pages", markdownPage, f.ID)
		}
		for _, p := range f.Where {
			for _, c := range p.Cases {
				if !slices.Contains(cases, c) {
					t.Errorf("%s: there is no case %s", f.ID, c)
				}
			}
		}
	}
	// No text and no scenario is left over.
	for _, pattern := range []string{"*.md", "scenarios/*.yaml"} {
		files, _ := filepath.Glob(filepath.Join(root, FindingsDir, pattern))
		for _, file := range files {
			id := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
			if !slices.ContainsFunc(list, func(f Finding) bool { return f.ID == id }) {
				t.Errorf("%s belongs to no finding", file)
			}
		}
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
upstream: [https://example.com/issues/1]
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
		dir := filepath.Join(t.TempDir(), FindingsDir)
		files := map[string]string{"one.yaml": text, "one.md": "# One\n", "scenarios/one.yaml": docstest.Read(t, "scenarios/gc-pause.yaml")}
		for name, text := range files {
			if slices.Contains(lacks, name) {
				continue
			}
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := ReadFindings(dir, all)
		return err
	}
	if err := read(good); err != nil {
		t.Errorf("a good one: %v", err)
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
		"no address":          {"https://example.com/issues/1", "'#1'", "want an address"},
		"report elsewhere":    {"findings/one.md", "findings/two.md", "want docs/findings/one.md"},
		"scenario elsewhere":  {"docs/findings/scenarios/one.yaml", "../one.yaml", "scenario"},
		"scenario is missing": {"docs/findings/scenarios/one.yaml", "scenarios/none.yaml", "none.yaml"},
	} {
		text := strings.Replace(good, c[0], c[1], 1)
		if err := read(text); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v; want %q", name, err, c[2])
		}
	}
	if err := read(good, "one.md"); err == nil {
		t.Error("the report may be missing")
	}
}

// TestLibraries: the list, the table of adapters/README.md and the Makefile name the same programs.
func TestLibraries(t *testing.T) {
	t.Parallel()
	root := docstest.Root(t)
	all, err := ReadLibraries(filepath.Join(root, LibrariesFile))
	if err != nil {
		t.Fatal(err)
	}
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
	row := regexp.MustCompile("(?m)^\\| (\\S+) \\|.*\\| `([^`]*adapters/[^`]*)` \\|$")
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
