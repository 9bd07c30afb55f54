package docstest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

const module = "github.com/redlock-sim/redlock-sim"

// rooms are the packages of docs/internals/architecture.md and what each may import of ours.
func rooms(t *testing.T) map[string][]string {
	t.Helper()
	quoted := regexp.MustCompile("`([^`]+)`")
	list := make(map[string][]string)
	for line := range strings.Lines(docstest.Read(t, "docs/internals/architecture.md")) {
		cells := strings.Split(line, " | ")
		name, isRow := strings.CutPrefix(cells[0], "| `")
		if !isRow {
			continue
		}
		name = strings.TrimSuffix(name, "`")
		if _, twice := list[name]; twice || len(cells) != 4 {
			t.Fatalf("want one row for each package, of four cells: %s", line)
		}
		list[name] = nil
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			list[name] = append(list[name], m[1])
		}
		slices.Sort(list[name])
	}
	return list
}

// short is a package as the column "may import" names it.
func short(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module+"/"), "internal/")
}

// goList runs go list in a folder of the repository.
func goList(t *testing.T, folder string, args ...string) []string {
	t.Helper()
	list := exec.Command("go", append([]string{"list"}, args...)...)
	list.Dir = filepath.Join(docstest.Root(t), folder)
	out, err := suite.Output(t, list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestArchitecture: each package has its row in docs/internals/architecture.md, which says exactly
// what it imports of ours.
func TestArchitecture(t *testing.T) {
	t.Parallel()
	const format = `{{if .GoFiles}}{{.ImportPath}} {{join .Imports " "}}{{end}}`
	planned := rooms(t)
	for _, line := range slices.Concat(goList(t, ".", "-f", format, "./..."), goList(t, "tools", "-f", format, "./...")) {
		paths := strings.Fields(line)
		name := strings.TrimPrefix(paths[0], module+"/")
		may, ok := planned[name]
		delete(planned, name)
		if !ok {
			t.Errorf("%s has no row in docs/internals/architecture.md", name)
			continue
		}
		var imports []string
		for _, path := range paths[1:] {
			if strings.HasPrefix(path, module) {
				imports = append(imports, short(path))
			}
		}
		slices.Sort(imports)
		if !slices.Equal(imports, may) {
			t.Errorf("%s imports %q; docs/internals/architecture.md says that it may import %q", name, imports, may)
		}
	}
	for name := range planned {
		t.Errorf("docs/internals/architecture.md has a row for %s, which has no code", name)
	}
}

// naming lists the functions that name the world for people. Nothing else in the checker
// and the report may know which world a history comes from.
var naming = []string{
	"internal/report/card/text.go place",
	"internal/report/compare/sides.go sidesOf",
	"internal/report/junit.go junitSuitesOf",
	"internal/report/limits.go limits",
	"internal/report/result.go realInVirtualTime",
	"internal/report/resultpage.go facts",
	"internal/report/text.go head",
}

// TestWorldIsOnlyNamed: imports do not show whether the checker or the report looks at the
// world that a history names. So no function or template of theirs reads a field World or
// has the name of a world in a string, but for those that name it for people.
func TestWorldIsOnlyNamed(t *testing.T) {
	t.Parallel()
	root := docstest.Root(t)
	found := make(map[string]bool)
	for _, dir := range []string{"internal/checker", "internal/report"} {
		err := fs.WalkDir(os.DirFS(root), dir, func(path string, _ fs.DirEntry, err error) error {
			switch {
			case err != nil || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/reporttest/"):
			case strings.HasSuffix(path, ".go"):
				for _, f := range worldly(t, filepath.Join(root, path)) {
					found[path+" "+f] = true
				}
			case strings.HasSuffix(path, ".tmpl") && strings.Contains(docstest.Read(t, path), ".World"):
				found[path] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, naming) {
		t.Errorf("the world is looked at in\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(naming, "\n"))
	}
}

// worldly are the functions of a file that look at the world.
func worldly(t *testing.T, path string) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		name := "(no function)"
		if f, ok := d.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "World" {
					list = append(list, name)
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && slices.Contains([]string{"live", "virtual"}, strings.Trim(n.Value, "\"`")) {
					list = append(list, name)
				}
			}
			return true
		})
	}
	return list
}
