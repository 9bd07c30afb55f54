//go:build linux && amd64

package supervisor_test

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// days are what the programs say of a day: milliseconds by the monotonic and by the wall clock, and a text.
var days = map[string]string{
	"C": `
3600000 3600000 slept
3604000 3604000 early 0
3610000 3610000 condition
3617500 3617500 joined
3621500 3621500 child 5`,
	"Go": `
3600000 3600000 slept
3604000 3604000 early
3610000 3610000 ready
3617500 3617500 joined
3621500 3621500 child exit status 5`,
	"Java": `
36000 36000 slept
40000 40000 early false
46000 46000 latch true
53500 53500 waited
57500 57500 child 5`,
	"Node": `
3600000 3600000 slept
3607500 3607500 waited
3614500 3614500 worker ready
3618500 3618500 child 5`,
	"PHP": `
3600500 3600500 slept
3620500 3620500 select 0
3632500 3632500 read
3636500 3636500 child 5`,
	"Python": `
3600000 3600000 slept
3604000 3604000 early False
3610000 3610000 event True
3617500 3617500 lock False
3617500 3617500 joined
3621500 3621500 child 5`,
	"Ruby": `
3600000 3600000 slept
3610000 3610000 queue 1
3617500 3617500 waited
3617500 3617500 joined
3621500 3621500 child 5`,
}

func init() { days["static C"], days["musl C"] = days["C"], days["C"] }

func TestADay(t *testing.T) {
	for language, text := range days {
		want := strings.Split(strings.TrimSpace(text), "\n")
		t.Run(language, func(t *testing.T) {
			day := func(seed uint64) (history, random string) {
				w := newWorld(t, seed)
				defer w.Close()
				w.ends(w.start(w.a, "p", command(t, language, "day")))
				lines := make([]string, 0, len(want)+1)
				for _, line := range want {
					lines = append(lines, "p: "+line)
				}
				for _, line := range w.said {
					if strings.HasPrefix(line, "p: random") {
						random = line
						lines = append(lines, line)
					}
				}
				w.expect(append(lines, "p: ended")...)
				return w.history(), random
			}
			var random string
			repeats(t, func() (history string) {
				history, random = day(1)
				return history
			})
			if random == "" {
				t.Fatal("it has drawn no random numbers")
			}
			if _, other := day(2); other == random {
				t.Errorf("another seed has the same random numbers: %s", other)
			}
		})
	}
}

// TestBesideBusyLoops has programs on a machine that is busy: only the real time differs.
func TestBesideBusyLoops(t *testing.T) {
	for _, language := range []string{"C", "Go", "Java", "Python"} {
		t.Run(language, func(t *testing.T) {
			args := command(t, language, "day")
			one := func() string {
				w := newWorld(t, 1)
				defer w.Close()
				w.ends(w.start(w.a, "p", args))
				return w.history()
			}
			quiet := one()
			for range 2 * runtime.NumCPU() {
				busy := exec.Command("/bin/sh", "-c", "while :; do :; done")
				if err := busy.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = busy.Process.Kill()
					_ = suite.Ends(t, busy)
				})
			}
			if again := one(); again != quiet {
				t.Errorf("the same seed has another history:\n%s\nbefore:\n%s", again, quiet)
			}
		})
	}
}

// TestSupervisorsDoNotKnowOfEachOther has several in this process at once.
func TestSupervisorsDoNotKnowOfEachOther(t *testing.T) {
	args := command(t, "Python", "day")
	histories := make(chan string)
	const several = 4
	for range several {
		go func() {
			w := newWorld(t, 1)
			p := w.start(w.a, "p", args)
			for !p.HasEnded() && w.Doubt() == "" {
				w.step(w.Now() + time.Hour)
			}
			w.Close()
			histories <- w.history()
		}()
	}
	first := suite.Receive(t, "a history", histories)
	for range several - 1 {
		if other := suite.Receive(t, "a history", histories); other != first {
			t.Errorf("the same seed has another history:\n%s\nbefore:\n%s", other, first)
		}
	}
}

