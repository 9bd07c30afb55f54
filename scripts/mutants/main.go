// Mutants changes the packages that verdicts rest on in small ways, one at a time,
// and counts how many of the changes their own tests notice. It runs gremlins, and
// writes the table of docs/mutants.md.
//
//	go run ./scripts/mutants [-gremlins PATH] [-out DIR] [-survivors | -count] [PACKAGE...]
//
// With -survivors it tries only those again that lived the last time, which is
// right as long as nothing but tests was added since; with -count it tries none, and
// makes the table anew.
//
// A change that no test can notice stands in equal.txt beside this file, with the
// reason. The exit code is 1 where a package misses its aim.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// target is a package, the files of it that are changed, and its aim.
type target struct {
	dir   string
	files []string // all, where there are none
	aim   int      // percent
	env   []string
}

var targets = []target{
	{dir: "internal/checker", aim: 95},
	{dir: "internal/checker/linear", aim: 95, env: []string{"RANDOM_HISTORIES=4000"}},
	{dir: "internal/lock", aim: 95},
	{dir: "internal/world/virtual", aim: 85, files: []string{"node.go", "memory.go", "disk.go", "transaction.go", "replication.go"}},
}

const (
	page      = "docs/mutants.md"
	equalFile = "scripts/mutants/equal.txt"
)

