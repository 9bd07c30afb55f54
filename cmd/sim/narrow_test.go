package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// On a terminal of 44 columns no line of a list or of a summary is wider, except for what is to be copied as it is: paths and commands.
// What programs read stays as it is, and so do lines that go into a file.
func TestNarrowTerminal(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	shown := func(narrow bool, args ...string) string {
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		run(&cli{args: args, variable: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: out, stderr: null, now: time.Now,
			terminal: func(int) bool { return narrow }, columns: func(int) int { return 44 }})
		text, err := os.ReadFile(out.Name())
		if err != nil || len(text) == 0 {
			t.Fatalf("%q: %q, %v", args, text, err)
		}
		return string(text)
	}
	for _, args := range [][]string{
		{"list"}, {"list", "locks"}, {"list", "faults"}, {"list", "properties"},
		{"search", "gc-pause", "--seeds", "30", "--for", "0s", "--nodes", "model"},
		{"sweep", "gc-pause", "--x", "lock.ttl=500ms,0s", "--y", "workload.think=100ms,300ms", "--runs", "5"},
		{"exhaust", "gc-pause", "--for", "1s"},
	} {
		for line := range strings.Lines(shown(true, args...)) {
			line = strings.TrimRight(line, "\n")
			if utf8.RuneCountInString(line) > 44 && !strings.Contains(line, "/") && !strings.Contains(line, "sim ") {
				t.Errorf("sim %s: %d columns: %s", strings.Join(args, " "), utf8.RuneCountInString(line), line)
			}
		}
	}
	for _, args := range [][]string{{"list", "locks"}, {"list", "locks", "--json"}} {
		inFile := shown(false, args...)
		widest := 0
		for line := range strings.Lines(inFile) {
			widest = max(widest, utf8.RuneCountInString(line))
		}
		if widest < 100 {
			t.Errorf("sim %s into a file: lines of at most %d columns", strings.Join(args, " "), widest)
		}
	}
	if a, b := shown(true, "list", "locks", "--json"), shown(false, "list", "locks", "--json"); a != b {
		t.Error("JSON is laid out for a terminal")
	}
}
