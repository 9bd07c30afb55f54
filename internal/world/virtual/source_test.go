package virtual

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// beside are the packages whose code runs inside the world as well.
var beside = []string{"../../lock", "../../client", "../../command", "../../resource", "../../workload", "../../runner", "../../nemesis", "../../sentinel", "../link"}

// TestNothingUncertain looks through the source for what would make two runs of
// one seed differ: real clocks, goroutines, channels, random numbers from
// outside the seed, and the order of maps.
func TestNothingUncertain(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks packages from their sources")
	}
	for _, dir := range append([]string{"."}, beside...) {
		for _, complaint := range uncertain(t, dir, dir == ".") {
			t.Error(complaint)
		}
	}
}

// TestUncertaintyIsSeen makes sure that the test above can fail.
func TestUncertaintyIsSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks packages from their sources")
	}
	const want = 7
	if got := uncertain(t, "testdata/uncertain", true); len(got) != want {
		t.Errorf("%d complaints, want %d:\n%s", len(got), want, strings.Join(got, "\n"))
	}
}

func uncertain(t *testing.T, dir string, maps bool) []string {
	t.Helper()
	set := token.NewFileSet()
	notTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(set, dir, notTest, 0) //nolint:staticcheck // there are no build tags here to be missed
	if err != nil || len(packages) != 1 {
		t.Fatalf("%s: %d packages, %v", dir, len(packages), err)
	}
	var files []*ast.File
	for _, p := range packages {
		for _, name := range slices.Sorted(keysOf(p.Files)) {
			files = append(files, p.Files[name])
		}
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
	if _, err := config.Check(filepath.Base(dir), set, files, info); err != nil {
		t.Fatal(err)
	}
	var list []string
	complain := func(n ast.Node, what string) { list = append(list, set.Position(n.Pos()).String()+": "+what) }
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
	return list
}

func keysOf(m map[string]*ast.File) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
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
