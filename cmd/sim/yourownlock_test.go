package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/docstest"
)

// TestYourOwnLock does what docs/your-own-lock.md says, in a folder beside a copy of the
// sources.
func TestYourOwnLock(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs and runs them")
	}
	dir, root := t.TempDir(), docstest.Root(t)
	clone := filepath.Join(dir, "redlock-sim")
	if err := os.MkdirAll(filepath.Join(clone, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"adapter", "scenarios"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(clone, name)); err != nil {
			t.Fatal(err)
		}
	}
	command := func(words ...string) string {
		c := exec.Command(words[0], words[1:]...)
		// Debian's Python has redis-py.
		c.Dir, c.Env = dir, append(os.Environ(), "PATH=/usr/bin:"+os.Getenv("PATH"), "GOFLAGS=-mod=mod", "NO_COLOR=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
		return string(out)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(clone, "bin", "sim"), "./cmd/sim")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var said []string
	for _, b := range docstest.Blocks(t, "your-own-lock.md") {
		file := filepath.Join(dir, b.File)
		switch b.Language {
		case "sh":
			said = append(said, command("sh", "-e", "-c", b.Text))
		case "diff":
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b.Text = docstest.Patch(t, string(text), b.Text)
			fallthrough
		default:
			if err := os.WriteFile(file, []byte(b.Text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, want := range []string{"", "", "conforms", "c1 deleted the key of c2", "0 unexpected, 0 undecided", "", "0 unexpected, 0 undecided"} {
		if i >= len(said) || !strings.Contains(said[i], want) {
			t.Errorf("command %d does not say %q:\n%s", i, want, said[min(i, len(said)-1)])
		}
	}
}
