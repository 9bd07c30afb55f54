package sdk_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/history/locklog"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	golog "github.com/redlock-sim/redlock-sim/sdk/go/locklog"
)

// writer tries the file of a language that writes lock logs: correct, broken, many or nowhere. It returns what was printed.
type writer func(t *testing.T, what, file string) string

// command is a writer that is a program.
func command(name string, args ...string) writer {
	return func(t *testing.T, what, file string) string {
		t.Helper()
		return run(t, exec.CommandContext(t.Context(), name, append(slices.Clone(args), what, file)...))
	}
}

func run(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s", c, err, stderr.String())
	}
	return string(out)
}

func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(suite.LacksPrefix + program)
	}
}

// TestLockLogs: what each language writes is a lock log in which a correct use is found correct, and two holders at once are found.
func TestLockLogs(t *testing.T) {
	here, err := filepath.Abs("testdata/locklog")
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(t *testing.T) writer{
		"go": func(*testing.T) writer { return tryGo },
		"python": func(t *testing.T) writer {
			needs(t, "python3")
			return command("python3", "-B", filepath.Join(here, "try.py"))
		},
		"node": func(t *testing.T) writer {
			needs(t, "node")
			return command("node", filepath.Join(here, "try.mjs"))
		},
		"ruby": func(t *testing.T) writer {
			needs(t, "ruby")
			return command("ruby", filepath.Join(here, "try.rb"))
		},
		"php": func(t *testing.T) writer {
			needs(t, "php")
			return command("php", filepath.Join(here, "try.php"))
		},
		"java": func(t *testing.T) writer {
			suite.All(t)
			needs(t, "javac")
			classes := t.TempDir()
			sources := []string{filepath.Join(here, "../../java/LockLog.java"), filepath.Join(here, "Try.java")}
			run(t, exec.CommandContext(t.Context(), "javac", append([]string{"-d", classes}, sources...)...))
			return command("java", "-cp", classes, "Try")
		},
		"rust": func(t *testing.T) writer {
			suite.All(t)
			needs(t, "rustc")
			program := filepath.Join(t.TempDir(), "try")
			run(t, exec.CommandContext(t.Context(), "rustc", "-O", "--edition", "2021", "-o", program, filepath.Join(here, "try.rs")))
			return command(program)
		},
	} {
		t.Run(name, func(t *testing.T) { tryWriter(t, open(t)) })
	}
}

func tryWriter(t *testing.T, write writer) {
	read := func(what string) *history.History {
		t.Helper()
		file := filepath.Join(t.TempDir(), what+".locklog")
		write(t, what, file)
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		var log locklog.Log
		if err := log.Read(file, f); err != nil {
			t.Fatal(err)
		}
		h, err := log.History(0)
		if err != nil {
			t.Fatal(err)
		}
		if h.Clocks.Missing != "" || h.Truncated {
			t.Errorf("%s: %s", what, h.Clocks.Missing)
		}
		return h
	}
	for what, want := range map[string]checker.Verdict{"correct": checker.Holds, "broken": checker.Violated} {
		h := read(what)
		for _, f := range checker.Judge(t.Context(), h, []checker.Property{checker.ExclusiveLease, checker.NoLateEffect}, checker.Options{}) {
			if v := map[bool]checker.Verdict{true: want, false: checker.Holds}[f.Property == checker.ExclusiveLease]; f.Verdict != v {
				t.Errorf("%s: %s is %s (%s), want %s", what, f.Property, f.Verdict, f.Why, v)
			}
		}
		owner := slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Value.Owner == history.OwnerText("o\"\n\u00e9") })
		if !owner || h.Count(history.Extend) != 2 || h.Events[0].Process != h.Events[2].Process {
			t.Errorf("%s: the owner is not there, or events are missing: %v", what, h.Events)
		}
	}
	h := read("many")
	acquires := h.Count(history.Acquire)
	clients := make(map[string]bool)
	for i := range h.Events {
		clients[h.Events[i].Process] = true
	}
	if acquires != 8000 || len(clients) != 4001 {
		t.Errorf("%d lines of %d holds, want 8000 of 4000: threads and processes shared the file", acquires, len(clients)-1)
	}
	if printed := strings.TrimSpace(write(t, "nowhere", filepath.Join(t.TempDir(), "no", "such", "folder"))); printed != "2" {
		t.Errorf("%q lines were dropped where the file cannot be written, want 2", printed)
	}
}

// tryGo is the same in Go.
func tryGo(_ *testing.T, what, file string) string {
	log := golog.OpenAs(file, "web-1")
	defer log.Flush()
	use := func(h *golog.Hold) {
		h.Granted(golog.Grant{Owner: "o\"\n\u00e9", TTL: 10 * time.Second, Token: 7})
		began := time.Now()
		time.Sleep(2 * time.Millisecond)
		h.WriteDone(began, 7)
		h.Renewed(time.Now(), golog.Grant{TTL: 10 * time.Second})
	}
	switch what {
	case "correct", "broken":
		first, second := log.Ask("orders"), log.Ask("orders")
		use(first)
		if what == "correct" {
			first.Releasing()
			first.Released()
		}
		time.Sleep(2 * time.Millisecond)
		second.Granted(golog.Grant{Owner: "p", TTL: 10 * time.Second, Token: 8})
		time.Sleep(2 * time.Millisecond)
		second.Releasing()
		second.Released()
		if what == "broken" {
			first.Releasing()
			first.ReleasedInVain()
		}
	case "many":
		other := golog.OpenAs(file, "web-1")
		defer other.Flush()
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 1000 {
					[]*golog.Log{log, other}[i%2].Ask("orders").NotGranted()
				}
			})
		}
		wg.Wait()
	case "nowhere":
		log.Ask("orders").Lost()
		log.Flush()
		return map[bool]string{true: "2"}[log.Dropped() == 2]
	}
	return ""
}
