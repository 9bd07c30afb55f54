package lock_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddingALock follows docs/adding-a-lock.md: it builds sim with the lock of that
// page and runs the page's scenario. The source tree stays as it is.
func TestAddingALock(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the whole program")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "adding-a-lock.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	source := write("lock.go", block(t, string(page), "go"))
	scenario := write("scenario.yaml", block(t, string(page), "yaml"))
	replace := map[string]map[string]string{"Replace": {filepath.Join(root, "internal/lock/getthenset.go"): source}}
	overlay, err := json.Marshal(replace)
	if err != nil {
		t.Fatal(err)
	}
	sim := filepath.Join(dir, "sim")
	build := exec.Command("go", "build", "-overlay", write("overlay.json", string(overlay)), "-o", sim, "./cmd/sim")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the lock of the page does not build: %v\n%s", err, out)
	}
	run := exec.Command(sim, "run", "--world", "virtual", "--out", filepath.Join(dir, "out"), scenario)
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("the scenario of the page: %v\n%s", err, out)
	}
}

// block is the first fenced block of a language on a page.
func block(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n```"+language+"\n")
	text, _, ended := strings.Cut(rest, "\n```\n")
	if !found || !ended {
		t.Fatalf("the page has no block of %s", language)
	}
	return text + "\n"
}
