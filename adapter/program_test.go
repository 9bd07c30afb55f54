package adapter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv("LOCK_PROGRAM") != "" {
		Serve(Program{Name: "test", Version: "1.0", About: "a lock; its client", Class: "single", Keys: []string{"{key}"},
			Can:    []string{"validity", "setup-again"},
			Points: []string{"inside", "not armed"}}, openTest)
	}
	code := 1
	var err error
	if compiled, err = os.MkdirTemp("", "lock-programs"); err == nil {
		code = m.Run()
		os.RemoveAll(compiled)
	}
	os.Exit(code)
}

var (
	closed    []string
	collected atomic.Int64
	objects   atomic.Int64
)

// openTest is the lock of testdata/program.py, in Go. The lock's key says what it does.
func openTest(s Setup) (Acquire, error) {
	switch s.Key {
	case "broken":
		return nil, errors.New("no such node")
	case "unsupported":
		return nil, fmt.Errorf("%w: no such topology", ErrUnsupported)
	case "slow-open":
		select {}
	case "first":
		for _, what := range []string{"a", "b"} {
			s.OnClose(func() { closed = append(closed, what) })
		}
	}
	return func(ctx context.Context) (Grant, error) {
		g := Grant{Release: func(context.Context) error { return nil }}
		taken := fmt.Errorf("%w: taken", ErrRefused)
		switch s.Key {
		case "refuse":
			return g, taken
		case "doubt":
			return g, errors.New("timeout")
		case "block":
			<-ctx.Done()
			return g, taken
		case "print":
			fmt.Println("a library's noise")
			child := exec.Command("echo", "a child's noise")
			child.Stdout = os.NewFile(1, "")
			if err := child.Run(); err != nil {
				return g, err
			}
		case "point":
			s.Point("inside")
			s.Point("not armed")
		case "not-ours":
			g.Release = func(context.Context) error { return taken }
		case "tell":
			var options struct{ A string }
			if err := json.Unmarshal(s.Options, &options); err != nil {
				return g, err
			}
			n := s.Nodes[0]
			g.Owner = fmt.Sprint(s.Client, " ", s.Seed, " ", s.TTL.Seconds(), " ", s.NodeTimeout.Seconds(), " ", options.A,
				" ", n.Name, " ", n.Host, " ", n.Port, " ", n.Password, " ", s.Nodes[1].TLS.CA)
			g.Token, g.Until = new(int64), time.Now().Add(time.Second)
			*g.Token = 7
			g.Extend = func(context.Context) (time.Time, error) { return time.Now().Add(2 * time.Second), nil }
		case "again":
			g.Owner = fmt.Sprint(s.TTL.Seconds(), " ", strings.Join(closed, ""))
		case "clients":
			once, err := Once(s, func() (int64, error) { return objects.Add(1), nil })
			if err != nil {
				return g, err
			}
			g.Owner = fmt.Sprint(s.Client, " ", once)
		case "object":
			g.Owner = fmt.Sprint(*Object(s, func() *int64 { n := objects.Add(1); return &n }))
		case "forget":
			handle := new([1]string)
			runtime.SetFinalizer(handle, func(*[1]string) { collected.Add(1) })
			g.Release = func(context.Context) error { handle[0] = "released"; return nil }
			g.Owner = fmt.Sprint(collected.Load())
		case "events":
			renewed, lost := make(chan time.Time), make(chan struct{})
			g.Renewed, g.Lost = renewed, lost
			go func() {
				renewed <- time.Now().Add(3 * time.Second)
				close(renewed)
				close(lost)
			}()
		case "flood":
			renewed := make(chan time.Time)
			g.Renewed = renewed
			go func() {
				for {
					renewed <- time.Time{}
				}
			}()
		}
		return g, nil
	}, nil
}

// process is a lock program that was started.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	lines  chan map[string]any
	stderr bytes.Buffer
}

