package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// target is a package, the files of it that are changed, and its aim.
type target struct {
	dir   string
	files []string // all, where there are none
	tests string   // the package whose tests are run, where it is another
	aim   int      // percent
	// A mutant meets the tests that are slow, and as many random histories as usual, only
	// where it lives through the others, and through few.
	slow, few string
}

var targets = []target{
	{dir: "internal/checker", aim: 95, slow: "^(TestJudgeAnything|TestLongRun)$", few: "200"},
	{dir: "internal/checker/facts", tests: "internal/checker", aim: 95, slow: "^(TestJudgeAnything|TestLongRun)$", few: "200"},
	{dir: "linear", aim: 95, few: "1000"},
	{dir: "internal/lock", aim: 95},
	{dir: "internal/redis/command/model", aim: 85, tests: "internal/world/virtual"},
	{dir: "internal/world/virtual", aim: 85, files: []string{"host.go", "model.go", "disk.go", "replication.go", "servers.go", "hostline.go"}},
}

const (
	page      = "docs/internals/mutants.md"
	equalFile = "tools/mutants/equal.txt"
)

func main() {
	survivors := flag.Bool("survivors", false, "try only those again that lived the last time")
	flag.Parse()
	missed, err := run(*survivors, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if missed {
		os.Exit(1)
	}
}

func run(survivors bool, packages []string) (missed bool, err error) {
	known, err := readEqual()
	if err != nil {
		return false, err
	}
	rows, err := oldRows()
	if err != nil {
		return false, err
	}
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return false, fmt.Errorf("failed to ask git for the commit: %w", err)
	}
	counted := time.Now().Format("2 January 2006") + ", " + string(bytes.TrimSpace(commit))
	for _, p := range packages {
		if !slices.ContainsFunc(targets, func(t target) bool { return t.dir == p }) {
			return false, fmt.Errorf("%s is none of the packages: see the list in tools/mutants/main.go", p)
		}
	}
	for _, t := range targets {
		if len(packages) > 0 && !slices.Contains(packages, t.dir) {
			continue
		}
		started := time.Now()
		mutants, err := t.run(survivors)
		if err != nil {
			return false, err
		}
		c := count(mutants, known)
		rows[t.dir] = c.row(t, counted)
		fmt.Printf("%s: %.1f %% killed, aim %d %% (%v)\n", t.dir, c.rate(), t.aim, time.Since(started).Round(time.Second))
		for _, s := range c.survivors {
			fmt.Println("  " + s)
		}
		missed = missed || c.rate() < float64(t.aim)
	}
	for key := range known {
		wasRun := len(packages) == 0 || slices.Contains(packages, filepath.Dir(known[key].file))
		if wasRun && !known[key].used {
			fmt.Printf("%s: no mutant lives that is said to be equal: %s\n", equalFile, key)
		}
	}
	return missed, write(rows)
}

