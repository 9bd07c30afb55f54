//go:build linux && amd64

package supervisor_test

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// withoutRights is a variable that lets all tests run as where nothing is permitted that not everybody may do.
const withoutRights = "SUPERVISOR_TEST_WITHOUT_RIGHTS"

// buildDir is where programs are built.
var buildDir string

func TestMain(m *testing.M) {
	if os.Getenv(withoutRights) != "" {
		supervisor.WithoutRights()
	}
	if os.Getenv("SUPERVISOR_TEST_RUN") != "" {
		runForEver()
	}
	dir, err := os.MkdirTemp("", "supervisor")
	if err != nil {
		panic(err)
	}
	buildDir = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// hop is how long a message takes from host to host.
const hop = 10 * time.Millisecond

// network brings what programs send to the other end one hop later, and notes all of it.
type network struct {
	s     *supervisor.Supervisor
	queue []delivery
	calls hash.Hash
	// lost: nothing arrives.
	lost bool
	// dialed are the connections that programs wanted.
	dialed []*supervisor.Conn
}

type delivery struct {
	at time.Duration
	do func()
}

func (n *network) note(format string, args ...any) {
	fmt.Fprintf(n.calls, "%d ", n.s.Now())
	fmt.Fprintf(n.calls, format, args...)
}

func (n *network) later(do func()) { n.queue = append(n.queue, delivery{n.s.Now() + hop, do}) }

func (n *network) Dial(c *supervisor.Conn) {
	n.note("dial %d %s %s %s\n", c.Number, c.Host, c.From, c.To)
	n.dialed = append(n.dialed, c)
	if n.lost {
		return
	}
	n.later(func() {
		err := c.Connect()
		n.later(func() {
			if err != nil {
				c.Refuse()
			} else {
				c.Open()
			}
		})
	})
}

func (n *network) Sent(c *supervisor.Conn, end int, b []byte) {
	n.note("sent %d %d %q\n", c.Number, end, b)
	n.later(func() { c.Deliver(1-end, b) })
}

func (n *network) Closed(c *supervisor.Conn, end int, gone bool) {
	n.note("closed %d %d %v\n", c.Number, end, gone)
	n.later(func() { c.Finish(1 - end) })
}

// world is a supervisor with two hosts, and what its programs said.
type world struct {
	*supervisor.Supervisor
	t    testing.TB
	net  *network
	a, b *supervisor.Host
	// said are lines of programs, each after its program's name and the time.
	said []string
	errs strings.Builder
}

var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	n := &network{calls: sha256.New()}
	s, err := supervisor.New(supervisor.Config{Seed: seed, Wall: time.Duration(start.UnixNano()), Network: n})
	if err != nil {
		suite.Lacks(t, err.Error())
	}
	n.s = s
	w := &world{Supervisor: s, t: t, net: n}
	w.a, w.b = s.NewHost("a", [4]byte{127, 0, 1, 1}), s.NewHost("b", [4]byte{127, 0, 1, 2})
	t.Cleanup(s.Close)
	return w
}

// environment is all that a program gets.
var environment = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C.UTF-8", "TZ=UTC", "PYTHONHASHSEED=0"}

