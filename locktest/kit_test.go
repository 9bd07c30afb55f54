package locktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// subject is the environment variable that names what TestSubject puts on trial, in a process
// and a folder of its own: most of these tests are to fail.
const subject = "LOCKTEST_SUBJECT"

// subjects are locks, some of them wrong.
var subjects = map[string]struct {
	config Config
	open   func(Env) (Lock, error)
}{
	"right":    {Config{}, openPlain},
	"careless": {Config{}, openCareless},
	"wiped":    {Config{Kinds: []Kind{Wipe}}, openPlain},
	"typo":     {Config{Kinds: []Kind{"earthquake"}, Properties: []Property{"luck"}}, openPlain},
	"many":     {Config{Clients: 1000}, openPlain},
	"fails":    {Config{}, func(Env) (Lock, error) { return nil, errors.New("no such driver") }},
	"never": {Config{}, changed(func(l *other) {
		l.acquire = func(context.Context) (Grant, error) { return Grant{}, ErrRefused }
	})},
	"strange": {Config{}, changed(func(l *other) {
		l.acquire = func(ctx context.Context) (Grant, error) {
			return Grant{}, l.plain.rdb.XAdd(ctx, xadd).Err()
		}
	})},
	"leaks": {Config{}, changed(func(l *other) {
		l.release = func(ctx context.Context) error {
			go func() { <-make(chan int) }()
			return l.plain.Release(ctx)
		}
	})},
	"hangs": {Config{}, changed(func(l *other) {
		l.acquire = func(context.Context) (Grant, error) { <-make(chan int); return Grant{}, nil }
	})},
	"past": {Config{}, changed(func(l *other) {
		l.acquire = func(ctx context.Context) (Grant, error) {
			g, err := l.plain.Acquire(ctx)
			g.Until = time.Now().Add(-time.Second)
			return g, err
		}
	})},
	// It takes every error and every refusal for a grant, and asked for nothing where it says that it has the lock.
	"ghost": {Config{}, changed(func(l *other) {
		l.acquire = func(context.Context) (Grant, error) { return Grant{Owner: l.e.Client}, nil }
	})},
	"endless":   {manySections, openSlow(1)},
	"endless5":  {manySections, openSlow(5)},
	"endless20": {manySections, openSlow(20)},
	"deaf":      {longSections, openRenewing(false)},
	"attentive": {longSections, openRenewing(true)},
	"nothing":   {Config{}, func(Env) (Lock, error) { return nil, nil }},
	"short":     {Config{TTL: 20 * time.Millisecond}, openPlain},
	"mutex": {Config{}, changed(func(l *other) {
		var mu sync.Mutex
		mu.Lock()
		l.acquire = func(context.Context) (Grant, error) { mu.Lock(); return Grant{}, nil }
	})},
	// It takes an error for a grant, and tells no end of it.
	"swallows": {Config{}, changed(func(l *other) {
		l.acquire = func(ctx context.Context) (Grant, error) {
			g, err := l.plain.Acquire(ctx)
			if errors.Is(err, ErrRefused) {
				return g, err
			}
			return Grant{Owner: l.value}, nil
		}
	})},
	// It takes what it had in its last section for what it has.
	"remembers": {Config{}, changed(func(l *other) {
		had := false
		l.acquire = func(ctx context.Context) (Grant, error) {
			if had {
				return Grant{Owner: l.value}, nil
			}
			_, err := l.plain.Acquire(ctx)
			had = err == nil
			return Grant{Owner: l.value}, err
		}
	})},
	"panics": {Config{}, changed(func(l *other) {
		l.acquire = func(context.Context) (Grant, error) { panic("a mistake in the lock") }
	})},
}

func TestSubject(t *testing.T) {
	s, ok := subjects[os.Getenv(subject)]
	if !ok {
		t.Skip("runs in processes of TestKit")
	}
	Run(t, s.config, s.open)
}

// put puts a lock on trial in a folder.
func put(t *testing.T, dir, name string, args ...string) (out string, failed bool) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, append([]string{"-test.run=^TestSubject$", "-test.v", "-locktest.seed=1"}, args...)...)
	c.Dir, c.Env = dir, append(os.Environ(), subject+"="+name)
	text, err := suite.CombinedOutput(t, c)
	return string(text), err != nil
}

// wants looks for texts in what was printed.
func wants(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%q is missing in\n%s", text, out)
		}
	}
}

