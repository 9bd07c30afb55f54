//go:build linux && amd64

package supervisor_test

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// marker is a variable of the environment by which a test finds the processes that it began.
const marker = "SUPERVISOR_TEST_MARKER="

// marked are processes that have a marker.
func marked(what string) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), what) && filepath.Dir(file) != "/proc/self" {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
			list = append(list, filepath.Base(filepath.Dir(file))+" "+strings.TrimSpace(string(name)))
		}
	}
	return list
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestCloseLeavesNothing(t *testing.T) {
	forks := command(t, "Python")[0]
	mark := marker + t.Name()
	run := func() {
		w := newWorld(t, 1)
		w.start(w.b, "server", command(t, "C", "pong", "7000"), mark)
		w.start(w.a, "client", command(t, "C", "pingpong", "127.0.1.2", "7000", "1000000"), mark)
		w.start(w.a, "forks", []string{forks, "-c",
			"import os, time, threading\nos.fork() and os.fork()\n" +
				"threading.Thread(target=time.sleep, args=(1000,)).start()\ntime.sleep(1000)"}, mark)
		w.start(w.a, "timers", command(t, "C", "timerfd"), mark)
		w.run(time.Second)
		if n := len(marked(mark)); n != 7 {
			t.Errorf("%d processes run, want 7: %q", n, marked(mark))
		}
		w.Close()
		if left := marked(mark); len(left) > 0 {
			t.Errorf("Close leaves %q", left)
		}
	}
	run()
	before, routines := descriptors(t), runtime.NumGoroutine()
	run()
	if n := descriptors(t); n > before {
		t.Errorf("%d descriptors are open, before: %d", n, before)
	}
	if n := runtime.NumGoroutine(); n > routines {
		t.Errorf("%d goroutines, before: %d", n, routines)
	}
}

func TestAThousandStarts(t *testing.T) {
	args := command(t, "static C", "timerfd")
	w := newWorld(t, 1)
	one := func() {
		w.said = nil
		w.ends(w.start(w.a, "p", args))
	}
	one()
	before := descriptors(t)
	var memory [2]runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory[0])
	times := suite.Amount(t, 5000, 1000)
	for range times {
		one()
	}
	if n := descriptors(t); n > before {
		t.Errorf("%d descriptors are open, before: %d", n, before)
	}
	if n := w.Events(); n > 0 {
		t.Errorf("%d events are to come, for programs that have ended", n)
	}
	runtime.GC()
	runtime.ReadMemStats(&memory[1])
	if grown := int64(memory[1].HeapAlloc) - int64(memory[0].HeapAlloc); grown > int64(times)*100 {
		t.Errorf("the memory has grown by %d bytes in %d starts", grown, times)
	}
}

// runForEver is what the process does that TestKilledSupervisor kills.
func runForEver() {
	s, err := supervisor.New(supervisor.Config{Network: &network{}})
	if err != nil {
		panic(err)
	}
	args := strings.Split(os.Getenv("SUPERVISOR_TEST_RUN"), "\n")
	os.Stdout.WriteString("begins\n")
	for {
		h := s.NewHost("a", [4]byte{127, 0, 1, 1})
		p, err := h.Start(supervisor.Command{Path: args[0], Args: args[1:], Env: append(environment, os.Getenv("SUPERVISOR_TEST_MARK")),
			Errors: func(b []byte) { os.Stderr.Write(b) }})
		if err != nil {
			panic(err)
		}
		s.Run(s.Now() + 10*time.Second)
		p.Kill()
	}
}

func TestKilledSupervisor(t *testing.T) {
	python := command(t, "Python")[0]
	mark := marker + t.Name()
	random := rand.New(rand.NewPCG(1, 2))
	newWorld(t, 1).Close() // or skip
	for i := range suite.Amount(t, 50, 4) {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "SUPERVISOR_TEST_MARK="+mark, "SUPERVISOR_TEST_RUN="+python+"\n-c\n"+
			"import os, time\nfor i in range(1000000):\n"+
			" if os.fork() == 0: time.sleep(0.001 * i); os._exit(0)\n time.sleep(0.1)\n if i % 5 == 0: os.waitpid(-1, 0)")
		if i%2 == 1 {
			c.Env = append(c.Env, withoutRights+"=1")
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "begins\n" {
			t.Fatalf("%q, %v", line, err)
		}
		after := time.NewTimer(time.Duration(random.IntN(300)) * time.Millisecond)
		suite.Receive(t, "the instant at which it is killed", after.C)
		_ = c.Process.Kill()
		_ = suite.Ends(t, c)
		suite.Eventually(t, "the end of all that it began", func() bool { return len(marked(mark)) == 0 })
	}
}

// TestComputed has programs that let time pass by reading clocks, and one that sleeps.
func TestComputed(t *testing.T) {
	for _, c := range []struct {
		command  []string
		from, to time.Duration
	}{
		{command(t, "C", "spin"), 2 * time.Second, 3100 * time.Millisecond},
		{command(t, "C", "beside"), 2 * time.Second, 3100 * time.Millisecond},
		{[]string{"/bin/sh", "-c", "sleep 3"}, 0, time.Millisecond},
	} {
		w := newWorld(t, 1)
		p := w.start(w.a, "p", c.command)
		w.ends(p)
		if d := p.Computed(); d < c.from || d > c.to {
			t.Errorf("%q has computed for %v, want %v to %v", c.command, d, c.from, c.to)
		}
		w.Close()
	}
}

func TestLeft(t *testing.T) {
	for script, want := range map[string][]string{
		"sleep 1000 & sleep 1; exit 0": {"sleep 1000"}, "sleep 1000 & kill $!; wait": nil, "sleep 1": nil,
	} {
		w := newWorld(t, 1)
		p := w.start(w.a, "p", []string{"/bin/sh", "-c", script})
		w.ends(p)
		if !slices.Equal(p.Left(), want) {
			t.Errorf("%q leaves %q, want %q", script, p.Left(), want)
		}
		w.Close()
	}
}

// TestRandomnessOfTheNext has programs that run on a host one after the other: they are not given the same random bytes.
func TestRandomnessOfTheNext(t *testing.T) {
	repeats(t, func() string {
		w := newWorld(t, 1)
		defer w.Close()
		for range 2 {
			w.ends(w.start(w.a, "p", []string{"/bin/sh", "-c", "head -c 8 /dev/urandom | od -An -tx1"}))
		}
		if len(w.said) != 4 || w.said[0] == w.said[2] {
			t.Errorf("%q", w.said)
		}
		return w.history()
	})
}

// TestCloseInputOfTheEnded: its descriptor may be another file's by then.
func TestCloseInputOfTheEnded(t *testing.T) {
	w := newWorld(t, 1)
	p := w.start(w.a, "p", []string{"/bin/sh", "-c", "exit 0"})
	w.ends(p)
	var files []*os.File
	for range 20 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	p.CloseInput()
	for _, f := range files {
		if _, err := f.Stat(); err != nil {
			t.Error(err)
		}
	}
}
