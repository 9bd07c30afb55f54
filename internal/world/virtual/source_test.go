package virtual

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// beside are the packages whose code runs inside the world as well.
var beside = []string{"../../lock", "../client", "../../redis/command", "../../scenario/resource", "../../scenario/workload",
	"../../runner", "../../nemesis", "../../redis/sentinel", "../link"}

// TestNothingUncertain looks through the source for what would make two runs of
// one seed differ: real clocks, goroutines, channels, random numbers from
// outside the seed, and the order of maps.
func TestNothingUncertain(t *testing.T) {
	for _, dir := range append([]string{"."}, beside...) {
		for _, complaint := range uncertain(t, dir, dir == ".") {
			t.Error(complaint)
		}
	}
}

// TestUncertaintyIsSeen makes sure that the test above can fail.
func TestUncertaintyIsSeen(t *testing.T) {
	const want = 7
	if got := uncertain(t, "testdata/uncertain", true); len(got) != want {
		t.Errorf("%d complaints, want %d:\n%s", len(got), want, strings.Join(got, "\n"))
	}
}

// Packages are type-checked once for all that import them.
var (
	sources   = token.NewFileSet()
	importing sync.Once
	imports   types.Importer
)

// goroot is where the sources of the standard library are: a program built with -trimpath does not know it.
func goroot(t *testing.T) string {
	t.Helper()
	out, err := suite.Output(t, exec.Command("go", "env", "GOROOT"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func uncertain(t *testing.T, dir string, maps bool) []string {
	t.Helper()
	importing.Do(func() {
		build.Default.GOROOT = goroot(t)
		imports = importer.ForCompiler(sources, "source", nil)
	})
	list, err := build.ImportDir(dir, 0) // without tests and without what is for another system
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range list.GoFiles {
		f, err := parser.ParseFile(sources, filepath.Join(dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: imports}
	if _, err := config.Check(filepath.Base(dir), sources, files, info); err != nil {
		t.Fatal(err)
	}
	var complaints []string
	complain := func(n ast.Node, what string) {
		complaints = append(complaints, sources.Position(n.Pos()).String()+": "+what)
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				complain(n, "a goroutine")
			case *ast.SelectStmt:
				complain(n, "a select")
			case *ast.SendStmt:
				complain(n, "a channel")
			case *ast.RangeStmt:
				if _, isMap := info.TypeOf(n.X).Underlying().(*types.Map); isMap && maps {
					complain(n, "the order of a map")
				}
			case *ast.SelectorExpr:
				if what := forbidden(info.Uses[n.Sel]); what != "" {
					complain(n, what)
				}
			}
			return true
		})
	}
	return complaints
}

// forbidden says what is wrong with using o.
func forbidden(o types.Object) string {
	f, ok := o.(*types.Func)
	if !ok || f.Pkg() == nil || f.Signature().Recv() != nil {
		return ""
	}
	switch f.Pkg().Path() {
	case "time":
		if slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, f.Name()) {
			return "the real clock"
		}
	case "math/rand/v2":
		if !strings.HasPrefix(f.Name(), "New") {
			return "randomness from outside the seed"
		}
	case "math/rand", "crypto/rand":
		return "randomness from outside the seed"
	}
	return ""
}
