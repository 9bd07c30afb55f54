package docstest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// TestPublicPackages: who imports a package of ours gets none of what the program needs for live runs and campaigns.
func TestPublicPackages(t *testing.T) {
	t.Parallel()
	for folder, packages := range map[string][]string{".": {"./linear", "./locktest"}, "adapter": {"."}} {
		for _, public := range packages {
			behind := goList(t, folder, "-deps", public)
			if len(behind) < 10 {
				t.Errorf("%s %s: the list looks wrong: %q", folder, public, behind)
			}
			for _, path := range behind {
				for _, unwanted := range []string{"docker", "moby", "testcontainers", "toxiproxy", "jackc", "riverqueue",
					"go-redis", "spf13", module + "/internal/world/live", module + "/internal/world/client/process"} {
					if strings.Contains(path, unwanted) {
						t.Errorf("%s stands behind %s %s", path, folder, public)
					}
				}
			}
		}
	}
}

// TestInstallable: `go install MODULE/cmd/sim@VERSION` refuses a go.mod that replaces or excludes something.
func TestInstallable(t *testing.T) {
	t.Parallel()
	file, err := modfile.Parse("go.mod", []byte(docstest.Read(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if file.Module.Mod.Path != module || len(file.Replace) > 0 || len(file.Exclude) > 0 {
		t.Errorf("go.mod of %s replaces %d modules and excludes %d", file.Module.Mod.Path, len(file.Replace), len(file.Exclude))
	}
}

// modules are the modules whose tests `make test` runs, by their folders.
func modules(t *testing.T) []string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^MODULES\s*:= (.*)$`).FindStringSubmatch(docstest.Read(t, "Makefile"))
	if m == nil {
		t.Fatal("the Makefile has no MODULES")
	}
	return append(strings.Fields(m[1]), ".")
}

// TestNoTestIsLeftOut: each folder with tests is a package of a module whose tests `make test` runs.
func TestNoTestIsLeftOut(t *testing.T) {
	t.Parallel()
	root := docstest.Root(t)
	listed := make(map[string]bool)
	for _, folder := range modules(t) {
		for _, dir := range goList(t, folder, "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}`, "./...") {
			listed[dir] = true
		}
	}
	walk(t, root, func(path string) {
		if dir := filepath.Join(root, filepath.Dir(path)); strings.HasSuffix(path, "_test.go") && !listed[dir] {
			t.Errorf("make test leaves out %s", path)
		}
	})
}

// TestPathsExist: the files that name packages, folders and files of the repository name some that are there.
func TestPathsExist(t *testing.T) {
	t.Parallel()
	root := docstest.Root(t)
	var top []string
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains([]string{"bin", "reports"}, e.Name()) {
			top = append(top, e.Name())
		}
	}
	named := regexp.MustCompile(`(?:^|[\s"'(|:=^]|\./|redlock-sim/)((?:` + strings.Join(top, "|") + `)/[a-z][\w./-]*)`)
	for _, file := range []string{"Makefile", ".ci/run", ".golangci.yml", ".goreleaser.yaml", "tools/mutants/main.go",
		"scripts/newest.sh", "scripts/fuzz.sh", "scripts/release-files.sh", "scripts/release-check.sh"} {
		for line := range strings.Lines(docstest.Read(t, file)) {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				path := filepath.Join(root, strings.TrimRight(m[1], "./"))
				pkg, _, _ := strings.Cut(path, ".") // internal/app/play.Stamp is a variable of a package
				begun, _ := filepath.Glob(path + "*")
				if !exists(path) && !exists(pkg) && (len(begun) == 0 || !strings.HasSuffix(path, "-")) { // a variable follows
					t.Errorf("%s names %s, which is not there: %s", file, m[1], line)
				}
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// walk calls with each file of the repository's code, by its path from the root.
func walk(t *testing.T, root string, call func(path string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "bin", "reports"}, d.Name())):
			return fs.SkipDir
		case !d.IsDir():
			call(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