// patience is how long a test waits for what a program is about to do.
const patience = 2 * time.Minute

// runtimes start the programs of other languages than Go, if they have at least the version that the SDK wants.
var runtimes = map[string]struct {
	command      string
	major, minor int
	program      string
}{
	"python": {"python3", 3, 9, "testdata/program.py"},
	"node":   {"node", 18, 0, "testdata/program.mjs"},
	"ruby":   {"ruby", 3, 0, "testdata/program.rb"},
	"php":    {"php", 8, 1, "testdata/program.php"},
	"java":   {"java", 17, 0, "LockProgram"},
	"rust":   {"rustc", 1, 63, "testdata/program.rs"},
}

// interpreters are the commands of runtimes by language: the one on PATH, or else the system's.
var interpreters = sync.OnceValue(func() map[string]string {
	found := make(map[string]string)
	for language, r := range runtimes {
		for _, path := range []string{"/usr/bin/" + r.command, r.command} {
			text, _ := exec.Command(path, "--version").Output()
			var major, minor int
			if _, err := fmt.Sscanf(version.FindString(string(text)), "%d.%d", &major, &minor); err == nil &&
				(major > r.major || major == r.major && minor >= r.minor) {
				found[language] = path
			}
		}
	}
	return found
})

var version = regexp.MustCompile(`\d+\.\d+`)

// compilers compile a program into the folder compiled, once.
var compilers = map[string]func() error{
	"java": compile("javac", "-Xlint:all", "-Werror", "-d", ".", "../sdk/java/SimAdapter.java", "testdata/LockProgram.java"),
	"rust": compile("rustc", "--edition", "2021", "-D", "warnings", "-o", "program", "testdata/program.rs"),
}

var compiled string

func compile(compiler string, args ...string) func() error {
	return sync.OnceValue(func() error {
		for i := 1; i < len(args); i++ {
			if args[i-1] == "-d" || args[i-1] == "-o" {
				args[i] = filepath.Join(compiled, args[i])
			}
		}
		if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", compiler, err, out)
		}
		return nil
	})
}

// start starts the program in a language.
func start(t *testing.T, language string, env ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan map[string]any, 100)}
	if runtime, ok := runtimes[language]; ok {
		path := interpreters()[language]
		if path == "" {
			t.Skipf("this machine lacks: %s %d.%d or later", runtime.command, runtime.major, runtime.minor)
		}
		p.cmd = exec.Command(path, runtime.program)
		if compile, is := compilers[language]; is {
			switch err := compile(); {
			case errors.Is(err, exec.ErrNotFound):
				t.Skip("this machine lacks: ", err)
			case err != nil:
				t.Fatal(err)
			case language == "java":
				p.cmd = exec.Command(path, "-cp", compiled, runtime.program)
			default:
				p.cmd = exec.Command(filepath.Join(compiled, "program"))
			}
		}
	}
	p.cmd.Env = append(os.Environ(), append(env, "LOCK_PROGRAM=1", "PYTHONDONTWRITEBYTECODE=1")...)
	p.cmd.Stderr = &p.stderr
	p.stdin, _ = p.cmd.StdinPipe()
	p.stdout, _ = p.cmd.StdoutPipe()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	return p
}

// read begins to read what the program says.
func (p *process) read() *process {
	go func() {
		defer close(p.lines)
		lines := bufio.NewScanner(p.stdout)
		for lines.Scan() {
			m := make(map[string]any)
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				m["type"] = lines.Text()
			}
			p.lines <- m
		}
	}()
	return p
}

func (p *process) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// hear waits for the next line, which has to be of a type.
func (p *process) hear(want string) map[string]any {
	p.t.Helper()
	select {
	case m, ok := <-p.lines:
		if !ok || m["type"] != want {
			p.t.Fatalf("the program said %v, want %s; stderr: %s", m, want, &p.stderr)
		}
		return m
	case <-time.After(patience):
		p.t.Fatalf("no line after %v, want %s", patience, want)
	}
	return nil
}

