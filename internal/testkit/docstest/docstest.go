// Package docstest does what the pages say, for tests: it reads the blocks of code of a page,
// builds sim with the code that the page shows, and runs what the page runs.
package docstest

import (
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// Guide is a page of docs that says how to add something. Its table lists the files to
// touch. Each block of code follows a sentence that names its file. A block of Go or YAML is
// a new file. A block of diff changes a file that exists: its lines stand in the file as they
// stand in the block, but for those with + in front.
type Guide struct {
	t         *testing.T
	root, dir string
	pages     int
	// files are the files of the page, by their paths in the source tree, and where
	// they are kept. The source tree stays as it is.
	files map[string]string
}

// Follow reads pages and writes down the files that they tell to add or to change.
func Follow(t *testing.T, pages ...string) *Guide {
	t.Helper()
	g := &Guide{t: t, root: Root(t), dir: t.TempDir(), pages: len(pages), files: make(map[string]string)}
	for _, page := range pages {
		g.follow(page)
	}
	return g
}

func (g *Guide) follow(page string) {
	t := g.t
	t.Helper()
	text := Read(t, page)
	for _, b := range Blocks(t, page) {
		if b.File == "" {
			t.Fatalf("%s:%d: the text before this block names no file", page, b.Line)
		}
		file, block := b.File, b.Text
		if b.Language == "diff" {
			block = g.patched(file, block)
		}
		if code, err := format.Source([]byte(block)); strings.HasSuffix(file, ".go") && (err != nil || string(code) != block) {
			t.Errorf("gofmt changes %s as %s shows it (%v)", file, page, err)
		}
		if !strings.Contains(text, "\n| `"+file+"` | ") {
			t.Errorf("%s has no row for %s in its table of files", page, file)
		}
		g.keep(file, block)
	}
}

// patched is a file with the lines of a diff added.
func (g *Guide) patched(file, diff string) string {
	g.t.Helper()
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		if added, yes := strings.CutPrefix(line, "+"); yes {
			after.WriteString(added)
			continue
		}
		line = strings.TrimPrefix(line, " ")
		before.WriteString(line)
		after.WriteString(line)
	}
	text := Read(g.t, file)
	if kept, twice := g.files[file]; twice {
		text = read(g.t, kept)
	}
	if n := strings.Count(text, before.String()); n != 1 {
		g.t.Fatalf("%s has %d times what the page changes in it:\n%s", file, n, diff)
	}
	return strings.Replace(text, before.String(), after.String(), 1)
}

// keep writes a file of the page down.
func (g *Guide) keep(file, text string) {
	g.t.Helper()
	path := filepath.Join(g.dir, "files", file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
	g.files[file] = path
}

// Go runs the go command on the source tree as the page makes it. It returns what it
// printed.
func (g *Guide) Go(command string, args ...string) string {
	g.t.Helper()
	replace := make(map[string]string)
	for file, path := range g.files {
		replace[filepath.Join(g.root, file)] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		g.t.Fatal(err)
	}
	g.keep("overlay.json", string(overlay))
	return g.run(g.root, "go", append([]string{command, "-overlay", g.files["overlay.json"]}, args...)...)
}

// Run builds sim as the pages make it, and runs their scenarios in the virtual
// world. All must meet their expectations.
func (g *Guide) Run() {
	g.t.Helper()
	sim := filepath.Join(g.dir, "sim")
	g.Go("build", "-ldflags=-s -w", "-o", sim, "./cmd/sim") // what a debugger needs takes long to link
	ran := 0
	for file, path := range g.files {
		if strings.HasPrefix(file, "scenarios/") {
			ran++
			g.run(g.dir, sim, "run", "--world", "virtual", "--out", filepath.Join(g.dir, "out"), path)
		}
	}
	if ran < g.pages {
		g.t.Errorf("%d pages have %d scenarios", g.pages, ran)
	}
}

func (g *Guide) run(dir, name string, args ...string) string {
	g.t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), suite.Variable+"=") // tests that are run here are those of make test
	out, err := c.CombinedOutput()
	if err != nil {
		g.t.Fatalf("as the page says, %s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
	return string(out)
}

// Patch applies a block of diff, which has to fit one place of a text.
func Patch(t testing.TB, text, diff string) string {
	t.Helper()
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		if !strings.HasPrefix(line, "+") {
			before.WriteString(line[1:])
		}
		if !strings.HasPrefix(line, "-") {
			after.WriteString(line[1:])
		}
	}
	if n := strings.Count(text, before.String()); n != 1 {
		t.Fatalf("%d places fit\n%s", n, diff)
	}
	return strings.Replace(text, before.String(), after.String(), 1)
}

// Root is the root of the source tree.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := moduleFolder()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

// moduleFolder asks where the module of sim is: tests of the module in tools ask, too.
var moduleFolder = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/redlock-sim/redlock-sim").Output()
})

// Read reads a file of the source tree.
func Read(t testing.TB, file string) string {
	t.Helper()
	return read(t, filepath.Join(Root(t), file))
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
