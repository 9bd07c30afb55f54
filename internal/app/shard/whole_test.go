package shard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
)

var target = request.Target{Properties: []string{"linearizable-resource"}}

var sweep = Work{Request: request.Of(&request.Sweep{X: "lock.ttl=1s", Runs: 4, Target: target}), Sim: "v1", Units: 4,
	Scenarios: []Scenario{{Name: "a"}}}

// left writes what a shard leaves below a folder, and returns its own folder.
func left(t *testing.T, out string, w Work, s request.Shard, change func(*Record)) string {
	t.Helper()
	_, mine := s.Seeds(0, w.Units)
	r := &Record{Shard: s, Work: w,
		Points: []explore.Cell{{X: "1s", Runs: mine, Judged: []uint64{1}, Violated: []uint64{1}}}}
	if change != nil {
		change(r)
	}
	dir := filepath.Join(out, Shards, w.Folder(s))
	if err := os.MkdirAll(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNothingOutsideIsCopied: links in a shard's folder are not followed, and records that are links are not read.
func TestNothingOutsideIsCopied(t *testing.T) {
	secret := t.TempDir()
	write(t, filepath.Join(secret, "key"), "secret")
	in, out := t.TempDir(), t.TempDir()
	dir := left(t, in, sweep, request.Shard{Index: 1, Of: 1}, nil)
	write(t, filepath.Join(dir, "run", "history.jsonl"), "{}")
	for name, to := range map[string]string{"key": filepath.Join(secret, "key"), "folder": secret, "run/up": "../../..", "latest": "run"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Collect(in)
	if err == nil {
		err = w.Copy(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	_ = filepath.WalkDir(out, func(path string, e os.DirEntry, _ error) error {
		if !e.IsDir() {
			names = append(names, filepath.Base(path))
		}
		return nil
	})
	if got := strings.Join(names, " "); got != "history.jsonl shard.json" {
		t.Errorf("copied: %s", got)
	}

	linked := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, RecordFile), filepath.Join(linked, RecordFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Collect(linked); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a record that is a link: %v", err)
	}
	links := t.TempDir()
	if err := os.Symlink(filepath.Join(in, Shards), filepath.Join(links, Shards)); err != nil {
		t.Fatal(err)
	}
	if _, err := Collect(links); err == nil {
		t.Error("a folder of shards that is a link was read")
	}
}

// TestRecordsAreBounded: a record that never ends is not read to its end.
func TestRecordsAreBounded(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, RecordFile))
	if err == nil {
		err = f.Truncate(mostRecord + 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := Collect(dir); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a record of %d bytes: %v", mostRecord+1, err)
	}
}

// TestDamagedRecords: what cannot be true is refused.
func TestDamagedRecords(t *testing.T) {
	ofRun := func(repeat int) request.Any { return request.Of(&request.Run{World: request.Virtual, Repeat: repeat}) }
	ofSearch := func(seed uint64, change func(*request.Search)) request.Any {
		r := &request.Search{World: request.Virtual, Seed: seed, Seeds: 10, Target: target}
		if change != nil {
			change(r)
		}
		return request.Of(r)
	}
	run := Work{Request: ofRun(2), Units: 4, Scenarios: []Scenario{{Name: "a"}, {Name: "b"}}}
	search := Work{Request: ofSearch(0, nil), Units: 10, Scenarios: []Scenario{{Name: "a"}}}
	part := func(first, count uint64) *explore.Part {
		return &explore.Part{First: first, Seeds: []explore.Seeds{{First: first, Count: count}}, Runs: count}
	}
	for name, c := range map[string]struct {
		work   Work
		change func(*Record)
		fine   bool
	}{
		"points":        {sweep, nil, true},
		"more runs":     {sweep, func(r *Record) { r.Points[0].Runs = 3 }, false},
		"more judged":   {sweep, func(r *Record) { r.Points[0].Judged[0] = 3 }, false},
		"more violated": {sweep, func(r *Record) { r.Points[0].Violated[0] = 2 }, false},
		"other command": {Work{Request: request.Any{Version: request.Version}}, nil, false},
		"no shard":      {sweep, func(r *Record) { r.Shard = request.Shard{} }, false},
		"files":         {sweep, func(r *Record) { r.Files = []string{"a", "b"} }, false},
		"runs":          {run, func(r *Record) { r.Results = []Result{{Unit: 0, Dir: "a/1"}, {Unit: 3, Dir: "b/1"}} }, true},
		"a run twice":   {run, func(r *Record) { r.Results = []Result{{Unit: 0, Dir: "a/1"}, {Unit: 0, Dir: "b/1"}} }, false},
		"no such run":   {run, func(r *Record) { r.Results = []Result{{Unit: 4, Dir: "a/1"}} }, false},
		"outside":       {run, func(r *Record) { r.Results = []Result{{Unit: 0, Dir: "../a"}} }, false},
		"from the root": {run, func(r *Record) { r.Results = []Result{{Unit: 0, Dir: "/etc"}} }, false},
		"too many runs": {Work{Request: ofRun(1 << 39), Units: 1 << 40, Scenarios: run.Scenarios}, nil, false},
		"uneven":        {Work{Request: ofRun(1), Units: 3, Scenarios: run.Scenarios}, nil, false},
		"exit":          {run, func(r *Record) { r.Errors = []Failure{{"x", 0}} }, false},
		"a search":      {search, func(r *Record) { r.Search = part(0, 5) }, true},
		"others' seeds": {search, func(r *Record) { r.Search = part(4, 2) }, false},
		"seeds before": {Work{Request: ofSearch(7, nil), Units: 10, Scenarios: search.Scenarios}, func(r *Record) {
			r.Search = part(6, 2)
		}, false},
		"no search":     {search, nil, false},
		"found outside": {search, func(r *Record) { r.Search, r.Found = part(0, 5), []Found{{File: "../x.yaml"}} }, false},
		"no such world": {Work{Units: 10, Scenarios: search.Scenarios, Request: ofSearch(0, func(r *request.Search) { r.World = "mars" })},
			func(r *Record) { r.Search = part(0, 5) }, false},
		"no such fault": {Work{Units: 10, Scenarios: search.Scenarios, Request: ofSearch(0, func(r *request.Search) { r.Kinds = []string{"x"} })},
			func(r *Record) { r.Search = part(0, 5) }, false},
		"no property": {Work{Units: 10, Scenarios: search.Scenarios, Request: ofSearch(0, func(r *request.Search) { r.Properties = nil })},
			func(r *Record) { r.Search = part(0, 5) }, false},
		"a folder": {Work{Units: 10, Scenarios: search.Scenarios, Request: ofSearch(0, func(r *request.Search) { r.Out = "/tmp" })},
			func(r *Record) { r.Search = part(0, 5) }, false},
		"other seeds": {Work{Units: 10, Scenarios: search.Scenarios, Request: ofSearch(0, func(r *request.Search) { r.Seeds = 9 })},
			func(r *Record) { r.Search = part(0, 5) }, false},
		"an audit, no card":  {Work{Request: request.Of(&request.Audit{World: request.Live, Locks: []string{"redlock"}}), Units: 1}, nil, false},
		"a damaged behavior": {search, func(r *Record) { r.Search = part(0, 5); r.Search.Runs = 4 }, false},
	} {
		in := t.TempDir()
		left(t, in, c.work, request.Shard{Index: 1, Of: 2}, c.change)
		if _, err := Collect(in); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