// start starts a program, and keeps what it says.
func (w *world) start(h *supervisor.Host, name string, command []string, env ...string) *supervisor.Program {
	w.t.Helper()
	say := func(text string) { w.said = append(w.said, name+": "+text) }
	p, err := h.Start(supervisor.Command{Path: command[0], Args: command[1:], Env: append(env, environment...), Dir: w.t.TempDir(),
		Output: func(line []byte) { say(string(line)) },
		Errors: func(text []byte) { w.errs.Write(text) },
		Ended:  func(how string) { say(how) }})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// step lets time pass until something happens, and brings what is to arrive.
func (w *world) step(until time.Duration) {
	next := until
	if len(w.net.queue) > 0 {
		next = min(next, w.net.queue[0].at)
	}
	w.Run(next)
	for len(w.net.queue) > 0 && w.net.queue[0].at <= w.Now() {
		d := w.net.queue[0]
		w.net.queue = w.net.queue[1:]
		d.do()
	}
}

// run lets time pass until a time.
func (w *world) run(until time.Duration) {
	w.t.Helper()
	for w.Now() < until && w.Doubt() == "" {
		w.step(until)
	}
}

// ends runs until all of some programs have ended.
func (w *world) ends(programs ...*supervisor.Program) {
	w.t.Helper()
	longest := w.Now() + 3*time.Hour
	for _, p := range programs {
		for !p.HasEnded() && w.Doubt() == "" && w.Now() < longest {
			w.step(longest)
		}
		if !p.HasEnded() {
			w.t.Fatalf("a program has not ended: %q\n%s\n%s", w.Doubt(), strings.Join(w.said, "\n"), &w.errs)
		}
	}
}

// expect fails unless the programs have said so much.
func (w *world) expect(lines ...string) {
	w.t.Helper()
	if why := w.Doubt(); why != "" {
		w.t.Errorf("doubt: %s", why)
	}
	if got, want := strings.Join(w.said, "\n"), strings.Join(lines, "\n"); got != want {
		w.t.Errorf("the programs said\n%s\nwant\n%s\nstandard error:\n%s", got, want, &w.errs)
	}
}

// history is what the programs said, sent and called.
func (w *world) history() string {
	return fmt.Sprintf("%s\n%x\n%d calls, %x, until %s", strings.Join(w.said, "\n"), w.net.calls.Sum(nil), w.Calls(), w.Digest(), w.Now())
}

// repeats carries something out again and again, and wants the same history each time.
func repeats(t *testing.T, one func() string) {
	t.Helper()
	first := one()
	for range suite.Amount(t, 19, 1) {
		if again := one(); again != first {
			t.Fatalf("the same seed has another history:\n%s\nbefore:\n%s", again, first)
		}
	}
}

// built is a program of testdata that is built once.
type built struct {
	// needs are programs of this machine, build is how it is built into a folder.
	needs []string
	build func(dir string) *exec.Cmd
	// run is how it is run.
	run func(dir string) []string

	once sync.Once
	dir  string
	err  error
}

func source(name string) string {
	path, err := filepath.Abs(filepath.Join("testdata", "programs", name))
	if err != nil {
		panic(err)
	}
	return path
}

func script(program, file string) *built {
	return &built{needs: []string{program}, run: func(string) []string { return []string{program, source(file)} }}
}

// compiled is a program of C, for one library.
func compiled(compiler string, options ...string) *built {
	return &built{needs: []string{compiler},
		build: func(dir string) *exec.Cmd {
			args := []string{"-O1", "-o", filepath.Join(dir, "program"), source("program.c"), source("cases.c")}
			return exec.Command(compiler, append(args, options...)...)
		},
		run: func(dir string) []string { return []string{filepath.Join(dir, "program")} }}
}

var programs = map[string]*built{
	"C":        compiled("gcc", "-pthread"),
	"static C": compiled("gcc", "-pthread", "-static"),
	"musl C":   compiled("musl-gcc", "-static"),
	"Go": {needs: []string{"go"},
		build: func(dir string) *exec.Cmd {
			c := exec.Command("go", "build", "-o", filepath.Join(dir, "program"), source("program.go"))
			c.Env = append(os.Environ(), "CGO_ENABLED=0")
			return c
		},
		run: func(dir string) []string { return []string{filepath.Join(dir, "program")} }},
	"Java": {needs: []string{"java", "javac"},
		build: func(dir string) *exec.Cmd { return exec.Command("javac", "-d", dir, source("Program.java")) },
		run:   func(dir string) []string { return []string{"java", "-cp", dir, "Program"} }},
	"Python": script("python3", "program.py"),
	"Node":   script("node", "program.js"),
	"Ruby":   script("ruby", "program.rb"),
	"PHP":    script("php", "program.php"),
}

// command is how to run a program of testdata.
func command(t testing.TB, language string, args ...string) []string {
	t.Helper()
	p := programs[language]
	for _, need := range p.needs {
		if _, err := exec.LookPath(need); err != nil {
			suite.Lacks(t, need)
		}
	}
	p.once.Do(func() {
		if p.build == nil {
			return
		}
		if p.dir, p.err = os.MkdirTemp(buildDir, "program"); p.err == nil {
			var out []byte
			if out, p.err = p.build(p.dir).CombinedOutput(); p.err != nil {
				p.err = fmt.Errorf("%w: %s", p.err, out)
			}
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	c := append(p.run(p.dir), args...)
	path, err := exec.LookPath(c[0])
	if err != nil {
		t.Fatal(err)
	}
	// python3 may be a script that looks for one.
	if real, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output(); language == "Python" && err == nil {
		path = strings.TrimSpace(string(real))
	}
	c[0] = path
	return c
}
