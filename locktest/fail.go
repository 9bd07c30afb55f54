package locktest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// saved is the folder for what tests have found. It is meant to be committed.
const saved = "testdata/locktest"

// mostShrunk bounds how many violations of a property are shrunk, to show the best of them.
const mostShrunk = 4

// fail shows what was found of a property.
func (k *kit) fail(t *testing.T, found []explore.Found, r *explore.Report, took time.Duration) {
	t.Helper()
	again, err := k.what.Repeats(t.Context(), found[0], repeats)
	if err != nil {
		t.Fatal(err)
	}
	best, err := k.what.ShrinkBest(t.Context(), found[:min(len(found), mostShrunk)])
	if err != nil {
		t.Fatal(err)
	}
	s := best[0]
	name := fmt.Sprintf("%s-%d", s.Property, s.Seed)
	text, err := s.YAML(nameOf(name), fmt.Sprintf("%s, first seed %d", k.t.Name(), k.what.First))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "violated: %s; the run that found it repeats %d of %d times\n%s\n%s\n",
		words.Count(r.Violations(), "run"), again, repeats, k.line(r, k.processes, took), with())
	if s.Failed != nil {
		fmt.Fprintf(&b, "not shrunk: %v\n", s.Failed)
	} else {
		fmt.Fprintf(&b, "shrunk to %s, from %d; %d of %s show it too\n",
			words.Count(len(s.Setup.Faults.List), "fault"), s.From, s.Robust, words.Count(s.OtherSeeds, "other seed"))
	}
	file := filepath.Join(saved, k.folder(), nameOf(name)+".yaml")
	if err := machine.WriteFile(file, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		t.Errorf("%v; this is what it was to have:\n%s", err, text)
	}
	parsed, err := scenario.Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	result, err := k.show(t.Context(), parsed, s.Seed)
	if err != nil {
		t.Error(err)
	}
	if result != nil {
		fmt.Fprintf(&b, "\n%s\n", k.story(t, result, file))
	}
	t.Error(b.String())
}

// folder is where the files of the test are.
func (k *kit) folder() string { return notInPath.ReplaceAllString(k.t.Name(), "_") }

// notInPath is what no name of a folder has here. The test of a test has a folder of its own.
var notInPath = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// show makes the run of a saved file, a few times until it shows what it is to show.
func (k *kit) show(ctx context.Context, s *scenario.Scenario, seed uint64) (*report.Result, error) {
	v := demanded(s.Variants[0])
	var last *report.Result
	for range repeats {
		started := time.Now()
		out, err := k.engine.Run(ctx, runner.Config{Scenario: s.Name, Variant: v, Seed: seed, Started: started})
		if err != nil {
			return last, err
		}
		judged := report.Variant{Name: v.Name, Settings: v.Settings, History: out.History, Interrupted: out.Interrupted, TimedOut: out.TimedOut}
		verdict.Judge(ctx, v, &judged)
		last = verdict.Result(s, out.History.Header.World, seed, started)
		last.Versions, last.Replay = versions(), k.again(s.File)
		last.Facts, last.Variants = verdict.Facts(k.t.Name(), &v.Setup), []report.Variant{judged}
		verdict.SumUp(last)
		if violates(last) {
			return last, nil
		}
	}
	return last, nil
}

// again is the command that runs a file again.
func (k *kit) again(file string) string {
	quoted := strings.ReplaceAll(k.pattern(), "'", `'\''`)
	return fmt.Sprintf("go test -run '%s' -locktest.replay=%s", quoted, filepath.ToSlash(file))
}

// pattern names the test, as -run wants it.
func (k *kit) pattern() string {
	name := strings.Split(k.t.Name(), "/")
	for i := range name {
		name[i] = "^" + regexp.QuoteMeta(name[i]) + "$"
	}
	return strings.Join(name, "/")
}

