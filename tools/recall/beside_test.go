package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// TestOtherWays: what the other ways run can be read, and is judged by what they look at.
func TestOtherWays(t *testing.T) {
	for _, way := range []string{byTimer, byLoop} {
		s, err := scenario.Load(filepath.Join(root, "tools", "recall", "beside", way+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Variants {
			for _, p := range judged {
				if !s.Variants[i].Says(p) {
					t.Errorf("%s: nobody asks for %s in %s", way, p, s.Variants[i].Name)
				}
			}
		}
	}
}

// TestCounts: runs that tell nothing are not counted, nor what such a test does not look at.
func TestCounts(t *testing.T) {
	l := &Loop{Violated: make(map[string]int)}
	if err := l.add([]byte(`{"variants": [{"name": "a", "not_applicable": "no"}]}`)); err == nil {
		t.Error("nothing was run, and that is no error")
	}
	out := `{"variants": [{"name": "a", "properties": [{"name": "exclusive-belief", "verdict": "violated"},
			{"name": "asks-its-ttl", "verdict": "violated"}]},
		{"name": "b", "not_applicable": "no"}]}
		{"variants": [{"name": "a", "properties": [{"name": "exclusive-belief", "verdict": "unknown"}]}]}`
	if err := l.add([]byte(out)); err != nil {
		t.Fatal(err)
	}
	if want := (&Loop{Runs: 2, Violated: map[string]int{"exclusive-belief": 1}}); !reflect.DeepEqual(l, want) {
		t.Errorf("counted %+v, not %+v", l, want)
	}
	if err := l.add([]byte("{")); err == nil {
		t.Error("half a result is no error")
	}
}

// TestApart: only what the mended version never does tells the two apart.
func TestApart(t *testing.T) {
	one := &Loop{Runs: 9, Violated: map[string]int{"exclusive-belief": 3, "deadlock-free": 1}}
	other := &Loop{Runs: 8, Violated: map[string]int{"exclusive-belief": 1}}
	if got, want := apart(one, other), []string{"deadlock-free"}; !reflect.DeepEqual(got, want) {
		t.Errorf("told apart by %q, not by %q", got, want)
	}
	for want, loops := range map[string][2]*Loop{
		"found: deadlock-free in 1 of 9 runs, mended 0 of 8":                             {one, other},
		"no, as with the mended version: exclusive-belief in 1 of 8 runs, mended 3 of 9": {other, one},
		"no (5 runs)": {{Runs: 5}, other},
		"-":           {nil, other},
	} {
		if got := besideCell(loops[0], loops[1]); got != want {
			t.Errorf("the cell is %q, not %q", got, want)
		}
	}
}

// TestFailure: what a failed test says first, whatever the numbers in it.
func TestFailure(t *testing.T) {
	for out, want := range map[string]string{
		"    m_test.go:41: [rapid] failed after 9 tests: client 0 cannot release\n":                               "client N cannot release",
		"    m_test.go:46: [rapid] flaky test\n Traceback (<nil>):\n Original traceback (client 2 has got it):\n": "client N has got it",
		"panic: no such thing": "",
	} {
		if got := failure([]byte(out)); got != want {
			t.Errorf("%q says %q, not %q", out, got, want)
		}
	}
}

// TestGoTests: the tests that a piece names are there.
func TestGoTests(t *testing.T) {
	museum, err := readMuseum(root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range museum {
		for way, name := range museum[i].Tests {
			if !strings.Contains(sources(t, goFolders[way]), "func "+name+"(") {
				t.Errorf("%s: %s has no test %s", museum[i].ID, way, name)
			}
		}
	}
}

func sources(t *testing.T, folder string) string {
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %q: %v", folder, err)
	}
	var b strings.Builder
	for _, f := range files {
		b.WriteString(read(t, f))
	}
	return b.String()
}

func read(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
