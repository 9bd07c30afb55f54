package main

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

const recipesPage = "docs/guide/recipes.md"

// recipe says what a recipe in a language takes the place of in what sim init writes, and how it is built.
type recipe struct {
	language string
	// stub is the file that sim init writes; the recipe takes the place of what is in it between two marks, or is a file of its own.
	stub, from, to, file string
	// needs is the program without which nobody can try it; build makes it. lock starts it; empty: as sim.yaml says.
	needs, lock string
	build       []string
	// slow: it is compiled.
	slow bool
}

var recipes = map[string]recipe{
	"python":     {language: "python", stub: "locks/my_lock.py", from: "def open_lock(setup):", needs: "python3"},
	"javascript": {language: "node", stub: "locks/my_lock.mjs", from: "/** Called once for each client", needs: "node"},
	"ruby":       {language: "ruby", stub: "locks/my_lock.rb", from: "# The block is called once", needs: "ruby"},
	"php":        {language: "php", stub: "locks/my_lock.php", from: "// The function is called once", needs: "php"},
	"java": {language: "java", file: "locks/Recipe.java", needs: "javac", lock: "java -cp locks/classes Recipe", slow: true,
		build: []string{"javac", "-d", "locks/classes", "locks/MyLock.java", "locks/SimAdapter.java", "locks/Recipe.java"}},
	"rust": {language: "rust", needs: "rustc",
		stub: "locks/my_lock.rs", from: "/// The function is called once", to: "/// As much of a client",
		build: []string{"rustc", "-O", "--edition", "2021", "-o", "locks/bin/my-lock", "locks/my_lock.rs"}, slow: true},
	"go": {language: "go", stub: "locks/my-lock/main.go", from: "func main() {", to: "// open is called once", file: "locks/my-lock/recipe.go",
		needs: "go", slow: true},
}

// TestRecipes: each recipe of the page is a lock program that conforms.
func TestRecipes(t *testing.T) {
	t.Parallel()
	tried := make(map[string]bool)
	for _, b := range docstest.Blocks(t, recipesPage) {
		r, known := recipes[b.Language]
		if b.Mark != "recipe" || !known {
			t.Errorf("%s:%d: no recipe: %s %s", recipesPage, b.Line, b.Language, b.Mark)
			continue
		}
		tried[b.Language] = true
		t.Run(fmt.Sprintf("%s-%d", b.Language, b.Line), func(t *testing.T) {
			t.Parallel()
			if r.slow {
				suite.All(t)
			}
			if _, err := exec.LookPath(r.needs); err != nil {
				suite.Lacks(t, r.needs)
			}
			r.try(t, b.Text)
		})
	}
	for language := range recipes {
		if !tried[language] {
			t.Errorf("%s has no recipe in %s", recipesPage, language)
		}
	}
}

func (r *recipe) try(t *testing.T, text string) {
	dir, env := t.TempDir(), userEnv(t, t.TempDir())
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := suite.CombinedOutput(t, cmd)
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("sim", "init", "--language", r.language)
	r.write(t, dir, text)
	if r.language == "go" {
		r.buildGo(t, dir, run)
	} else if len(r.build) > 0 {
		run(r.build[0], r.build[1:]...)
	}
	conform := []string{"conform", "--allow-programs"}
	if r.lock != "" {
		conform = []string{"conform", r.lock}
	}
	if out := run("sim", conform...); !strings.Contains(out, "\nconforms: ") {
		t.Errorf("it does not conform:\n%s", out)
	}
}

// write puts the recipe into its place.
func (r *recipe) write(t *testing.T, dir, text string) {
	t.Helper()
	change := func(file string, to func(before string) string) {
		path := filepath.Join(dir, file)
		before, _ := os.ReadFile(path) // a file of its own is new
		if err := os.WriteFile(path, []byte(to(string(before))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	own := r.file != ""
	if own {
		change(r.file, func(string) string { return text })
	}
	if r.stub == "" {
		return
	}
	change(r.stub, func(before string) string {
		head, rest, ok := strings.Cut(before, r.from)
		tail := ""
		if at := strings.Index(rest, r.to); r.to != "" {
			ok, tail = ok && at >= 0, rest[max(at, 0):]
		}
		if !ok {
			t.Fatalf("%s has no place for a recipe", r.stub)
		}
		if own {
			return head + tail
		}
		return head + text + "\n" + tail
	})
}

// buildGo builds the program with the libraries that the module adapters has.
func (r *recipe) buildGo(t *testing.T, dir string, run func(string, ...string) string) {
	t.Helper()
	root := docstest.Root(t)
	replace := make(map[string]string)
	for _, file := range []string{r.stub, r.file} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if code, err := format.Source(text); err != nil || string(code) != string(text) {
			t.Errorf("gofmt changes %s (%v)", file, err)
		}
		replace[filepath.Join(root, "adapters/recipe", filepath.Base(file))] = filepath.Join(dir, file)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	run("go", "-C", filepath.Join(root, "adapters"), "build", "-overlay", path, "-o", filepath.Join(dir, "locks/bin/my-lock"), "./recipe")
}
