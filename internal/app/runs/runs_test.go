package runs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
)

// Each run has a folder of its own, also in the same second, and latest leads to the newest that has a result.
func TestFolders(t *testing.T) {
	out, now := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if dir := runs.Newest(out); dir != "" {
		t.Errorf("the newest of no runs is %s", dir)
	}
	var last string
	for _, want := range []string{"20260102-030405-7", "20260102-030405-7-2"} {
		dir, err := runs.Make(out, "a", now, 7)
		if err != nil || filepath.Base(dir) != want {
			t.Fatalf("%s, %v; want %s", dir, err, want)
		}
		if err := runs.PointLatest(out, dir); err != nil {
			t.Fatal(err)
		}
		last = dir
	}
	if dir := runs.Newest(out); dir != "" {
		t.Errorf("a run without a result is the newest: %s", dir)
	}
	if err := os.WriteFile(filepath.Join(last, runs.Result), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if want, err := filepath.EvalSymlinks(last); err != nil || runs.Newest(out) != want {
		t.Errorf("the newest is %s, want %s (%v)", runs.Newest(out), want, err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(out, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if dir, err := runs.Make(out, "elsewhere", now, 7); err == nil {
		t.Errorf("a run is stored behind a link: %s", dir)
	}
}
