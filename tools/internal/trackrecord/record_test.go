package trackrecord

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/golden"
)

// hostile is a text that must not be anything but text.
const hostile = "<script>alert(1)</script> | `x` \u202e"

var codeSpan = regexp.MustCompile("` .* `|`` .* ``")

// kept writes what a meter would have kept of some libraries.
func kept(t *testing.T, root string) []Library {
	t.Helper()
	write := func(path string, to func(io.Writer) error) {
		t.Helper()
		if err := machine.WriteFile(path, to); err != nil {
			t.Fatal(err)
		}
	}
	var all []Library
	searches := func(name string, s *searched, state *explore.State) {
		s.sum(state)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		write(searchFile(root, name, s.Topology), func(w io.Writer) error { _, err := w.Write(text); return err })
	}
	lock := func(name string, made *card.Card, s *searched, state *explore.State) {
		all = append(all, Library{Name: name, Adapter: "adapters/" + name,
			Command: "bin/adapters/" + name, Homepage: "https://example.com/" + name})
		if made != nil {
			made.Locks = made.Locks[:1]
			made.Versions = map[string]string{"sim": "v1", "redis": "7.0.15"}
			write(cardFile(root, name), func(w io.Writer) error { return card.WriteJSON(w, made) })
		}
		if s != nil {
			searches(name, s, state)
		}
	}
	v := versions{"v1", "7.0.15", "1.2", "bin/adapters/a"}
	made := func(done bool) *searched {
		return &searched{versions: v, Started: "2026-11-23T05:00:00Z",
			Ended: "2026-11-23T05:20:00Z", Done: done, Commands: []string{"sim search --world live --lock bin/adapters/a --for 20m"}}
	}
	lock("alpha", reporttest.Card(), made(true), state(t))
	inCluster, none := made(true), state(t) // nothing but what is by design
	none.Found, none.Classes = none.Found[:2], none.Classes[:1]
	none.Classes[0].Name, none.Found[0].Class, none.Found[1].Class = "exclusive-lease", "exclusive-lease", "exclusive-lease"
	inCluster.Topology, inCluster.World, inCluster.Proved = "cluster", virtual, []checker.Property{checker.ExclusiveLease}
	searches("alpha", inCluster, none)
	evil := made(false)
	evil.Commands = []string{hostile}
	bad := state(t)
	bad.Failed, bad.Failure, bad.Found, bad.Classes = 3, hostile, nil, nil
	lock("evil", reporttest.HostileCard(), evil, bad)
	lock("elsewhere", reporttest.Card(), &searched{versions: v, Store: "etcd"}, nil)
	lock("fresh", reporttest.Card(), made(false), nil)
	lock("missing", nil, nil, nil)
	write(filepath.Join(root, ClaimsFile), func(w io.Writer) error { _, err := io.WriteString(w, someClaims); return err })
	return all
}

// someClaims are of all kinds.
const someClaims = `
- locks: [alpha, fresh]
  version: "1.2"
  claims:
    - {says: "Nobody else gets the | lock.", at: https://example.com/readme, guarantees: [exclusive, late-release]}
    - {says: "It can be lost.", at: https://example.com/readme, gives_up: [failover]}
    - {says: "It tells a loss.", at: https://example.com/readme, guarantees: [told-when-lost], needs: the option tell}
    - {says: "It is fast.", at: https://example.com/readme}
- {locks: [evil, elsewhere, missing], none: It has no documentation.}
`

// state is that of a search that found two classes of violations, of which one is proved.
func state(t *testing.T) *explore.State {
	t.Helper()
	found := func(run uint64, class string, again int) explore.Found {
		return explore.Found{Run: run, Lineage: explore.Lineage{run},
			Seed: 7, Class: class, Property: checker.Property(strings.Fields(class)[0]), Again: again}
	}
	return &explore.State{Format: "redlock-sim-search", Version: 4,
		TookMS: 1_200_000, Properties: []checker.Property{"exclusive-lease", "owner-release", "deadlock-free"}, Part: explore.Part{
			Seeds: []explore.Seeds{{Count: 9000}}, Runs: 9000, Drawn: 4500,
			Classes: []explore.Class{{Name: "exclusive-lease + owner-release", Runs: 12, Drawn: 5}, {Name: "owner-release", Runs: 1, Drawn: 1}},
			Judged:  []explore.Class{{Name: "exclusive-lease + owner-release + deadlock-free", Runs: 8000, Drawn: 4000}},
			Found: []explore.Found{found(17, "exclusive-lease + owner-release", 4),
				found(99, "exclusive-lease + owner-release", 9), found(5, "owner-release", 1)},
		}}
}