// run tries all mutants of the package, or those again that lived the last time. What
// became of them is kept in a file.
func (t *target) run(survivors bool) ([]*mutant, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, mutants, err := t.build(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(".cache", "mutants", strings.ReplaceAll(t.dir, "/", "-")+".json")
	last := make(map[string]string)
	if survivors {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, &last); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	var again []*mutant
	same := make(map[string]int)
	for _, m := range mutants {
		same[m.key()]++
		m.nth = same[m.key()]
		if m.status = last[m.place()]; m.status == "" || m.status == lived {
			again = append(again, m)
		}
	}
	if err := t.try(program, again); err != nil {
		return nil, err
	}
	for _, m := range mutants {
		last[m.place()] = m.status
	}
	b, err := json.MarshalIndent(last, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	return mutants, os.WriteFile(file, b, 0o644)
}

// try runs the tests with each of the mutants, two at a time: first the quick ones,
// with few random histories, then all.
func (t *target) try(program string, mutants []*mutant) error {
	if found := filepath.Join(t.dir, "testdata", "rapid"); !exists(found) {
		defer func() { _ = os.RemoveAll(found) }() // what the killed ones failed on
	}
	quick := func(id int) string { return t.test(program, id, t.slow, "RANDOM_HISTORIES="+t.few) }
	if quick(0) != lived || t.test(program, 0, "", "") != lived {
		return fmt.Errorf("%s: the tests fail without any mutant", t.dir)
	}
	var group sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, m := range mutants {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if m.status = quick(m.id); m.status == lived {
				m.status = t.test(program, m.id, "", "")
			}
			fmt.Fprintf(os.Stderr, "%9s %s:%d: %s\n", m.status, m.file, m.line, m.kind)
		})
	}
	group.Wait()
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// What became of a mutant.
const (
	killed   = "killed"
	lived    = "lived"
	timedOut = "timed out"
)

// test runs the tests with a mutant, 0 for none. They are told to be short: what they leave out
// starts real servers or builds the whole program. Their memory is bounded, since a
// mutant may ask for any.
func (t *target) test(program string, id int, skip, env string) string {
	c := exec.Command("nice", "-n", "10", "sh", "-c", `ulimit -d 6000000; exec "$0" "$@"`,
		program, "-test.short", "-test.failfast", "-test.skip", skip, "-test.timeout", "120s")
	c.Dir = cmp.Or(t.tests, t.dir)
	c.Env = append(os.Environ(), env, fmt.Sprintf("MUTANT=%d", id))
	out, err := c.CombinedOutput()
	switch {
	case err == nil:
		return lived
	case strings.Contains(string(out), "panic: test timed out"):
		return timedOut
	}
	return killed
}

// counts are the mutants of a package.
type counts struct {
	killed, lived, timedOut, equal int
	survivors                      []string
}

func count(mutants []*mutant, known map[string]*equal) (c counts) {
	for _, m := range mutants {
		switch e := known[m.key()]; {
		case m.status == killed:
			c.killed++
		case m.status == timedOut:
			c.timedOut++
		case e != nil:
			e.used = true
			c.equal++
		default:
			c.survivors = append(c.survivors, fmt.Sprintf("%d: %s", m.line, m.key()))
			c.lived++
		}
	}
	return c
}

// rate is the share of the mutants that were killed, in percent. One whose tests
// timed out is unknown and counts on neither side.
func (c *counts) rate() float64 {
	return 100 * float64(c.killed) / float64(max(c.killed+c.lived, 1))
}

func (c *counts) row(t target, counted string) string {
	what := "`" + t.dir + "`"
	if len(t.files) > 0 {
		what += " (" + strings.Join(t.files, ", ") + ")"
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %.1f %% | %d %% | %s |",
		what, c.killed, c.lived, c.timedOut, c.equal, c.rate(), t.aim, counted)
}

// equal is a mutant that no test can notice.
type equal struct {
	file, reason string
	used         bool
}

// readEqual reads lines "file | KIND@column | line of the source | reason". The
// column counts from the first character of the line.
func readEqual() (map[string]*equal, error) {
	f, err := os.Open(equalFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	known := make(map[string]*equal)
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cut := strings.LastIndex(line, " | ")
		if cut < 0 || strings.Count(line, " | ") < 3 {
			return nil, fmt.Errorf("%s:%d: want file | KIND@column | line | reason", equalFile, n)
		}
		file, _, _ := strings.Cut(line, " | ")
		known[line[:cut]] = &equal{file: file, reason: line[cut+3:]}
	}
	return known, s.Err()
}

// oldRows are the rows of the table as it stands.
func oldRows() (map[string]string, error) {
	rows := make(map[string]string)
	b, err := os.ReadFile(page)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, line := range strings.Split(string(b), "\n") {
		if dir, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); ok && strings.HasPrefix(line, "| `") {
			rows[dir] = line
		}
	}
	return rows, nil
}

const head = `# Mutants

The first table is written by ` + "`make mutants`" + `: do not edit it. It changes the packages that verdicts rest on in small ways, ` +
	`one at a time
(it reverses a comparison, moves a bound by one, makes a plus a minus), and runs the package's own tests. A change that no test notices
is a bug that no test would notice. All changes of a package are compiled into one test program; the environment variable ` +
	"`MUTANT`" + ` tells
it which one to make.

*Killed*: a test failed. *Lived*: no test failed. *Timed out*: the tests did not end; on a busy machine that says nothing, so it does
not count. *Equal*: the change makes no visible difference; [the list](../../tools/mutants/equal.txt) gives the reason for each. The
rate is the share of killed among those that were killed or lived. A row is true of the commit in its last column.

| package | killed | lived | timed out | equal | rate | aim | counted on, at commit |
|---|---|---|---|---|---|---|---|
`

// write writes the page. What stands below the table was written by hand, and stays.
func write(rows map[string]string) error {
	old, err := os.ReadFile(page)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	_, rest, byHand := strings.Cut(string(old), "\n## ")
	var b strings.Builder
	b.WriteString(head)
	for _, t := range targets {
		if rows[t.dir] != "" {
			b.WriteString(rows[t.dir] + "\n")
		}
	}
	if byHand {
		b.WriteString("\n## " + rest)
	}
	return os.WriteFile(page, []byte(b.String()), 0o644)
}