func TestTwoHostsTalk(t *testing.T) {
	for language := range days {
		t.Run(language, func(t *testing.T) {
			talk := func() string {
				w := newWorld(t, 1)
				defer w.Close()
				server := w.start(w.b, "server", command(t, language, "serve", "7000"))
				w.run(w.Now() + time.Second)
				client := w.start(w.a, "client", command(t, language, "ask", "127.0.1.2", "7000"))
				w.ends(client, server)
				history := w.history()
				// Node's client ends once the server has ended its side, the others before.
				w.said = slices.DeleteFunc(w.said, func(line string) bool { return strings.HasSuffix(line, ": ended") })
				w.expect("server: 1010 1010 accepted 127.0.1.1", "client: 20 20 connected", "server: 2030 2030 heard one",
					"client: 1040 1040 you said one", "server: 3050 3050 heard two", "client: 2060 2060 you said two", "server: 3070 3070 over")
				return history
			}
			repeats(t, talk)
		})
	}
}

var crashes = map[string]string{
	"C": "ended by SIGSEGV", "static C": "ended by SIGSEGV", "musl C": "ended by SIGSEGV", "Go": "ended with exit status 2",
	"Java": "ended with exit status 134", "Node": "ended by SIGABRT", "PHP": "ended by SIGABRT", "Python": "ended by SIGABRT",
	"Ruby": "ended by SIGABRT",
}

func TestACrash(t *testing.T) {
	for language := range days {
		t.Run(language, func(t *testing.T) {
			w := newWorld(t, 1)
			w.ends(w.start(w.a, "p", command(t, language, "crash")))
			w.expect("p: " + crashes[language])
			if at := w.Now(); at < 2*time.Second || at > 2*time.Second+50*time.Millisecond {
				t.Errorf("it ended at %s", at)
			}
		})
	}
}

// TestOthersAreStartedMeanwhile has this process start other programs all the time: each has copies of all descriptors for a moment, and
// the end of a connection must not be late for that.
func TestOthersAreStartedMeanwhile(t *testing.T) {
	command(t, "Python")
	const times = 100
	serve := fmt.Sprintf("import socket, time\nl = socket.create_server(('127.0.1.2', 7000))\n"+
		"for i in range(%d):\n  c = l.accept()[0]\n  print(c.recv(9), time.monotonic())\n  c.close()\n", times)
	ask := fmt.Sprintf("import socket, time\nfor i in range(%d):\n"+
		"  socket.create_connection(('127.0.1.2', 7000)).close()\n  time.sleep(.05)\n", times)
	one := func() string {
		w := newWorld(t, 1)
		defer w.Close()
		server := w.start(w.b, "server", []string{"/usr/bin/python3", "-c", serve})
		w.run(w.Now() + time.Second)
		w.ends(w.start(w.a, "client", []string{"/usr/bin/python3", "-c", ask}), server)
		return w.history()
	}
	sameBesideOthers(t, one)
}

// TestOthersEndMeanwhile has children of this process end all the time: the kernel then shows their signal to this process, wherever it
// looks at a signalfd of the program.
func TestOthersEndMeanwhile(t *testing.T) {
	sameBesideOthers(t, func() string {
		w := newWorld(t, 1)
		defer w.Close()
		w.ends(w.start(w.a, "p", command(t, "C", "signalfd")))
		return w.history()
	})
}

// sameBesideOthers makes a history many times while this process starts others, which end at once.
func sameBesideOthers(t *testing.T, one func() string) {
	t.Helper()
	quiet := one()
	ctx, end := context.WithCancel(t.Context())
	var starting sync.WaitGroup
	starting.Go(func() {
		for ctx.Err() == nil {
			_ = exec.CommandContext(ctx, "/bin/true").Run()
		}
	})
	defer starting.Wait()
	defer end()
	for range suite.Amount(t, 20, 3) {
		if again := one(); again != quiet {
			t.Fatalf("the same seed has another history:\n%s\nbefore:\n%s", again, quiet)
		}
	}
}
