package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func TestChoose(t *testing.T) {
	t.Setenv(suite.Variable, "")
	for slice, want := range map[string]string{
		"": "", "1": "1/8", "8": "8/8", "9557fe57ab": "8/8", "1234567": "8/8",
		"0": "error", "9": "error", "face": "error", "nonsense": "error", "-1": "error",
	} {
		t.Run(slice, func(t *testing.T) {
			got, err := choose(false, slice)
			if err != nil {
				got = "error"
			}
			if got != want {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
		})
	}
	if _, err := choose(true, "3"); err == nil {
		t.Error("-all and -slice do not exclude each other")
	}
}

const isOfAll = "\tt.Log(`" + suite.OfAll + "`)\n"

// once fails in the first run of a module's tests.
const once = "\tif _, err := os.Stat(`once`); err != nil {\n\t\t_ = os.WriteFile(`once`, nil, 0o644)\n\t\tt.Fatal(`x`)\n\t}\n"

// newRun is a run of a slice, and a job with the tests of a module.
func newRun(t *testing.T, tests string) (s *suiteRun, j *job, printed *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module x\n",
		"x_test.go": "package x\n\nimport (\n\t\"os\"\n\t\"strconv\"\n\t\"testing\"\n\t\"time\"\n)\n\n" +
			"var _, _, _ = os.Args, strconv.Itoa, time.Now\n\n" + tests,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	printed = &bytes.Buffer{}
	s = &suiteRun{which: "3/8"}
	var err error
	if s.results, err = newResults(printed, filepath.Join(dir, "last.json")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.results.close)
	return s, &job{dir: dir, packages: []string{"./..."}}, printed
}

// TestVerdict: whatever goes wrong, the suite is red, but for a test of make test-all that passes when it is run again. TestExitCode has
// the plain cases.
func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		tests string
		says  []string
		not   string
		all   bool // it is left to make test-all
	}{
		"flaky": {"func TestA(t *testing.T) {\n\tt.Run(`b`, func(t *testing.T) {\n" + isOfAll + once + "})}\nfunc TestC(t *testing.T) {}",
			[]string{"flaky: x TestA/b failed, and passed", "suite: 3 passed, 0 failed", " passed in "}, "failed: ", false},
		"belongs to make test": {"func TestA(t *testing.T) {\n" + once + "}",
			[]string{"failed: x TestA\n", "1 failed", "FAILED"}, "once more", true},
		"is not there again": {"func TestA(t *testing.T) {\n" + isOfAll + "\tt.Run(time.Now().Format(`05.000000`), func(t *testing.T) {\n" +
			once + "})\n}", []string{"once more", "failed: x TestA/", "FAILED"}, "flaky: ", true},
		"panics, and passes again": {"func TestA(t *testing.T) {\n" + isOfAll + strings.Replace(once, "t.Fatal", "panic", 1) + "}\n" +
			"func TestC(t *testing.T) { t.Fatal(`never seen`) }", []string{"flaky: x TestA", "failed: x (as a whole)", "FAILED"}, "", false},
		"another one ends the process": {"func TestA(t *testing.T) {\n" + isOfAll + once + "}\nfunc TestC(t *testing.T) { os.Exit(1) }",
			[]string{"failed: x (as a whole)", "FAILED"}, "", true},
		"a goroutine panics": {"func TestA(t *testing.T) {\n\tgo panic(`in a goroutine`)\n\ttime.Sleep(time.Minute)\n}",
			[]string{"panic: in a goroutine", "failed: x (as a whole)", "FAILED"}, "", true},
		"vet refuses it": {"func TestA(t *testing.T) { t.Errorf(`%d`) }", []string{"failed: x (as a whole)", "FAILED"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.all {
				suite.All(t)
			}
			t.Parallel()
			s, j, printed := newRun(t, c.tests)
			s.test(t.Context(), j)
			s.again(t.Context())
			passed := s.results.summary(s.which, 0, 0)
			for _, want := range c.says {
				if !strings.Contains(printed.String(), want) {
					t.Errorf("no %q in\n%s", want, printed)
				}
			}
			if c.not != "" && strings.Contains(printed.String(), c.not) {
				t.Errorf("%q in\n%s", c.not, printed)
			}
			if red := strings.Contains(printed.String(), " FAILED in "); passed == red {
				t.Errorf("passed: %v, and it says\n%s", passed, printed)
			}
		})
	}
}

// TestInterrupted: the test of a run that is interrupted ends with it.
func TestInterrupted(t *testing.T) {
	s, j, _ := newRun(t, "func TestA(t *testing.T) {\n"+
		"\t_ = os.WriteFile(`pid`, []byte(strconv.Itoa(os.Getpid())), 0o644)\n\ttime.Sleep(time.Hour)\n}")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.test(ctx, j)
	}()
	var pid int
	suite.Eventually(t, "the begin of the test", func() bool {
		text, _ := os.ReadFile(filepath.Join(j.dir, "pid"))
		pid, _ = strconv.Atoi(string(text))
		return pid > 0
	})
	cancel()
	suite.Receive(t, "the end of the run", over)
	suite.Eventually(t, "the end of the test", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}