// someFindings are about a cell of alpha, and what its search saw; the second one about fresh, too, of which the card says that it is kept.
func someFindings(c *card.Card) []Finding {
	for i := range c.Locks[0].Cells {
		if cell := &c.Locks[0].Cells[i]; cell.State == card.Broken {
			return []Finding{{ID: "one", Title: "alpha: <b>it breaks</b>", Library: "alpha", Version: "1.2", Shows: "sim run x", Rate: "3 of 3 runs",
				Where: []place{{Lock: "alpha", Cases: []string{cell.ID}},
					{Lock: "alpha", Properties: []checker.Property{checker.NoOrphanLock}}}, Reported: "https://example.com/issues/1, 2026-11-30",
				Source: []source{{"alpha.go", "lock", "It locks twice."}}, Report: "docs/findings/one.md", Scenario: "scenarios/gc-pause.yaml"},
				{ID: "two", Library: "fresh", Version: "1.3", Reported: NotYet,
					Where: []place{{Lock: "fresh", Guarantees: []string{cell.Guarantee(), "client-clock"}}}}}
		}
	}
	return nil
}

// inHTML writes the page as if it were at the top of the repository.
func inHTML(w io.Writer, r *Record) error {
	return WriteHTML(w, r, func(file string) string { return file })
}

// TestPages: what is kept gives these pages, with every text of a program as text alone, and always the same.
func TestPages(t *testing.T) {
	root := t.TempDir()
	all := kept(t, root)
	findings := someFindings(reporttest.Card())
	for file, write := range map[string]func(io.Writer, *Record) error{"record.md": writeMarkdown, "record.html": inHTML} {
		t.Run(file, func(t *testing.T) {
			var twice [2]bytes.Buffer
			for i := range twice {
				r, err := ReadRecord(root, all, findings)
				if err != nil {
					t.Fatal(err)
				}
				if err := write(&twice[i], r); err != nil {
					t.Fatal(err)
				}
			}
			got := twice[0].String()
			if got != twice[1].String() {
				t.Errorf("%s: written twice it is not the same", file)
			}
			outside := got
			if file == "record.md" {
				outside = codeSpan.ReplaceAllString(got, "")
			}
			if strings.Contains(outside, "<script>alert") || strings.Contains(outside, "<img") || strings.Contains(got, "\u202e") {
				t.Errorf("%s: a text of a program is more than text", file)
			}
			if file == "record.html" { // its style is that of all pages
				_, got, _ = strings.Cut(got, "<body")
			}
			got = strings.ReplaceAll(got, "\r", "") // git changes it
			golden.Compare(t, filepath.Join("testdata", file), got)
		})
	}
}