func TestKit(t *testing.T) {
	for name, test := range map[string]struct {
		fails bool
		want  []string
	}{
		"right":   {false, []string{"--- PASS: TestSubject/exclusive-lease", "holds: 0 in ", "200 runs in ", "first seed 1"}},
		"wiped":   {true, []string{"--- FAIL: TestSubject/exclusive-lease", "violated", "was killed", "What happened"}},
		"typo":    {true, []string{`no fault "earthquake" can be drawn`, `no property "luck"`}},
		"many":    {true, []string{"the Config makes no scenario", "clients"}},
		"fails":   {true, []string{"failed to open the lock: no such driver"}},
		"never":   {true, []string{"unknown: none of 200 runs put it to the test; the lock was never granted: refused"}},
		"strange": {true, []string{"the model of a node does not know XADD", "hint: what the model of a node knows is in locktest/DESIGN.md"}},
		"leaks":   {true, []string{"goroutines are left behind: close in Env.Cleanup what was opened", "kit_test.go"}},
		"hangs":   {true, []string{"goroutines are left behind: Acquire of c", "did not return after its context had ended", "kit_test.go"}},
		"past":    {true, []string{"unknown: of ", "had ended when they were told: is Grant.Until right?"}},
		"ghost":   {true, []string{"--- FAIL: TestSubject/"}},
		"endless": {true, []string{"unknown: none of 200 runs could be judged",
			"200 runs not counted, which could not be judged:", "  200: the run did not finish"}},
		"endless5":  {true, []string{" of 200 runs could not be judged, which are more than a tenth", ": the run did not finish"}},
		"endless20": {false, []string{"holds: 0 in ", " runs not counted, which could not be judged:", ": the run did not finish"}},
		"deaf": {true, []string{"--- FAIL: TestSubject/told-when-lost", "its key on node A had expired",
			"--- PASS: TestSubject/exclusive-lease"}},
		"attentive": {false, []string{"--- PASS: TestSubject/told-when-lost", "holds: 0 in ", "gave it no chance to fail",
			"no holder's keys were seen to go"}},
		"nothing": {true, []string{"open returned no lock"}},
		"short":   {false, []string{"holds: 0 in "}},
		"mutex": {true, []string{"the run does not end within 20s of real time",
			"hint: time in a bubble stands", "sync.Mutex.Lock", "kit_test.go"}},
		"swallows": {true, []string{"--- FAIL: TestSubject/backed-grant",
			"failed assumption: that a command which failed has set the key all the same"}},
		"remembers": {true, []string{"was told that it had the lock, and keys", "though no key of its own stood"}},
		"panics":    {true, []string{"panic: a mistake in the lock"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "mutex" { // it waits for its end in real time
				suite.All(t)
			}
			out, failed := put(t, t.TempDir(), name, "-locktest.runs=200")
			if failed != test.fails {
				t.Errorf("failed: %v", failed)
			}
			wants(t, out, test.want...)
		})
	}
}

// TestFind follows a find: it is shown, saved, run again by its line, and again by the next test.
// Once the lock is mended it does no harm.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	out, _ := put(t, dir, "careless", "-locktest.runs=200", "-test.artifacts", "-test.outputdir="+dir)
	wants(t, out, "violated: ", "repeats 20 of 20 times",
		"shrunk to ", "failed assumption: that only its owner deletes a key of the lock", "on real Redis: sim run testdata/")
	replay := regexp.MustCompile(`go test -run '(.*)' -locktest\.replay=(\S+)`).FindStringSubmatch(out)
	page := regexp.MustCompile(`report +(\S+report\.html)`).FindStringSubmatch(out)
	if replay == nil || page == nil || replay[1] != "^TestSubject$" {
		t.Fatalf("no line to run it again, or no report, in\n%s", out)
	}
	text, err := os.ReadFile(filepath.Join(dir, replay[2]))
	wants(t, string(text), "# seed: ", "exclusive-lease: violated", "lock: {program: ")
	html, pageErr := os.ReadFile(page[1])
	wants(t, string(html), "TestSubject", "<svg")
	if err := errors.Join(err, pageErr); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-locktest.replay=" + replay[2]}, {"-locktest.runs=1"}} {
		if out, failed := put(t, dir, "careless", args...); !failed || !strings.Contains(out, "both had held the lock") {
			t.Errorf("%v does not show it again:\n%s", args, out)
		}
		if out, failed := put(t, dir, "right", args...); failed || !strings.Contains(out, "not violated any more") {
			t.Errorf("%v with the lock mended:\n%s", args, out)
		}
	}
	if out, failed := put(t, dir, "right", "-locktest.replay=missing.yaml"); !failed || !strings.Contains(out, "missing.yaml") {
		t.Errorf("a file that is not there:\n%s", out)
	}
}

// TestWorkers: the processes share the runs, and what one finds all report.
func TestWorkers(t *testing.T) {
	out, _ := put(t, t.TempDir(), "right", "-locktest.runs=101", "-locktest.workers=3")
	wants(t, out, "101 runs in ")
	out, failed := put(t, t.TempDir(), "leaks", "-locktest.runs=101", "-locktest.workers=2")
	if !failed {
		t.Error("a process that failed was not heard")
	}
	wants(t, out, "goroutines are left behind")
}

// TestWorkersEnd: they end with the process that started them, however it ends.
func TestWorkersEnd(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-test.run=^TestSubject$", "-locktest.for=5m", "-locktest.workers=3")
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), subject+"=right")
	var out bytes.Buffer
	c.Stdout = &out // the workers have it, too: Wait returns when the last has ended
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "two other processes", func() bool {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.Process.Pid))
		workers := 0
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			workers += len(strings.Fields(string(text)))
		}
		return workers == 2
	})
	_ = c.Process.Kill()
	suite.Returns(t, "the end of all workers", func() { _ = c.Wait() })
}

// TestTwice: with the same seed a run does the same at the same times.
func TestTwice(t *testing.T) {
	out, failed := put(t, t.TempDir(), "right", "-locktest.runs=200", "-locktest.twice")
	if failed {
		t.Error(out)
	}
	m := regexp.MustCompile(`(\d+) of 200 runs repeat`).FindStringSubmatch(out)
	if m == nil || len(m[1]) < 3 || m[1] < "198" {
		t.Errorf("99 %% of the runs should repeat:\n%s", out)
	}
}

func FuzzSubject(f *testing.F) { Fuzz(f, Config{}, openPlain) }

func FuzzCareless(f *testing.F) {
	if os.Getenv(subject) == "" {
		f.Skip("is to fail")
	}
	Fuzz(f, Config{}, openCareless)
}

func TestFuzz(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-test.run=^$", "-test.fuzz=^FuzzCareless$", "-test.fuzztime=30s", "-test.fuzzcachedir="+t.TempDir())
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), subject+"=careless")
	out, err := suite.CombinedOutput(t, c)
	if err == nil {
		t.Error("nothing was found")
	}
	wants(t, string(out), "violated", "Failing input written to testdata/fuzz/FuzzCareless",
		"failed assumption: that only its owner deletes a key of the lock")
}