func main() {
	gremlins := flag.String("gremlins", "gremlins", "the program")
	out := flag.String("out", ".cache/mutants", "where gremlins' own results go")
	survivors := flag.Bool("survivors", false, "try only those again that lived the last time")
	count := flag.Bool("count", false, "try none, and make the table anew from the last results")
	flag.Parse()
	missed, err := run(*out, func(t *target, file string) (*results, error) {
		switch {
		case *count:
			return read(file)
		case *survivors:
			return t.results("", file)
		}
		return t.results(*gremlins, file)
	}, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if missed {
		os.Exit(1)
	}
}

func run(out string, try func(*target, string) (*results, error), packages []string) (missed bool, err error) {
	known, err := readEqual()
	if err != nil {
		return false, err
	}
	rows, err := oldRows()
	if err != nil {
		return false, err
	}
	for _, p := range packages {
		if !slices.ContainsFunc(targets, func(t target) bool { return t.dir == p }) {
			return false, fmt.Errorf("%s is none of the packages: see the list in scripts/mutants/main.go", p)
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return false, err
	}
	for _, t := range targets {
		if len(packages) > 0 && !slices.Contains(packages, t.dir) {
			continue
		}
		file := filepath.Join(out, strings.ReplaceAll(t.dir, "/", "-")+".json")
		started := time.Now()
		r, err := try(&t, file)
		if err != nil {
			return false, err
		}
		c, err := t.count(r, known)
		if err != nil {
			return false, err
		}
		rows[t.dir] = c.row(t)
		fmt.Printf("%s: %.1f %% killed, aim %d %% (%v)\n", t.dir, c.rate(), t.aim, time.Since(started).Round(time.Second))
		for _, s := range c.survivors {
			fmt.Println("  " + s)
		}
		missed = missed || c.rate() < float64(t.aim)
	}
	for key := range known {
		if !known[key].used && (len(packages) == 0 || slices.ContainsFunc(packages, func(p string) bool { return filepath.Dir(known[key].file) == p })) {
			fmt.Printf("%s: no mutant lives that is said to be equal: %s\n", equalFile, key)
		}
	}
	return missed, write(rows)
}

// results are those of a new run of gremlins; without gremlins those of the last one,
// with the mutants tried again that lived.
func (t *target) results(gremlins, file string) (*results, error) {
	again := []string{"NOT COVERED", "LIVED"}
	if gremlins != "" {
		again = []string{"NOT COVERED", "TIMED OUT"}
		if err := t.unleash(gremlins, file); err != nil {
			return nil, err
		}
	}
	r, err := read(file)
	if err != nil {
		return nil, err
	}
	if err := t.rerun(r, again...); err != nil {
		return nil, err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return r, os.WriteFile(file, b, 0o644)
}

func read(file string) (*results, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(results)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// source is the path of a file of the package as gremlins names it.
func (t *target) source(name string) string {
	if strings.HasPrefix(name, t.dir) {
		return name
	}
	return filepath.Join(t.dir, name)
}

// unleash runs gremlins on the package. Its tests are told to be short: what they
// leave out starts real servers or builds the whole program.
func (t *target) unleash(gremlins, file string) error {
	if err := command("go", "clean", "-testcache").Run(); err != nil {
		return err
	}
	args := []string{"-n", "10", gremlins, "unleash", "--workers", "2", "--timeout-coefficient", "20", "--output-statuses", "lctkvsr", "-E", "testdata", "-o", file}
	if len(t.files) > 0 {
		all, err := filepath.Glob(filepath.Join(t.dir, "*.go"))
		if err != nil {
			return err
		}
		for _, f := range all {
			if name := filepath.Base(f); !slices.Contains(t.files, name) && !strings.HasSuffix(name, "_test.go") {
				args = append(args, "-E", "^"+strings.ReplaceAll(name, ".", `\.`)+"$")
			}
		}
	}
	c := command("nice", append(args, "./"+t.dir)...)
	c.Env = append(append(os.Environ(), "GOFLAGS=-short"), t.env...)
	return c.Run()
}

func command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c
}

// results are what gremlins writes.
type results struct {
	Files []struct {
		Name      string     `json:"file_name"`
		Mutations []mutation `json:"mutations"`
	} `json:"files"`
}

type mutation struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// counts are the mutants of a package.
type counts struct {
	killed, lived, timedOut, equal int
	survivors                      []string
}

func (t *target) count(r *results, known map[string]*equal) (c counts, err error) {
	for _, f := range r.Files {
		source := t.source(f.Name)
		text, err := os.ReadFile(source)
		if err != nil {
			return c, err
		}
		lines := strings.Split(string(text), "\n")
		for _, m := range f.Mutations {
			line := lines[m.Line-1]
			// A tab is one column.
			at := m.Column - (len(line) - len(strings.TrimLeft(line, "\t")))
			key := fmt.Sprintf("%s | %s@%d | %s", source, m.Type, at, strings.TrimSpace(line))
			switch m.Status {
			case "KILLED":
				c.killed++
			case "TIMED OUT":
				c.timedOut++
			case "LIVED":
				if e := known[key]; e != nil {
					e.used = true
					c.equal++
					continue
				}
				c.survivors = append(c.survivors, fmt.Sprintf("%d: %s", m.Line, key))
				c.lived++
			}
		}
	}
	return c, nil
}

// rate is the share of the mutants that were killed, in percent. One whose tests
// timed out is unknown and counts on neither side.
func (c *counts) rate() float64 {
	return 100 * float64(c.killed) / float64(max(c.killed+c.lived, 1))
}

func (c *counts) row(t target) string {
	what := "`" + t.dir + "`"
	if len(t.files) > 0 {
		what += " (" + strings.Join(t.files, ", ") + ")"
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %.1f %% | %d %% |", what, c.killed, c.lived, c.timedOut, c.equal, c.rate(), t.aim)
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

Made by ` + "`make mutants`" + `: do not edit. The packages that verdicts rest on are changed in small ways, one at a time (a comparison turned
round, a bound moved by one, a plus made a minus), and their own tests are run. A change that no test notices is a bug that no test would notice.

*Killed*: a test failed. *Lived*: none did. *Timed out*: the tests did not end, which says nothing on a busy
machine, so it counts on neither side. *Equal*: the change makes no difference that anybody could see; ` + "[the list](../scripts/mutants/equal.txt)" + ` says
of each why. The rate is of those that were killed or lived.

| package | killed | lived | timed out | equal | rate | aim |
|---|---|---|---|---|---|---|
`

// write writes the page.
func write(rows map[string]string) error {
	var b strings.Builder
	b.WriteString(head)
	for _, t := range targets {
		if rows[t.dir] != "" {
			b.WriteString(rows[t.dir] + "\n")
		}
	}
	return os.WriteFile(page, []byte(b.String()), 0o644)
}