// ends waits for the program's end with an exit code, after its last line.
func (p *process) ends(code int) {
	p.t.Helper()
	late := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	for m := range p.lines {
		p.t.Errorf("the program also said %v", m)
	}
	p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit code %d, want %d; stderr: %s", got, code, &p.stderr)
	}
}

const hello = `{"type":"hello","protocols":[1]}`

func setup(key string) string {
	text := fmt.Sprintf(`{"type":"setup","client":"c1","seed":18446744073709551615,"topology":"independent","points":["inside"],
		"lock":{"key":%q,"ttl_ms":1500.5,"node_timeout_ms":50,"options":{"a":"b"}},"new":1,
		"nodes":[{"name":"A","host":"::1","port":40001,"username":"u","password":"p","tls":null},
			{"name":"B","host":"h","port":1,"tls":{"server_name":"s","ca":"ca.pem"}}]}`, key)
	return strings.ReplaceAll(text, "\n", "")
}

// opened is the program with its lock open.
func opened(t *testing.T, language, key string, env ...string) *process {
	t.Helper()
	p := start(t, language, env...).read()
	p.say(hello)
	p.hear("ready")
	p.say(setup(key))
	p.hear("set-up")
	return p
}

func inEach(t *testing.T, test func(t *testing.T, language string)) {
	for _, language := range []string{"go", "python", "node", "ruby", "php", "java", "rust"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			test(t, language)
		})
	}
}

func TestReadyTellsOfTheProgram(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := start(t, language).read()
		p.say(`{"type":"hello","protocols":[2,1],"unknown":{}}`)
		got := p.hear("ready")
		want := map[string]any{"type": "ready", "protocol": 1.0, "name": "test", "version": "1.0", "class": "single",
			"clock": "libc", "about": "a lock; its client"}
		if language == "go" { // it reads clocks without libc
			want["clock"] = "own"
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: got %v, want %v", name, got[name], value)
			}
		}
		if s := fmt.Sprint(got["can"], got["keys"], got["points"]); s != "[validity setup-again] [{key}] [inside not armed]" {
			t.Errorf("can, keys and points are %s", s)
		}
	})
}

// TestBadInput: what the program does not understand it answers with an error, and ends.
func TestBadInput(t *testing.T) {
	for name, lines := range map[string][]string{
		"no JSON":         {"acquire!"},
		"no object":       {"[]"},
		"no type":         {"{}"},
		"unknown type":    {hello, `{"type":"dance"}`},
		"other version":   {`{"type":"hello","protocols":[2]}`},
		"before setup":    {hello, `{"type":"acquire","id":1}`},
		"nobody waits":    {hello, `{"type":"go","id":1}`},
		"a line too long": {hello, `{"type":"clocks","x":"` + strings.Repeat("x", 1<<20) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			inEach(t, func(t *testing.T, language string) {
				p := start(t, language).read()
				for i, line := range lines {
					if i > 0 {
						p.hear("ready")
					}
					p.say(line)
				}
				if why, _ := p.hear("error")["why"].(string); why == "" {
					t.Error("the error has no reason")
				}
				p.ends(1)
			})
		})
	}
}

func TestALineMayHaveAMebibyte(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := start(t, language).read()
		p.say(hello + strings.Repeat(" ", 1<<20-len(hello)))
		p.hear("ready")
	})
}

func TestOpenFails(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := start(t, language).read()
		p.say(hello)
		p.hear("ready")
		p.say(setup("broken"))
		if why := fmt.Sprint(p.hear("error")["why"]); !strings.Contains(why, "no such node") {
			t.Errorf("the reason is %s", why)
		}
		p.ends(1)
	})
}