// story tells a run, and where its files are.
func (k *kit) story(t *testing.T, r *report.Result, file string) string {
	folder, err := k.reports(t)
	page := filepath.Join(folder, runs.Report)
	err = errors.Join(err,
		machine.WriteFile(page, func(w io.Writer) error { return report.WriteHTML(w, r) }),
		machine.WriteFile(filepath.Join(filepath.Dir(page), runs.Result), func(w io.Writer) error { return report.WriteJSON(w, r) }),
		machine.WriteFile(filepath.Join(filepath.Dir(page), "trace.json"), func(w io.Writer) error { return report.WriteTrace(w, r) }),
		machine.WriteFile(filepath.Join(filepath.Dir(page), runs.History), func(w io.Writer) error {
			return history.Encode(w, r.Variants[0].History)
		}),
	)
	var b bytes.Buffer
	if err != nil { // the story is worth more than its page
		fmt.Fprintf(&b, "no report: %v\n", err)
		page = ""
	}
	if err := report.WriteText(&b, r, page, terminal.Options{Unicode: true}); err != nil {
		return err.Error()
	}
	fmt.Fprintf(&b, "  scenario %s\n  on real Redis: sim run %s --lock %s\n", file, filepath.ToSlash(file), standIn)
	return b.String()
}

// reports is a new folder for what a person looks at, or the test's for its artifacts, where go
// test keeps them.
func (k *kit) reports(t *testing.T) (string, error) {
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		return t.ArtifactDir(), nil
	}
	return os.MkdirTemp("", "locktest-")
}

// replaySaved runs what earlier tests have found.
func (k *kit) replaySaved() {
	files, _ := filepath.Glob(filepath.Join(saved, k.folder(), "*.yaml")) // the pattern is none of the user's
	slices.Sort(files)
	for _, file := range files {
		k.t.Run("saved/"+strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { k.replay(t, file) })
	}
}

// replay runs one file.
func (k *kit) replay(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := explore.SeedOf(s.Text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r, err := k.show(t.Context(), s, seed)
	switch {
	case err != nil:
		t.Fatal(explained(err))
	case violates(r):
		t.Errorf("violated\n%s", k.story(t, r, file))
	default:
		t.Logf("not violated any more, in %d runs", repeats)
	}
}

// demanded is what a test wants of a variant that was found: that holds which was violated.
func demanded(v scenario.Variant) scenario.Variant {
	v.Expect = slices.Clone(v.Expect)
	for i := range v.Expect {
		if v.Expect[i].Verdict == checker.Violated {
			v.Expect[i].Verdict = checker.Holds
		}
	}
	return v
}

// violates reports that something was violated that is to hold.
func violates(r *report.Result) bool {
	return slices.ContainsFunc(r.Variants[0].Properties, func(p report.PropertyResult) bool {
		return p.Verdict == checker.Violated && p.Expected == checker.Holds
	})
}

// leastRedis is the version of go-redis that this module asks for at least. Versions before it draw the delays of their retries from a
// source of their own, which no seed sets, so that their runs do not repeat.
const leastRedis = "v9.20.0"

// versions are those of what took part: Go, and the modules about Redis, as the go command of
// the test tells them. The test's own program does not have them.
var versions = sync.OnceValue(func() map[string]string {
	list := map[string]string{"go": runtime.Version()}
	out, err := exec.Command("go", "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", ".").Output()
	if err != nil {
		return list // it was built elsewhere
	}
	for line := range strings.Lines(string(out)) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if version != "" && aboutRedis.MatchString(path) {
			list[path] = version
		}
	}
	return list
})

// aboutRedis are modules whose versions a reader of a verdict wants to know.
var aboutRedis = regexp.MustCompile(`redis|redsync|rueidis|go-zero`)

// with names the versions, for whoever reads a verdict.
func with() string {
	list := maps.Clone(versions())
	text := list["go"]
	delete(list, "go")
	for _, path := range slices.Sorted(maps.Keys(list)) {
		text += fmt.Sprintf(", %s %s", path, list[path])
		if strings.HasPrefix(path, "github.com/redis/go-redis") && list[path] == leastRedis {
			text += " (the least that locktest asks for: yours may have been older)"
		}
	}
	return "with " + text
}
