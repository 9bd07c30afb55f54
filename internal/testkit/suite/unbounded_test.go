package suite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// bubbles are the files whose functions run in bubbles of testing/synctest, where time passes at once, without being
// written there.
var bubbles = []string{
	"internal/nemesis/schedule_test.go",
	"internal/testkit/suite/wait_test.go",
	"internal/world/live/proxy/message_test.go",
	"internal/world/live/proxy/valve_test.go",
	"internal/world/worldtest/worldtest.go",
}

// sleeps are the functions of tests that may let real time pass, and why no condition can take its place.
var sleeps = map[string]string{
	"cmd/sim/main_test.go:stall":                                       "is how long sim stands still",
	"cmd/sim/torture_test.go:soon":                                     "looks again, for the time that docs/guide/safety.md promises",
	"cmd/sim/torture_test.go:strike":                                   "a command dies at any moment",
	"internal/app/campaign/faults_test.go:TestFaults":                  "faults strike at any moment",
	"internal/app/campaign/faults_test.go:beWorker":                    "tries again until it is killed",
	"internal/app/campaign/faults_test.go:strike":                      "is how long a fault lasts",
	"internal/app/campaign/growth_linux_test.go:campaignOf":            "looks again, in a benchmark, which measures how long that takes",
	"internal/app/campaign/worker_test.go:TestJobOfALongRange":         "nothing may happen meanwhile",
	"internal/machine/scratch_linux_test.go:endInOrderOnceAsked":       "it is a process that takes its time to end",
	"internal/machine/tree_linux_test.go:TestTreeIsStruckAsOne":        "nothing may happen meanwhile",
	"internal/testkit/suite/turn.go:takeTurn":                          "looks again for the turn, as long as others have it",
	"internal/testkit/suite/wait.go:Succeeds":                          "looks again, for all others",
	"internal/world/live/kept_test.go:TestKilledTwiceAtOnce":           "faults overlap at any moment",
	"internal/world/live/observe/keywatch_test.go:followRealServer":    "commands come before and after the end of a key",
	"internal/world/virtual/guests/lockprogram_test.go:(no function)":  "a lock program sleeps, in virtual time",
	"internal/world/virtual/guests/lockprogram_test.go:acquire":        "a lock program sleeps, in virtual time",
	"internal/world/virtual/guests/lockprogram_test.go:randomCommands": "a lock program sleeps, in virtual time",
	"linear/reference_test.go:TestPartsShareTheTime":                   "the model is slow by intent",
	"sdk/locklog_test.go:tryGo":                                        "an application holds its lock, by the clock that its log shows",
}

// inTests says whether a file belongs to tests alone.
func inTests(file string) bool {
	if strings.HasSuffix(file, "_test.go") {
		return true
	}
	for dir := path.Dir(file); strings.HasPrefix(dir, "internal/"); dir = path.Dir(dir) {
		if strings.HasSuffix(dir, "test") || dir == "internal/testkit/suite" {
			return strings.HasSuffix(file, ".go")
		}
	}
	return false
}

// eachTestFile parses the files of tests of all modules.
func eachTestFile(t *testing.T, look func(name string, file *ast.File)) {
	t.Helper()
	root := docstest.Root(t)
	files := 0
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, at)
		switch name = filepath.ToSlash(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "reports", "node_modules"}, name)):
			return fs.SkipDir
		case d.IsDir() || !inTests(name):
			return nil
		}
		files++
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err == nil {
			look(name, file)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files of tests were read: %v", files, err)
	}
}

// calls says whether a node calls a function of a package.
func calls(n ast.Node, pkg, function string) bool {
	call, is := n.(*ast.CallExpr)
	if !is {
		return false
	}
	s, is := call.Fun.(*ast.SelectorExpr)
	if !is || s.Sel.Name != function {
		return false
	}
	x, is := s.X.(*ast.Ident)
	return is && x.Name == pkg
}

// TestNoSleep: a test that sleeps is too slow on an idle machine, and too fast on a busy one. It waits for what it
// needs (Eventually, Receive), or lives in a bubble of testing/synctest.
func TestNoSleep(t *testing.T) {
	t.Parallel()
	found, inBubbles := make(map[string]bool), 0
	eachTestFile(t, func(name string, file *ast.File) {
		if slices.Contains(bubbles, name) {
			inBubbles++
			return
		}
		for _, d := range file.Decls {
			function := "(no function)"
			if f, is := d.(*ast.FuncDecl); is {
				function = f.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if calls(n, "synctest", "Test") {
					return false
				}
				if calls(n, "time", "Sleep") {
					found[name+":"+function] = true
				}
				return true
			})
		}
	})
	if inBubbles != len(bubbles) {
		t.Errorf("%d of the files of bubbles are there, want %d", inBubbles, len(bubbles))
	}
	for _, at := range slices.Sorted(maps.Keys(found)) {
		if sleeps[at] == "" {
			t.Errorf("%s lets real time pass: wait for a condition, as with suite.Eventually, or say in the list of sleeps why that cannot be", at)
		}
	}
	for at := range sleeps {
		if !found[at] {
			t.Errorf("the list of sleeps has %s, which does not sleep", at)
		}
	}
}

// receives are the functions of tests that may wait for a channel without a bound, and why.
var receives = map[string]string{
	"adapter/program_test.go:TestBusy":    "a ticker goes on ticking",
	"internal/app/jobs_test.go:TestSlots": "nobody else receives, and the channel is not empty",
	"cmd/sim/torture_test.go:strike":      "the process has been killed",
}

// TestNoReceiveWithoutABound: a test that waits for a channel says what it waits for, and fails where that never
// comes. What a test starts beside itself may wait: whoever waits for it has a bound.
func TestNoReceiveWithoutABound(t *testing.T) {
	t.Parallel()
	found := make(map[string]bool)
	eachTestFile(t, func(name string, file *ast.File) {
		if slices.Contains(bubbles, name) {
			return
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Body == nil {
				continue
			}
			var look func(n ast.Node, ofTest bool)
			look = func(root ast.Node, ofTest bool) {
				ast.Inspect(root, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.FuncLit:
						look(n.Body, takesATest(n.Type))
						return false
					case *ast.CommClause:
						for _, s := range n.Body {
							look(s, ofTest)
						}
						return false
					case *ast.CallExpr:
						return !calls(n, "synctest", "Test")
					case *ast.UnaryExpr:
						if n.Op == token.ARROW && ofTest {
							found[name+":"+f.Name.Name] = true
						}
					}
					return true
				})
			}
			look(f.Body, takesATest(f.Type))
		}
	})
	for _, at := range slices.Sorted(maps.Keys(found)) {
		if receives[at] == "" {
			t.Errorf("%s waits for a channel without a bound: use suite.Receive, or say in the list of receives why that cannot be", at)
		}
	}
	for at := range receives {
		if !found[at] {
			t.Errorf("the list of receives has %s, which has none", at)
		}
	}
}

// takesATest says whether a function has a parameter like t *testing.T.
func takesATest(f *ast.FuncType) bool {
	for _, p := range f.Params.List {
		typ := p.Type
		if star, is := typ.(*ast.StarExpr); is {
			typ = star.X
		}
		if s, is := typ.(*ast.SelectorExpr); is {
			if x, is := s.X.(*ast.Ident); is && slices.Contains([]string{"testing", "testscript", "rapid"}, x.Name) {
				return true
			}
		}
	}
	return false
}
