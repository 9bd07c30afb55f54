package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// TestSample tries the mutants of a small package: each operator has its own, at
// the right place, and those live that its test does not notice.
func TestSample(t *testing.T) {
	sample := target{dir: "testdata/sample"}
	program, mutants, err := sample.build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := sample.try(program, mutants); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		got = append(got, fmt.Sprintf("%d:%d %s %s", m.line, m.column, m.kind, m.status))
	}
	want := []string{
		"12:10 CONDITIONALS_BOUNDARY killed",
		"12:10 CONDITIONALS_NEGATION killed",
		"12:21 ARITHMETIC_BASE lived",
		"16:9 INCREMENT_DECREMENT killed",
		"17:8 INVERT_NEGATIVES killed",
		"20:38 CONDITIONALS_NEGATION killed",
		"20:57 CONDITIONALS_NEGATION killed",
		"20:54 ARITHMETIC_BASE killed",
		"20:68 ARITHMETIC_BASE killed",
		"24:15 CONDITIONALS_BOUNDARY killed",
		"24:15 CONDITIONALS_NEGATION killed",
		"24:29 INCREMENT_DECREMENT killed",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestEqualMutantsExist: each line of equal.txt is about a mutant of today's code.
func TestEqualMutantsExist(t *testing.T) {
	t.Chdir("../..")
	known, err := readEqual()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range targets {
		s, _, err := p.changed()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range s.mutants {
			delete(known, m.key())
		}
	}
	for key := range known {
		t.Errorf("%s: no such mutant: %s", equalFile, key)
	}
}

// TestPage: the page begins as make mutants would write it.
func TestPage(t *testing.T) {
	if text := docstest.Read(t, page); !strings.HasPrefix(text, head) {
		t.Errorf("%s does not begin as the head in main.go", page)
	}
}