// TestPageIsReadable: the record of all libraries, which are many columns.
func TestPageIsReadable(t *testing.T) {
	b, root := tab.New(t), t.TempDir()
	kept(t, root)
	_, all := libraries(t)
	for _, l := range all {
		suits := func(root, name string) string { return searchFile(root, name, "") }
		for _, file := range []func(root, name string) string{cardFile, suits} {
			text, err := os.ReadFile(file(root, "alpha"))
			if err != nil {
				t.Fatal(err)
			}
			if err := machine.WriteFile(file(root, l.Name), func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(t, filepath.Join(root, ClaimsFile), docstest.Read(t, ClaimsFile))
	r, err := ReadRecord(root, all, someFindings(reporttest.Card()))
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := inHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	b.Readable("record", func() { b.OpenFile(page.Bytes()) })
}

func TestRecord(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	all := kept(t, root)
	findings := someFindings(reporttest.Card())
	r, err := ReadRecord(root, all, findings)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Locks) != 4 || len(r.Missing) != 1 || r.Missing[0].Name != "missing" {
		t.Errorf("%d columns, missing %v", len(r.Locks), r.Missing)
	}
	alpha := r.Locks[0].Searches[0]
	if len(alpha.Found) != 2 || !alpha.Found[0].Proved || alpha.Found[0].Again != 9 || alpha.Found[1].Proved {
		t.Errorf("found %+v", alpha.Found)
	}
	if len(alpha.Nothing) != 1 || alpha.Nothing[0].Property != checker.DeadlockFree {
		t.Errorf("nothing found of %+v, want deadlock-free alone", alpha.Nothing)
	}
	if alpha.Rate != 7.5 {
		t.Errorf("%v runs a second", alpha.Rate)
	}
	if shown := r.Findings[0].Shown; len(shown) != 1 {
		t.Errorf("the finding is shown by %q, want the cell of alpha alone", shown)
	}
	broken, _, _ := strings.Cut(findings[0].Where[0].Cases[0], "/")
	if !r.isOpen("alpha", "search: exclusive-lease") || r.isOpen("alpha", "search: owner-release") {
		t.Errorf("open %+v: want what is proved and not explained", r.Open)
	}
	if r.isOpen("alpha", broken) || !r.isOpen("elsewhere", broken) {
		t.Errorf("open %+v: want %s of elsewhere, and not of alpha, where it is explained", r.Open, broken)
	}
	if r.isOpen("fresh", broken) || len(r.Findings) != 1 || len(r.Withheld) != 1 {
		t.Errorf("open %+v, withheld %+v: want %s of fresh withheld", r.Open, r.Withheld, broken)
	}
	findings[0].Where = append(findings[0].Where, place{Lock: "alpha", Properties: []checker.Property{checker.ExclusiveLease}})
	if r, err = ReadRecord(root, all, findings); err != nil || len(r.Findings[0].Shown) != 3 || r.isOpen("alpha", "search: exclusive-lease") {
		t.Errorf("the finding is shown by %q, open %+v (%v)", r.Findings[0].Shown, r.Open, err)
	}
}

// TestLeft: a search goes on for the time that is left, with the same versions only.
func TestLeft(t *testing.T) {
	t.Parallel()
	now := versions{"v1", "7.0.15", "1.2", "bin/lock"}
	newer := now
	newer.Library = "1.3"
	otherRedis := now
	otherRedis.Redis = "8.0.0"
	at := func(v versions, took time.Duration, done bool) *storedSearch {
		return &storedSearch{Searched: &searched{versions: v, World: virtual, TookMS: took.Milliseconds(), Done: done},
			State: &explore.State{TookMS: took.Milliseconds()}}
	}
	for name, c := range map[string]struct {
		s      *storedSearch
		left   time.Duration
		resume bool
	}{
		"nothing is kept":           {&storedSearch{}, 20 * time.Minute, false},
		"it was killed at once":     {&storedSearch{Searched: &searched{versions: now}}, 20 * time.Minute, false},
		"stopped":                   {at(now, 8*time.Minute, false), 12 * time.Minute, true},
		"done":                      {at(now, 20*time.Minute+3*time.Second, true), 0, true},
		"stopped while it shrinks":  {at(now, 20*time.Minute, false), time.Second, true},
		"done, and more is wanted":  {at(now, 5*time.Minute, true), 15 * time.Minute, true},
		"another library":           {at(newer, 5*time.Minute, true), 20 * time.Minute, false},
		"done elsewhere":            {&storedSearch{Searched: &searched{versions: now, TookMS: 1_200_000, Done: true}}, 0, true},
		"begun elsewhere":           {&storedSearch{Searched: &searched{versions: now, TookMS: 300_000}}, 20 * time.Minute, false},
		"another Redis is the same": {at(otherRedis, 20*time.Minute, true), 0, true},
		"in real time, and more is wanted": {&storedSearch{Searched: &searched{versions: now, TookMS: 300_000, Done: true},
			State: &explore.State{TookMS: 300_000}}, 20 * time.Minute, false},
	} {
		if left, resume := c.s.left(now, 20*time.Minute); left != c.left || resume != c.resume {
			t.Errorf("%s: %v left, resume %v; want %v, %v", name, left, resume, c.left, c.resume)
		}
	}
}

// TestAudited: a card is kept as long as it is of the same sim, library and command.
func TestAudited(t *testing.T) {
	t.Parallel()
	whole := func() *card.Card {
		c := &card.Card{Versions: map[string]string{"sim": "v1"},
			Locks: []card.Lock{{Command: "bin/lock", Lock: report.Lock{Version: "1.2"}}}}
		for _, g := range scenario.Guarantees() {
			c.Guarantees = append(c.Guarantees, card.Guarantee{Name: string(g)})
		}
		return c
	}
	now := versions{"v1", "7.0.15", "1.2", "bin/lock"}
	interrupted, newer, before := whole(), whole(), whole()
	before.Guarantees = before.Guarantees[1:]
	interrupted.Interrupted, newer.Versions = true, map[string]string{"sim": "v2"}
	for name, c := range map[string]struct {
		card *card.Card
		want bool
	}{"none": {nil, false}, "same": {whole(), true}, "interrupted": {interrupted, false},
		"newer sim": {newer, true}, "a guarantee is missing": {before, false}} {
		if got := (&stored{Card: c.card}).audited(now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
