package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// A package that takes longer than this, counted from its turn, is taken to hang. All tests of cmd/sim take half an hour.
const (
	bound    = 30 * time.Minute
	allBound = 2 * time.Hour
)

// suiteRun is one run of a suite.
type suiteRun struct {
	which      string // suite.Variable
	processors int
	record     string
	modules    []string
	packages   []string

	began   time.Time
	results *results
	cpu     time.Duration
	mu      sync.Mutex // of cpu
}

// job is one `go test`.
type job struct {
	dir      string
	packages []string
	flags    []string
	env      []string
	// again: it runs one test once more; passed is what passed then.
	again  bool
	passed []testName
}

// race says whether the job's tests run under the race detector.
func (j *job) race() bool { return slices.Contains(j.flags, "-race") }

func (s *suiteRun) run(ctx context.Context) (passed bool, err error) {
	s.began = time.Now()
	if s.results, err = newResults(os.Stdout, s.record); err != nil {
		return false, err
	}
	defer s.results.close()
	if len(s.packages) == 0 {
		s.packages = []string{"./..."}
	}
	part, of, err := suite.Part(s.which)
	if err != nil {
		return false, err
	}
	list, err := listPackages(ctx, s.packages)
	if err != nil {
		return false, err
	}
	var live, others, concurrent []string
	for _, p := range list {
		if p.live {
			live = append(live, p.path)
		} else {
			others = append(others, p.path)
		}
		if p.concurrent && suite.InPart(p.path, part, of) {
			concurrent = append(concurrent, p.path)
		}
	}
	var lanes sync.WaitGroup
	lanes.Go(func() {
		s.test(ctx, &job{packages: live, flags: []string{"-p", "1"}})
		s.testModules(ctx)
	})
	s.test(ctx, &job{packages: others, flags: []string{"-p", strconv.Itoa(s.processors)}})
	lanes.Wait()
	// With the tests of make test, for they take ten times as long. At its end each program would sleep for a second,
	// which tests of programs' ends would take for theirs.
	race := []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0", suite.Variable + "="}
	s.test(ctx, &job{packages: concurrent, flags: []string{"-race", "-p", "1"}, env: race})
	if ctx.Err() != nil {
		return false, fmt.Errorf("interrupted")
	}
	s.again(ctx)
	return s.results.summary(s.which, time.Since(s.began), s.cpu), nil
}

// testModules runs the tests of the other modules. Many of them are live, and the modules know nothing of turns. They test what is
// outside of their modules, too, of which the go command's cache knows nothing.
func (s *suiteRun) testModules(ctx context.Context) {
	if len(s.modules) == 0 {
		return
	}
	end, err := suite.TakeTurn(ctx, os.Stdout)
	if err != nil {
		s.results.broke(&job{dir: strings.Join(s.modules, " ")}, err)
		return
	}
	defer end()
	for _, dir := range s.modules {
		s.test(ctx, &job{dir: dir, packages: []string{"./..."}, flags: []string{"-count", "1"}})
	}
}

// test carries a job out, and notes what comes of it.
func (s *suiteRun) test(ctx context.Context, j *job) {
	if len(j.packages) == 0 || ctx.Err() != nil {
		return
	}
	// -timeout would count the wait for a turn, too. -test.timeout is counted by the test's own process.
	timeout := bound
	if s.which == "all" {
		timeout = allBound
	}
	args := slices.Concat([]string{"test", "-json", "-timeout", "0"}, j.flags, j.packages,
		[]string{"-args", "-test.timeout=" + timeout.String()})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = j.dir, os.Stderr
	cmd.Env = slices.Concat(os.Environ(), []string{suite.Variable + "=" + s.which, suite.RunVariable + "=" + s.began.String()}, j.env)
	// The go command tells its tests nothing of a signal that it gets alone, and the last of them would keep the turn.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.results.broke(j, err)
		return
	}
	readErr := s.results.read(j, out)
	err = cmd.Wait()
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	s.mu.Lock()
	s.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.mu.Unlock()
	switch {
	case readErr != nil:
		s.results.broke(j, readErr)
	case err != nil && (cmd.ProcessState.ExitCode() != 1 || !s.results.failedIn(j)): // 1: some test failed
		s.results.broke(j, err)
	}
}

// again runs what failed of the tests that are left to `make test-all` once more, each by itself. A test that passes then is flaky.
func (s *suiteRun) again(ctx context.Context) {
	part, of, _ := suite.Part(s.which)
	if part == 0 || of == 1 {
		return
	}
	for _, f := range s.results.retriable() {
		var pattern []string
		for _, name := range strings.Split(f.test, "/") {
			pattern = append(pattern, "^"+regexp.QuoteMeta(name)+"$")
		}
		fmt.Fprintf(s.results.out, "once more, by itself: %s\n", f)
		flags := append(slices.Clone(f.job.flags), "-count", "1", "-run", strings.Join(pattern, "/"))
		second := &job{dir: f.job.dir, packages: []string{f.pkg}, flags: flags, env: f.job.env, again: true}
		s.test(ctx, second)
		s.results.judgeAgain(f, second)
	}
}

// pack is a package with tests.
type pack struct {
	path       string
	live       bool
	concurrent bool
}

func listPackages(ctx context.Context, patterns []string) ([]pack, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []pack
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath, Dir                    string
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		tests := slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		if len(tests) == 0 {
			continue
		}
		live, err := anyHas(p.Dir, tests, "suite.Live(")
		if err != nil {
			return nil, err
		}
		concurrent, err := anyHas(p.Dir, p.GoFiles, "\tgo ", ".Go(")
		if err != nil {
			return nil, err
		}
		list = append(list, pack{p.ImportPath, live, concurrent})
	}
	return list, nil
}

// anyHas says whether one of the files has one of the texts.
func anyHas(dir string, files []string, texts ...string) (bool, error) {
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return false, err
		}
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				return true, nil
			}
		}
	}
	return false, nil
}
