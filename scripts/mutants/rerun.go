package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// changes are what gremlins makes of an operator, by the kind of the mutant.
var changes = map[string]map[string]string{
	"CONDITIONALS_BOUNDARY": {"<=": "<", ">=": ">", "<": "<=", ">": ">="},
	"CONDITIONALS_NEGATION": {"==": "!=", "!=": "==", "<=": ">", ">=": "<", "<": ">=", ">": "<="},
	"ARITHMETIC_BASE":       {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"},
	"INCREMENT_DECREMENT":   {"++": "--", "--": "++"},
	"INVERT_NEGATIVES":      {"-": "+"},
}

// change makes the mutant's source.
func change(line string, m *mutation) (string, error) {
	rest := line[m.Column-1:]
	for _, length := range [2]int{2, 1} {
		if with, ok := changes[m.Type][rest[:min(length, len(rest))]]; ok {
			return line[:m.Column-1] + with + rest[length:], nil
		}
	}
	return "", fmt.Errorf("line %d, column %d: there is nothing to change by %s: %s", m.Line, m.Column, m.Type, line)
}

// rerun tries the mutants with one of the statuses again, without gremlins, and
// changes their statuses. Gremlins asks the coverage whether a test comes to a
// mutant, and Go's coverage knows neither the condition of a case nor a constant:
// it never tries a mutant there, and calls it not covered.
func (t *target) rerun(r *results, statuses ...string) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if found := filepath.Join(t.dir, "testdata", "rapid"); !exists(found) {
		defer func() { _ = os.RemoveAll(found) }() // what the killed ones failed on
	}
	var group sync.WaitGroup
	slots := make(chan int, 2)
	failed := make(chan error, 1)
	for n := range cap(slots) {
		slots <- n
	}
	for i := range r.Files {
		f := &r.Files[i]
		for j := range f.Mutations {
			m := &f.Mutations[j]
			if !slices.Contains(statuses, m.Status) {
				continue
			}
			slot := <-slots
			group.Go(func() {
				defer func() { slots <- slot }()
				status, err := t.try(filepath.Join(dir, fmt.Sprint(slot)), t.source(f.Name), m)
				if err != nil {
					select {
					case failed <- err:
					default:
					}
					return
				}
				m.Status = status
				fmt.Fprintf(os.Stderr, "%12s %s at %s:%d:%d\n", status, m.Type, f.Name, m.Line, m.Column)
			})
		}
	}
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// try runs the package's tests with one mutant.
func (t *target) try(dir, source string, m *mutation) (status string, err error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(text), "\n")
	if lines[m.Line-1], err = change(lines[m.Line-1], m); err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	mutant := filepath.Join(dir, "mutant.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	if err != nil {
		return "", err
	}
	for name, b := range map[string][]byte{mutant: []byte(strings.Join(lines, "\n")), filepath.Join(dir, "overlay.json"): overlay} {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return "", err
		}
	}
	c := exec.Command("nice", "-n", "10", "go", "test", "-short", "-failfast", "-vet=off", "-timeout", "120s",
		"-overlay", filepath.Join(dir, "overlay.json"), "./"+t.dir)
	c.Env = append(os.Environ(), t.env...)
	out, err := c.CombinedOutput()
	switch {
	case err == nil:
		return "LIVED", nil
	case strings.Contains(string(out), "[build failed]"):
		return "NOT VIABLE", nil
	case strings.Contains(string(out), "panic: test timed out"):
		return "TIMED OUT", nil
	}
	return "KILLED", nil
}