// TestUnsupported: what the library refuses by design is no error of the program.
func TestUnsupported(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := start(t, language).read()
		p.say(hello)
		p.hear("ready")
		p.say(setup("unsupported"))
		if why := fmt.Sprint(p.hear("unsupported")["why"]); !strings.Contains(why, "no such topology") {
			t.Errorf("the reason is %s", why)
		}
		p.stdin.Close()
		p.ends(0)
	})
}

func TestGrant(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "tell")
		before := monotonic()
		p.say(`{"type":"acquire","id":7,"wait_ms":10000}`)
		got := p.hear("acquired")
		owner, _ := base64.StdEncoding.DecodeString(got["owner_b64"].(string))
		if want := "c1 18446744073709551615 1.5005 0.05 b A ::1 40001 p ca.pem"; string(owner) != want {
			t.Errorf("the setup arrived as %s, want %s", owner, want)
		}
		if got["id"] != 7.0 || got["token"] != 7.0 {
			t.Errorf("id and token: %v", got)
		}
		inTime(t, got, before, 1000)
		p.say(`{"type":"extend","id":8,"grant":7}`)
		inTime(t, p.hear("extended"), before, 2000)
		p.say(`{"type":"release","id":9,"grant":7}`)
		if got := p.hear("released"); len(got) != 2 || got["id"] != 9.0 {
			t.Errorf("released: %v", got)
		}
		for _, again := range []string{"release", "extend"} {
			p.say(`{"type":"` + again + `","id":10,"grant":7}`)
			p.hear("refused")
		}
	})
}

// TestBusy: after a grant a program computes where the user's code would run, for as long as setup says.
func TestBusy(t *testing.T) {
	const busy = 600 * time.Millisecond
	inEach(t, func(t *testing.T, language string) {
		p := start(t, language).read()
		p.say(hello)
		p.hear("ready")
		p.say(strings.Replace(setup("tell"), `"new":1`, `"busy_ms":600`, 1))
		p.hear("set-up")
		before := p.processorTime()
		p.say(`{"type":"acquire","id":7,"wait_ms":10000}`)
		p.hear("acquired")
		granted := time.Now()
		if language != "node" && language != "php" {
			ticks := time.NewTicker(10 * time.Millisecond)
			defer ticks.Stop()
			for p.processorTime()-before < busy/15 { // a machine that does much else gives it little
				if <-ticks.C; time.Since(granted) > patience {
					t.Fatalf("it took %v of the processor's time", p.processorTime()-before)
				}
			}
		}
		p.say(`{"type":"release","id":8,"grant":7}`)
		p.hear("released")
		if took := time.Since(granted); took < busy-50*time.Millisecond && (language == "node" || language == "php") {
			t.Errorf("the release was answered after %v, and nothing can be done while it is busy", took)
		}
		p.stdin.Close()
		p.ends(0)
	})
}

// processorTime is how much of it the program has taken.
func (p *process) processorTime() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks, _ := strconv.Atoi(fields[11])
	return time.Duration(ticks) * 10 * time.Millisecond
}

// inTime: a promise counts from an instant since before, and is no longer than ms.
func inTime(t *testing.T, got map[string]any, before int64, ms float64) {
	t.Helper()
	validity, told := got["validity_ms"].(float64)
	if !told || validity > ms || validity < ms-1000 {
		t.Errorf("validity: %v, want at most %v ms", got, ms)
	}
	if at, told := got["at_ns"].(float64); told != (before != 0) || told && (int64(at) < before || int64(at) > monotonic()) {
		t.Errorf("at_ns: %v, want it since %d", got, before)
	}
}

func TestSilentGrant(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "silent")
		p.say(`{"type":"acquire","id":1}`)
		if got := p.hear("acquired"); len(got) != 2 || got["id"] != 1.0 {
			t.Errorf("a library that tells nothing: %v", got)
		}
		p.say(`{"type":"extend","id":2,"grant":1}`)
		p.hear("error")
		p.ends(1)
	})
}

