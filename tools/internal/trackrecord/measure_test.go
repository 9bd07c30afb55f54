package trackrecord

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

const (
	// fakeLock is a lock program that says hello.
	fakeLock = `#!/bin/sh
read line
echo '{"type":"ready","protocol":1,"name":"x","version":"1.2",CLASS}'
read line
`
	// fakeSim notes what it was asked to do, and leaves what the true one would.
	fakeSim = `#!/bin/sh
echo "$@" >> calls
case $1 in
audit) cp given.json "$7"; exit 1 ;;
search) mkdir -p "$8" && cp state.json "$8/search-default.search.json"; cat told.json; exit $(cat code) ;;
esac
`
)

// TestMeasure: what is done is not done again, and what was stopped goes on.
func TestMeasure(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	searchedFor := func(took time.Duration) {
		t.Helper()
		s := state(t)
		s.TookMS = took.Milliseconds()
		var text bytes.Buffer
		if err := s.Write(&text); err != nil {
			t.Fatal(err)
		}
		write("state.json", text.String())
	}
	given := &card.Card{CardVersion: 1, World: "live", Versions: map[string]string{"sim": "v1"},
		Locks: []card.Lock{{Label: "a", Command: "bin/a", Lock: report.Lock{Version: "1.2"}}}}
	give := func() {
		t.Helper()
		var text bytes.Buffer
		if err := card.WriteJSON(&text, given); err != nil {
			t.Fatal(err)
		}
		write("given.json", text.String())
	}
	for _, g := range scenario.Guarantees() {
		given.Guarantees = append(given.Guarantees, card.Guarantee{Name: string(g)})
	}
	all := given.Guarantees
	given.Guarantees = all[1:]
	give()
	write("bin/sim", fakeSim)
	write("bin/a", strings.Replace(fakeLock, "CLASS", `"class":"single"`, 1))
	write("bin/b", strings.Replace(fakeLock, "CLASS", `"class":"session","store":"etcd"`, 1))
	m := &meter{sim: "bin/sim", simVersion: "v1", redis: "7", lasts: 20 * time.Minute, stdout: io.Discard, stderr: io.Discard}
	calls := func(name, code string) (string, error) {
		t.Helper()
		write("code", code)
		write("calls", "")
		err := m.measure(t.Context(), &Library{Name: name, Command: "bin/" + name})
		text, _ := os.ReadFile("calls")
		return string(text), err
	}
	const (
		audit  = "audit --lock a=bin/a --out .cache/track-record/a --card .cache/track-record/a/card.new.json\n"
		search = "search --json --lock bin/a --for 20m0s --out .cache/track-record/a/search\n"
		goesOn = "search --json --lock bin/a --for 15m0s --out .cache/track-record/a/search --resume\n"
	)
	write("told.json", `{"runs":9010,
		"violated":[{"properties":"exclusive-lease + owner-release","runs":13},{"properties":"told-when-lost","runs":1}],
		"found":[{"property":"told-when-lost","proved":true},{"property":"exclusive-lease","proved":false}],
		"replay":"sim search"}`)
	searchedFor(5 * time.Minute)
	if got, err := calls("a", "130"); got != audit+search || err == nil {
		t.Errorf("a search that breaks off: %q (%v)", got, err)
	}
	given.Guarantees = all
	give()
	searchedFor(20 * time.Minute)
	if got, err := calls("a", "2"); got != audit+goesOn || err != nil {
		t.Errorf("it goes on, and makes the card anew that lacks a guarantee: %q (%v)", got, err)
	}
	if got, err := calls("a", "0"); got != "" || err != nil {
		t.Errorf("it is done: %q (%v)", got, err)
	}
	keptOfSearch(t)
	measuredInMore(t, func() (string, error) { return calls("a", "0") })
	m.simVersion = "v2"
	if got, err := calls("a", "0"); got != "" || err != nil {
		t.Errorf("another sim: %q (%v)", got, err)
	}
	write("bin/a", strings.Replace(strings.Replace(fakeLock, "CLASS", `"class":"single"`, 1), "1.2", "1.3", 1))
	if got, err := calls("a", "0"); got != audit+search || err != nil {
		t.Errorf("another version of the library: %q (%v)", got, err)
	}
	if got, err := calls("b", "0"); strings.Contains(got, "search") || err != nil {
		t.Errorf("a lock in etcd: %q (%v)", got, err)
	}
	if s, err := readStored(".", "b"); err != nil || s.Searches[0].Searched == nil || s.Searches[0].Searched.Store != "etcd" {
		t.Errorf("kept of a lock in etcd: %+v (%v)", s.Searches[0].Searched, err)
	}
}

// keptOfSearch: what the search said is kept, also of the runs that were made when its time was over.
func keptOfSearch(t *testing.T) {
	t.Helper()
	k, err := readSearch(".", "a", "")
	if err != nil {
		t.Fatal(err)
	}
	s := k.Searched
	if !s.Done || len(s.Commands) != 2 || s.World != virtual || !slices.Equal(s.Proved, []checker.Property{checker.ToldWhenLost}) {
		t.Errorf("kept: %+v", s)
	}
	if c := s.Report.Classes; s.Report.Runs != 9010 || len(c) != 3 || c[0].Runs != 13 || c[2].Name != "told-when-lost" {
		t.Errorf("%d runs, %+v: want those of the last generation, too", s.Report.Runs, c)
	}
}

// measuredInMore: a program that gets a client for more topologies is searched there, too.
func measuredInMore(t *testing.T, calls func() (string, error)) {
	t.Helper()
	const (
		inCluster     = "search --json --lock bin/a --for 20m0s --out .cache/track-record/a/search-cluster --topology cluster\n"
		underSentinel = "search --json --lock bin/a --for 20m0s --out .cache/track-record/a/search-sentinel --topology sentinel\n"
	)
	can := func(abilities string) {
		t.Helper()
		text := strings.Replace(fakeLock, "CLASS", `"class":"single"`+abilities, 1)
		if err := os.WriteFile("bin/a", []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	can(`,"can":["cluster","sentinel"]`)
	if got, err := calls(); got != inCluster+underSentinel || err != nil {
		t.Errorf("its program can go to more: %q (%v)", got, err)
	}
	if s, err := readSearch(".", "a", "cluster"); err != nil || s.Searched == nil || s.Searched.Topology != "cluster" || !s.Searched.Done {
		t.Errorf("kept of the search in a cluster: %+v (%v)", s.Searched, err)
	}
	can("")
}

// TestInterrupted: sim is told to end, and what it was doing is not taken for done.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	sim := filepath.Join(t.TempDir(), "sim")
	if err := os.WriteFile(sim, []byte("#!/bin/sh\ntrap 'exit 0' INT\nwhile :; do sleep 0.05; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := (&meter{sim: sim, stdout: io.Discard, stderr: io.Discard}).run(ctx, &Library{Name: "a"}, io.Discard, "audit"); err == nil {
		t.Error("an audit that was interrupted counts as done")
	}
}
