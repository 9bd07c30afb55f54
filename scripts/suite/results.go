package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

const module = "github.com/redlock-sim/redlock-sim/"

// event is a line of go test -json.
type event struct {
	Action     string
	Package    string `json:",omitempty"`
	ImportPath string `json:",omitempty"` // of what does not build
	Test       string `json:",omitempty"`
	Output     string `json:",omitempty"`
	Elapsed    float64
}

// testName is a test, or a package where test is "".
type testName struct{ pkg, test string }

// failure is a failed test; a package that failed without one, or did not come to its end; or a go test that did so.
type failure struct {
	testName
	job *job
}

func (f failure) String() string { return short(f.pkg) + " " + cmp.Or(f.test, "(as a whole)") }

// results is what came of tests.
type results struct {
	mu     sync.Mutex
	out    io.Writer
	record *os.File

	output map[testName][]string // what a test prints, until it is known to have passed
	ofAll  map[testName]bool
	passed, skipped,
	left int // of the skipped, those that are left to `make test-all`
	lacking  map[string]int // what this machine lacks, and for how many tests
	failures []failure
	flaky    []failure
}

func newResults(out io.Writer, record string) (*results, error) {
	if err := os.MkdirAll(filepath.Dir(record), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(record)
	if err != nil {
		return nil, err
	}
	return &results{out: out, record: f,
		output: make(map[testName][]string), ofAll: make(map[testName]bool), lacking: make(map[string]int)}, nil
}

func (r *results) close() { _ = r.record.Close() }

// read takes the lines of one go test.
func (r *results) read(j *job, from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(r.out, "%s", line)
			} else if err := r.take(j, e); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *results) take(j *job, e event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if strings.HasPrefix(e.Output, "live tests: ") {
			fmt.Fprintf(r.out, "%s: %s", short(e.Package), e.Output)
			return r.keep(e)
		}
		if strings.HasSuffix(strings.TrimSpace(e.Output), suite.OfAll) {
			r.ofAll[name] = true
			return nil
		}
		r.output[name] = append(r.output[name], e.Output)
	case "pass", "fail", "skip":
		r.end(j, name, e)
		return r.keep(e)
	}
	return nil
}

// keep writes down what `make slow` reads.
func (r *results) keep(e event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = r.record.Write(append(text, '\n'))
	return err
}

// end is the end of a test or of a package.
func (r *results) end(j *job, name testName, e event) {
	printed := r.output[name]
	delete(r.output, name)
	if name.test == "" {
		r.endPackage(j, name, e, printed)
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
		if j.again {
			j.passed = append(j.passed, name)
		}
	case "skip":
		if j.race() { // it was counted where it did not run without the race detector
			return
		}
		r.skipped++
		text := strings.Join(printed, "")
		if _, what, ok := strings.Cut(text, suite.LacksPrefix); ok {
			what, _, _ = strings.Cut(what, "\n")
			r.lacking[what]++
		} else if strings.Contains(text, suite.LeftToAll) {
			r.left++
		}
	case "fail":
		fmt.Fprintf(r.out, "--- FAIL: %s %s (%.1fs)\n%s", short(name.pkg), name.test, e.Elapsed, strings.Join(printed, ""))
		if !slices.ContainsFunc(r.failures, func(f failure) bool { return f.job == j && within(f.testName, name) }) { // its subtests ended before
			r.failures = append(r.failures, failure{name, j})
		}
	}
}

func (r *results) endPackage(j *job, name testName, e event, printed []string) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.out, "ok  \t%s\t%.1fs\n", short(name.pkg), e.Elapsed)
	case "fail":
		// A process that came to its end says FAIL by itself. After a panic nobody knows what the other tests would have said.
		told := slices.ContainsFunc(r.failures, func(f failure) bool { return f.job == j && f.pkg == name.pkg })
		if !told || !slices.Contains(printed, "FAIL\n") {
			fmt.Fprint(r.out, strings.Join(printed, ""))
			r.failures = append(r.failures, failure{name, j})
		}
		fmt.Fprintf(r.out, "FAIL\t%s\t%.1fs\n", short(name.pkg), e.Elapsed)
	}
	for n := range r.output { // of tests that did not come to an end
		if n.pkg == name.pkg {
			if e.Action == "fail" {
				fmt.Fprint(r.out, strings.Join(r.output[n], ""))
			}
			delete(r.output, n)
		}
	}
}

