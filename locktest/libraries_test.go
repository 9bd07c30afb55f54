package locktest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// libraries is a module of its own, which imports this package as anybody would.
const libraries = "testdata/libraries"

// goTest runs tests of that module.
func goTest(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command("go", append([]string{"test", ".", "-count=1", "-v"}, args...)...)
	c.Dir = libraries
	out, _ := suite.CombinedOutput(t, c) // a test that fails is no error here
	return string(out)
}

// TestLibraries: no schedule of these seeds breaks the libraries.
func TestLibraries(t *testing.T) {
	for _, test := range []struct{ name, seed, runs, want string }{
		{"TestRedsync", "1", "200", "holds: 0 in"},
		{"TestRedislock", "1", "400", "holds: 0 in"},
		{"TestRueidislock", "1", "200", "holds: 0 in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name != "TestRedislock" {
				suite.All(t)
			}
			out := goTest(t, "-run", "^"+test.name+"$", "-locktest.seed="+test.seed, "-locktest.runs="+test.runs, "-locktest.workers=2")
			if !strings.Contains(out, test.want) {
				t.Errorf("%q is missing in\n%s", test.want, out)
			}
		})
	}
}

// TestSavedFind: what a search found in a library shows again, from the file that was written. It is not reported yet, so the file is
// not published.
func TestSavedFind(t *testing.T) {
	file, err := filepath.Abs("../unreported/locktest/TestRedsyncOneNode-exclusive-lease-1471.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		suite.Lacks(t, "the reports that are not sent yet (unreported/), which are kept in a private place")
	}
	out := goTest(t, "-run", "^TestRedsyncOneNode$", "-locktest.replay="+file)
	for _, want := range []string{"--- FAIL: TestRedsyncOneNode", "exclusive-lease         ", "violated, expected holds",
		"failed assumption: ", "report.html"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// TestLeastRedis: what a verdict says of the least version is so.
func TestLeastRedis(t *testing.T) {
	out, err := suite.Output(t, exec.Command("go", "list", "-m", "github.com/redis/go-redis/v9"))
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), " "+leastRedis) {
		t.Errorf("go.mod asks for %s, not %s: %v", out, leastRedis, err)
	}
}

// TestPage runs the test that docs/guide/locktest.md shows.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/guide/locktest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, _ = strings.Cut(code, "```\n")
	dir := t.TempDir() // a module as that of the libraries
	mod, err := os.ReadFile(filepath.Join(libraries, "go.mod"))
	sum, sumErr := os.ReadFile(filepath.Join(libraries, "go.sum"))
	root, absErr := filepath.Abs("..")
	err = errors.Join(err, sumErr, absErr)
	for name, text := range map[string]string{"go.mod": strings.Replace(string(mod), "../../..", root, 1),
		"go.sum": string(sum), "mylock_test.go": code} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "test", ".", "-v", "-locktest.seed=1", "-locktest.runs=100")
	c.Dir = dir
	out, err := suite.CombinedOutput(t, c)
	if err != nil || !strings.Contains(string(out), "holds: 0 in") {
		t.Errorf("%v\n%s", err, out)
	}
}
