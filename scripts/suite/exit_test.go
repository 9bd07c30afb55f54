package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

const asProgram = "SUITE_TEST_IS_THE_PROGRAM"

// TestMain is also the program under test.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestExitCode: the suite fails if a test fails, or a package without a test of it; where a test that is left to `make test-all` fails
// in a slice, only if it fails again. Its last lines say which it was.
func TestExitCode(t *testing.T) {
	ofAll := fmt.Sprintf("t.Log(%q)", suite.OfAll)
	for _, c := range []struct {
		name, tests string
		args        []string
		fails       bool
		says        []string
	}{
		{"passes", fmt.Sprintf(`func TestA(t *testing.T) {}
			func TestB(t *testing.T) { t.Skip(%q) }
			func TestC(t *testing.T) { t.Skip(%q) }`, suite.LacksPrefix+"an engine", suite.LeftToAll), nil, false,
			[]string{"suite: 1 passed, 0 failed, 2 skipped", "make test passed", "left to make test-all: 1", "this machine lacks an engine: 1"}},
		{"fails", `func TestA(t *testing.T) { t.Run("b", func(t *testing.T) { t.Error("no") }) }
			func TestB(t *testing.T) {}`, nil, true, []string{"failed: small TestA/b", "suite: 1 passed, 1 failed", "make test FAILED"}},
		{"dies after its tests", `func TestMain(m *testing.M) { m.Run(); os.Exit(1) }
			func TestA(t *testing.T) {}`, nil, true, []string{"failed: small", "make test FAILED"}},
		{"is not built", `func TestA(t *testing.T) { no() }`, nil, true, []string{"failed: ", "make test FAILED"}},
		{"has no tests that run", fmt.Sprintf(`func TestA(t *testing.T) { t.Skip(%q) }`, suite.LeftToAll), nil, true,
			[]string{"make test FAILED"}},
		{"is flaky", `func TestA(t *testing.T) {
				if _, err := os.Stat("ran"); err != nil {
					os.WriteFile("ran", nil, 0o600)
					t.Error("no")
				}
				` + ofAll + `
			}`, []string{"-slice", "3"}, false,
			[]string{"once more, by itself: small TestA", "flaky: small TestA failed", "suite: 1 passed, 0 failed",
				"make test, and part 3/8 of make test-all passed"}},
		{"fails again", `func TestA(t *testing.T) { ` + ofAll + `; t.Error("no") }`, []string{"-slice", "3"}, true,
			[]string{"once more, by itself: small TestA", "failed: small TestA", "make test, and part 3/8 of make test-all FAILED"}},
		{"fails in another module", `func TestA(t *testing.T) {}`, []string{"-modules", "other"}, true,
			[]string{"failed: other TestO", "make test FAILED"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod":              "module small\n\ngo 1.26\n",
				"small_test.go":       "package small\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n\n" + c.tests + "\n",
				"other/go.mod":        "module other\n\ngo 1.26\n",
				"other/other_test.go": "package other\n\nimport \"testing\"\n\nfunc TestO(t *testing.T) { t.Error(\"no\") }\n",
			} {
				file := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(os.Args[0], append(c.args, "-o", "record.json")...)
			cmd.Dir = dir
			// The turn of live tests is in TMPDIR: here nobody else has it.
			cmd.Env = append(os.Environ(), asProgram+"=1", suite.Variable+"=", "GOFLAGS=", "GOWORK=off", "TMPDIR="+t.TempDir())
			out, err := suite.CombinedOutput(t, cmd)
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if (err != nil) != c.fails {
				t.Errorf("it ends with %v", err)
			}
			for _, text := range c.says {
				if !strings.Contains(string(out), text) {
					t.Errorf("it does not say %q", text)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}