// within says whether a test is another, or a subtest of it.
func within(test, of testName) bool {
	return test.pkg == of.pkg && (test.test == of.test || strings.HasPrefix(test.test, of.test+"/"))
}

// broke notes a go test that failed without any test.
func (r *results) broke(j *job, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, failure{testName{pkg: "go test " + cmp.Or(j.dir, ".") + ": " + err.Error()}, j})
}

func (r *results) failedIn(j *job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.failures, func(f failure) bool { return f.job == j })
}

// retriable takes out the failed tests that are left to `make test-all`, and what failed under the race detector.
func (r *results) retriable() (list []failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = slices.DeleteFunc(r.failures, func(f failure) bool {
		again := f.job.race()
		for n := range r.ofAll {
			again = again || within(f.testName, n) || within(n, f.testName)
		}
		if again = again && f.test != ""; again {
			list = append(list, f)
		}
		return again
	})
	return list
}

// judgeAgain notes what came of the second run of a test.
func (r *results) judgeAgain(f failure, second *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case slices.ContainsFunc(r.failures, func(g failure) bool { return g.job == second }):
	case slices.Contains(second.passed, f.testName):
		r.flaky = append(r.flaky, f)
	default: // it did not run
		r.failures = append(r.failures, f)
	}
}

// summary prints the last lines, and says whether all is well.
func (r *results) summary(which string, took, cpu time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := "make test"
	switch {
	case which == "all":
		name = "make test-all"
	case which != "":
		name = "make test, and part " + which + " of make test-all"
	}
	for i, f := range r.failures {
		if i == 12 {
			fmt.Fprintf(r.out, "failed: %d more\n", len(r.failures)-i)
			break
		}
		fmt.Fprintf(r.out, "failed: %s\n", f)
	}
	for _, f := range r.flaky {
		fmt.Fprintf(r.out, "flaky: %s failed, and passed when it was run again by itself: mend it\n", f)
	}
	fmt.Fprintf(r.out, "suite: %d passed, %d failed, %d skipped\n", r.passed, len(r.failures), r.skipped)
	verdict := "passed"
	if len(r.failures) > 0 || r.passed == 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(r.out, "%s %s in %s, with %s of processor time%s\n", name, verdict, minutes(took), minutes(cpu), r.notRun())
	return verdict == "passed"
}

// notRun says which tests did not run, and why.
func (r *results) notRun() string {
	var text string
	if r.left > 0 {
		text += fmt.Sprintf("; left to make test-all: %d", r.left)
	}
	for _, what := range slices.Sorted(maps.Keys(r.lacking)) {
		text += fmt.Sprintf("; not run, as this machine lacks %s: %d", what, r.lacking[what])
	}
	if rest := r.skipped - r.left - sum(maps.Values(r.lacking)); rest > 0 {
		text += fmt.Sprintf("; skipped for reasons of their own: %d", rest)
	}
	return text
}

func sum(values func(func(int) bool)) (n int) {
	for v := range values {
		n += v
	}
	return n
}

func short(pkg string) string { return strings.TrimPrefix(pkg, module) }

func minutes(d time.Duration) string { return d.Round(time.Second).String() }

// printSlowest prints the slowest tests and packages of a run. A package's wait for its turn does not count.
func printSlowest(out io.Writer, file string, most int) error {
	f, err := os.Open(file)
	if err != nil {
		return words.WithHint(err, "make test, or make test-all, writes it")
	}
	defer func() { _ = f.Close() }()
	took, waited := make(map[testName]float64), make(map[string]float64)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch name := (testName{e.Package, e.Test}); e.Action {
		case "output":
			if text, ok := strings.CutPrefix(e.Output, suite.Waited); ok {
				s, _ := strconv.ParseFloat(strings.TrimSuffix(text, " s\n"), 64)
				waited[e.Package] += s
			}
		case "pass", "fail":
			took[name] = max(took[name], e.Elapsed)
		}
	}
	var tests, packages []testName
	for name := range took {
		if name.test == "" {
			took[name] -= waited[name.pkg]
			packages = append(packages, name)
		} else {
			tests = append(tests, name)
		}
	}
	slowest := func(a, b testName) int { return cmp.Compare(took[b], took[a]) }
	for _, list := range [][]testName{tests, packages} {
		slices.SortFunc(list, slowest)
		for _, name := range list[:min(most, len(list))] {
			fmt.Fprintf(out, "%6.1f s  %s %s\n", took[name], short(name.pkg), name.test)
		}
		fmt.Fprintln(out)
	}
	return lines.Err()
}