func TestTwoGrants(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "silent")
		for _, id := range []string{"1", "2"} {
			p.say(`{"type":"acquire","id":` + id + `}`)
			p.hear("acquired")
		}
		p.say(`{"type":"release","id":3,"grant":1}`)
		p.hear("released")
		p.say(`{"type":"release","id":4,"grant":1}`)
		p.hear("refused")
		p.say(`{"type":"release","id":5,"grant":2}`)
		p.hear("released")
	})
}

// TestLockObject: a program has a new lock object for each grant, or one for all, as setup says.
func TestLockObject(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "object")
		for id, want := range []string{"1", "2", "3", "3"} {
			if id == 2 {
				p.say(strings.Replace(setup("object"), `"new":1`, `"one_object":true`, 1))
				p.hear("set-up")
			}
			p.say(fmt.Sprintf(`{"type":"acquire","id":%d,"wait_ms":1000}`, id+1))
			if got := p.hear("acquired")["owner_b64"]; got != base64.StdEncoding.EncodeToString([]byte(want)) {
				t.Errorf("grant %d: lock object %v, want %s", id+1, got, want)
			}
		}
	})
}

// TestThreadOfLockObject: a lock may belong to a thread. With the SDK for Java all grants of one lock object are asked for in one
// thread, else each has its own.
func TestThreadOfLockObject(t *testing.T) {
	t.Parallel()
	p := opened(t, "java", "thread")
	var owners []any
	for id := range 4 {
		if id == 2 {
			p.say(strings.Replace(setup("thread"), `"new":1`, `"one_object":true`, 1))
			p.hear("set-up")
		}
		p.say(fmt.Sprintf(`{"type":"acquire","id":%d,"wait_ms":1000}`, id+1))
		owners = append(owners, p.hear("acquired")["owner_b64"])
	}
	if owners[0] == owners[1] || owners[2] != owners[3] {
		t.Errorf("threads %v: want two, and then one for both grants", owners)
	}
}

// TestSeveralClients: a program is several clients, each with a lock of its own, which share what is made once for each trial.
func TestSeveralClients(t *testing.T) {
	for _, language := range []string{"go", "python", "node", "java"} { // the others say that they are one alone
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			p := start(t, language).read()
			p.say(`{"type":"hello","protocols":[1]}`)
			p.hear("ready")
			for trial := 1; trial <= 2; trial++ {
				for _, client := range []string{"c1", "c2"} {
					p.say(strings.Replace(setup("clients"), `"client":"c1"`, `"client":"`+client+`","process":["c1","c2"]`, 1))
					p.hear("set-up")
				}
				for i, client := range []string{"c2", "c1"} {
					p.say(fmt.Sprintf(`{"type":"acquire","client":"%s","id":%d,"wait_ms":1000}`, client, 10*trial+i))
					want := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s %d", client, trial))
					if got := p.hear("acquired"); got["owner_b64"] != want {
						t.Errorf("%s got %v, want the owner %s", client, got, want)
					}
				}
				for i, client := range []string{"c1", "c2"} {
					p.say(fmt.Sprintf(`{"type":"release","client":"%s","id":%d,"grant":%d}`, client, 10*trial+5+i, 10*trial+1-i))
					p.hear("released")
				}
			}
		})
	}
}

func TestRefusedIsNotUnknown(t *testing.T) {
	for key, want := range map[string]string{"refuse": "refused", "doubt": "unknown"} {
		t.Run(key, func(t *testing.T) {
			inEach(t, func(t *testing.T, language string) {
				p := opened(t, language, key)
				p.say(`{"type":"acquire","id":1}`)
				if got := p.hear(want); got["id"] != 1.0 || got["why"] == "" {
					t.Errorf("got %v", got)
				}
				p.say(`{"type":"release","id":2,"grant":1}`)
				p.hear("refused")
			})
		})
	}
	t.Run("release", func(t *testing.T) {
		inEach(t, func(t *testing.T, language string) {
			p := opened(t, language, "not-ours")
			p.say(`{"type":"acquire","id":1}`)
			p.hear("acquired")
			p.say(`{"type":"release","id":2,"grant":1}`)
			p.hear("refused")
		})
	})
}

func TestEvents(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "events")
		before := monotonic()
		p.say(`{"type":"acquire","id":5}`)
		p.hear("acquired")
		renewed := p.hear("renewed")
		inTime(t, renewed, before, 3000)
		lost := p.hear("lost")
		if renewed["grant"] != 5.0 || lost["grant"] != 5.0 || (lost["at_ns"] != nil) != (before != 0) {
			t.Errorf("got %v and %v", renewed, lost)
		}
	})
}

// TestForget: nothing of the program refers to a lock any more whose grant was dropped. The collector of a language may be late once, or
// take an old word on a stack for a reference.
func TestForget(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "forget")
		for id := 1; id < 100; id += 2 {
			p.say(fmt.Sprintf(`{"type":"acquire","id":%d,"wait_ms":100}`, id))
			if p.hear("acquired")["owner_b64"] != base64.StdEncoding.EncodeToString([]byte("0")) {
				return
			}
			p.say(fmt.Sprintf(`{"type":"forget","id":%d,"grant":%d}`, id+1, id))
			p.hear("forgotten")
			p.say(fmt.Sprintf(`{"type":"release","id":%d,"grant":%d}`, id+1, id))
			p.hear("refused")
		}
		t.Error("no lock was collected")
	})
}

// TestFullQueue: a program whose events nobody reads ends. It must not lose them silently.
func TestFullQueue(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := start(t, language)
		p.say(hello)
		p.say(setup("flood"))
		late := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
		lines := bufio.NewScanner(p.stdout)
		for lines.Scan() && !strings.Contains(lines.Text(), "set-up") {
		}
		late.Stop()
		p.say(`{"type":"acquire","id":1}`)
		done := make(chan error, 1)
		go func() {
			state, err := p.cmd.Process.Wait()
			if err == nil && state.ExitCode() != 1 {
				err = fmt.Errorf("exit code %d", state.ExitCode())
			}
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatalf("the program goes on after %v", patience)
		}
	})
}

// TestRequestsOverlap: while an acquire waits, the program answers others.
func TestRequestsOverlap(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		if language == "php" {
			t.Skip("PHP has one thread: requests wait for each other")
		}
		p := opened(t, language, "block")
		p.say(`{"type":"acquire","id":1}`)
		p.say(`{"type":"clocks","id":2}`)
		clocks := p.hear("clocks")
		wall, _ := clocks["wall_ms"].(float64)
		if off := time.Since(time.UnixMicro(int64(wall * 1000))); clocks["id"] != 2.0 || off < 0 || off > patience {
			t.Errorf("clocks: %v", clocks)
		}
		p.say(`{"type":"acquire","id":3,"wait_ms":1.5}`)
		if got := p.hear("refused"); got["id"] != 3.0 {
			t.Errorf("the acquire that waits 1.5 ms: %v", got)
		}
	})
}

// TestCancel: a cancelled acquire ends, and no other. A cancel of what was answered is ignored.
func TestCancel(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		says := map[string]string{"go": "refused", "python": "refused", "java": "unknown"}[language] // Java's is interrupted
		if says == "" {
			t.Skip("its programs cannot cancel")
		}
		p := opened(t, language, "block")
		for id := 1; id <= 2; id++ {
			p.say(fmt.Sprintf(`{"type":"acquire","id":%d,"wait_ms":100000}`, 10*id))
			p.say(fmt.Sprintf(`{"type":"acquire","id":%d,"wait_ms":100000}`, 10*id+1))
			p.say(fmt.Sprintf(`{"type":"cancel","id":%d}`, 10*id+1))
			if got := p.hear(says); got["id"] != float64(10*id+1) {
				t.Errorf("the acquire that was cancelled: %v", got)
			}
			p.say(fmt.Sprintf(`{"type":"cancel","id":%d}`, 10*id+1))
		}
	})
}

func TestEndOfInput(t *testing.T) {
	for _, key := range []string{"block", "slow-open"} {
		t.Run(key, func(t *testing.T) {
			inEach(t, func(t *testing.T, language string) {
				p := start(t, language).read()
				p.say(hello)
				p.hear("ready")
				p.say(setup(key))
				if key == "block" {
					p.hear("set-up")
					p.say(`{"type":"acquire","id":1}`)
				}
				p.stdin.Close()
				p.ends(0)
			})
		})
	}
}

// TestSetupAgain: before the lock is opened again, what was opened before is closed, the last first, and what was granted is forgotten.
func TestSetupAgain(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "first")
		p.say(`{"type":"acquire","id":1}`)
		p.hear("acquired")
		p.say(strings.Replace(setup("again"), "1500.5", "3000.5", 1))
		p.hear("set-up")
		p.say(`{"type":"release","id":2,"grant":1}`)
		p.hear("refused")
		for id := range 2 {
			p.say(fmt.Sprintf(`{"type":"acquire","id":%d}`, id+3))
			got, _ := base64.StdEncoding.DecodeString(fmt.Sprint(p.hear("acquired")["owner_b64"]))
			if string(got) != "3.0005 ba" {
				t.Errorf("its ttl, and what was closed: %q", got)
			}
			p.say(strings.Replace(setup("again"), "1500.5", "3000.5", 1))
			p.hear("set-up")
		}
	})
}

func TestPoint(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "point")
		for id := 1.0; id <= 2; id++ {
			p.say(fmt.Sprintf(`{"type":"acquire","id":%v}`, id))
			point := p.hear("point")
			if point["name"] != "inside" || point["id"] != id {
				t.Errorf("point: %v", point)
			}
			p.say(`{"type":"clocks","id":3}`)
			p.hear("clocks")
			p.say(fmt.Sprintf(`{"type":"go","id":%v}`, point["id"]))
			p.hear("acquired")
		}
	})
}

// TestPrints: what the library prints is no line of the protocol.
func TestPrints(t *testing.T) {
	inEach(t, func(t *testing.T, language string) {
		p := opened(t, language, "print")
		p.say(`{"type":"acquire","id":1}`)
		p.hear("acquired")
		p.stdin.Close()
		p.ends(0)
		for _, noise := range []string{"a library's noise", "a child's noise"} {
			if language == "java" && noise == "a child's noise" {
				continue // it has no way to give its children another standard output than its own
			}
			if !strings.Contains(p.stderr.String(), noise) {
				t.Errorf("standard error lacks %q: %s", noise, &p.stderr)
			}
		}
	})
}

// TestBentClocks: the program's clocks may be wrong by intent; at_ns is the machine's.
func TestBentClocks(t *testing.T) {
	library, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(library) == 0 {
		t.Skip("this machine lacks: libfaketime")
	}
	p := opened(t, "python", "tell", "LD_PRELOAD="+library[0], "FAKETIME=-1000")
	for _, left := range []string{"/dev/shm/faketime_shm_%d", "/dev/shm/sem.faketime_sem_%d"} { // by libfaketime
		t.Cleanup(func() { os.Remove(fmt.Sprintf(left, p.cmd.Process.Pid)) })
	}
	before := monotonic()
	p.say(`{"type":"acquire","id":1}`)
	inTime(t, p.hear("acquired"), before, 1000)
	p.say(`{"type":"clocks","id":2}`)
	wall, _ := p.hear("clocks")["wall_ms"].(float64)
	if off := time.Since(time.UnixMicro(int64(wall * 1000))); off < 900*time.Second {
		t.Errorf("the wall clock is %v behind, want 1000 s", off)
	}
}
