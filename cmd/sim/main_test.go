package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

func TestMain(m *testing.M) {
	// Scripts wait more than they work.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(suite.Live(m), map[string]func(){"sim": main})
}

// userEnv is the environment of a user with a home, and on PATH sim and the Python that has redis-py, after other folders. What
// Go and rustup have downloaded and built is theirs, too.
func userEnv(t *testing.T, home string, first ...string) []string {
	t.Helper()
	sim, err := exec.LookPath("sim") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	python := t.TempDir() // nothing else of /usr/bin comes before what is on PATH
	if err := os.Symlink("/usr/bin/python3", filepath.Join(python, "python3")); err != nil {
		t.Fatal(err)
	}
	path := append(slices.Clone(first), filepath.Dir(sim), python, os.Getenv("PATH"))
	return append(os.Environ(), "PATH="+strings.Join(path, ":"), "HOME="+home, "NO_COLOR=1",
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "RUSTUP_HOME="+rustupHome())
}

// rustupHome is where rustup, if it is there, has the compilers for Rust.
func rustupHome() string {
	return cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(os.Getenv("HOME"), ".rustup"))
}

// goEnv is a setting of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	settings, err := goSettings()
	if err != nil {
		t.Fatal(err)
	}
	return settings[name]
}

var goSettings = sync.OnceValues(func() (settings map[string]string, err error) {
	out, err := exec.Command("go", "env", "-json").Output()
	if err == nil {
		err = json.Unmarshal(out, &settings)
	}
	return settings, err
})

// TestScripts runs the command as a user does; testdata/*.txt say what is to
// come of it.
func TestScripts(t *testing.T) {
	scenarios, err := filepath.Abs("../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("SCENARIOS", scenarios)
			e.Setenv("REPOSITORY", filepath.Dir(scenarios))
			e.Setenv("RUSTUP_HOME", rustupHome())
			e.Values[scriptTest] = e.T()
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "virtual-time" {
				return false, fmt.Errorf("no condition %q", name)
			}
			return guests.Available() == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"all":         all,
			"lacks":       lacks,
			"server":      serverOf,
			"zookeeper":   zookeeper,
			"nats":        nats,
			"exits":       exits,
			"verdicts":    verdicts,
			"childless":   childless,
			"signal":      signalAt,
			"interrupt":   interruptAt,
			"stall":       stall,
			"existing":    existing,
			"certificate": certificate,
			"expand":      expand,
			"watching":    watching,
			"campaigning": campaigning,
			"serving":     serving,
		},
	})
}

// scriptTest is where a script finds the test that it is.
const scriptTest = "test"

// all says that the script belongs to make test-all.
func all(ts *testscript.TestScript, _ bool, _ []string) {
	suite.All(ts.Value(scriptTest).(testing.TB))
}

// lacks WHAT skips the script for want of it.
func lacks(ts *testscript.TestScript, _ bool, args []string) {
	suite.Lacks(ts.Value(scriptTest).(testing.TB), strings.Join(args, " "))
}

// serverOf VERSION lets SERVER be the path of one of the servers that make servers brings, or skips the script for want of it.
func serverOf(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("SERVER", suite.Server(ts.Value(scriptTest).(testing.TB), args[0]))
}

// zookeeper lets sim find the ZooKeeper, and scripts the Python library, that make libraries brings, or skips the script for want of them.
func zookeeper(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("REDLOCK_SIM_ZOOKEEPER", filepath.Join(brought(ts, "zookeeper/complete", "python/kazoo"), "zookeeper", "lib"))
}

// nats lets sim find the nats-server that make libraries brings, or skips the script for want of it.
func nats(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("REDLOCK_SIM_NATS", filepath.Join(brought(ts, "nats/complete"), "nats", "nats-server"))
}

// brought is where these are that make libraries brings; it skips the script for want of them.
func brought(ts *testscript.TestScript, files ...string) (libraries string) {
	libraries = filepath.Join(ts.Getenv("REPOSITORY"), ".cache", "libraries")
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(libraries, file)); err != nil {
			suite.Lacks(ts.Value(scriptTest).(testing.TB), file+" (make libraries)")
		}
	}
	return libraries
}

// exits CODE ARGS... runs sim and wants that exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	cmd := simCommand(ts, args[1:], &stdout, &stderr)
	_ = suite.Run(ts, cmd)
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), stdout.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), stderr.Bytes(), 0o644))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("sim %s: exit %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args[1:], " "), got, want, stdout.String(), stderr.String())
	}
}

func simCommand(ts *testscript.TestScript, args []string, stdout, stderr *bytes.Buffer) *exec.Cmd {
	path := ts.Getenv("PATH")
	var sim string
	for _, dir := range filepath.SplitList(path) {
		if _, err := os.Stat(filepath.Join(dir, "sim")); err == nil {
			sim = filepath.Join(dir, "sim")
			break
		}
	}
	cmd := exec.Command(sim, args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "PATH="+path, "REDLOCK_SIM_REDIS_SERVER="+ts.Getenv("REDLOCK_SIM_REDIS_SERVER"),
		"REDLOCK_SIM_POSTGRES="+ts.Getenv("REDLOCK_SIM_POSTGRES"), "REDLOCK_SIM_ETCD="+ts.Getenv("REDLOCK_SIM_ETCD"),
		"REDLOCK_SIM_ZOOKEEPER="+ts.Getenv("REDLOCK_SIM_ZOOKEEPER"), "REDLOCK_SIM_NATS="+ts.Getenv("REDLOCK_SIM_NATS"),
		"GITHUB_STEP_SUMMARY="+ts.Getenv("GITHUB_STEP_SUMMARY"), "COLUMNS="+ts.Getenv("COLUMNS"))
	for _, name := range []string{"DOCKER_HOST", "SECRET", "TMPDIR"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd
}

// verdicts FILE VARIANT PROPERTY=VERDICT... looks into the JSON of a result.
func verdicts(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	var r report.Result
	ts.Check(json.NewDecoder(f).Decode(&r))
	got := make(map[string]string)
	for _, v := range r.Variants {
		if v.Name == args[1] {
			for _, p := range v.Properties {
				got[string(p.Name)] = p.Verdict.String()
			}
		}
	}
	for _, arg := range args[2:] {
		name, want, _ := strings.Cut(arg, "=")
		if got[name] != want {
			ts.Fatalf("%s %s: %q, want %q", args[1], name, got[name], want)
		}
	}
}

// signalAt SIGNAL FILE ARGS... starts sim, waits until its run writes FILE (a
// glob below the work folder) with a fault begun, and sends the signal. The
// exit code goes to code.txt and the process ids of its children to
// children.txt.
func signalAt(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}
	var stdout, stderr bytes.Buffer
	cmd := simCommand(ts, args[2:], &stdout, &stderr)
	startInTerminal(ts, cmd)
	suite.Eventually(ts, "a fault in "+args[1], func() bool {
		files, _ := filepath.Glob(ts.MkAbs(args[1]))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			if bytes.Contains(text, []byte(`"fault-begin"`)) {
				return true
			}
		}
		return false
	})
	children := childrenOf(cmd.Process.Pid)
	least := 8 // nodes and clients
	if slices.Contains(args, "docker") || slices.Contains(args, "external") {
		least = 2 // clients, and nodes that are no children
	}
	if len(children) < least {
		ts.Fatalf("sim has %d children: want at least %d", len(children), least)
	}
	ts.Check(os.WriteFile(ts.MkAbs("pid.txt"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644))
	var names []string // numbers alone are used again
	for _, child := range children {
		pid, err := strconv.Atoi(child)
		ts.Check(err)
		if owner, err := machine.OwnerOf(pid); err == nil { // one that has ended by now is gone
			names = append(names, owner.String())
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("children.txt"), []byte(strings.Join(names, "\n")), 0o644))
	ts.Check(cmd.Process.Signal(signals[args[0]]))
	_ = suite.Ends(ts, cmd)
	ts.Check(os.WriteFile(ts.MkAbs("code.txt"), []byte(fmt.Sprintln(cmd.ProcessState.ExitCode())), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), stdout.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), stderr.Bytes(), 0o644))
}

// startInTerminal starts a command that ends with its terminal. Whoever has nohup(1) start the tests has SIGHUP ignored,
// here and in all that is started here. A process that catches a signal leaves it to what it starts to decide.
func startInTerminal(ts *testscript.TestScript, cmd *exec.Cmd) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	ts.Check(cmd.Start())
}

// interruptAt PATH ARGS... starts sim, waits until PATH (a glob) exists, and sends
// two signals at once, as timeout(1) does. The exit code goes to code.txt.
func interruptAt(ts *testscript.TestScript, _ bool, args []string) {
	var stdout, stderr bytes.Buffer
	cmd := simCommand(ts, args[1:], &stdout, &stderr)
	ts.Check(cmd.Start())
	suite.Eventually(ts, args[0], func() bool {
		found, _ := filepath.Glob(ts.MkAbs(args[0]))
		return len(found) > 0
	})
	ts.Check(cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Process.Signal(syscall.SIGTERM)
	ts.Check(os.WriteFile(ts.MkAbs("pid.txt"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644))
	_ = suite.Ends(ts, cmd)
	ts.Check(os.WriteFile(ts.MkAbs("code.txt"), []byte(fmt.Sprintln(cmd.ProcessState.ExitCode())), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), stdout.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), stderr.Bytes(), 0o644))
}

// stall FILE DURATION ARGS... starts sim, waits until FILE (a glob) tells of a grant, and lets sim stand still for so long, as on a machine
// that has too much to do. The exit code goes to code.txt.
func stall(ts *testscript.TestScript, _ bool, args []string) {
	lasts, err := time.ParseDuration(args[1])
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	cmd := simCommand(ts, args[2:], &stdout, &stderr)
	ts.Check(cmd.Start())
	granted := regexp.MustCompile(`"type":"ok".*"f":"acquire"`)
	suite.Eventually(ts, "a grant in "+args[0], func() bool {
		files, _ := filepath.Glob(ts.MkAbs(args[0]))
		return slices.ContainsFunc(files, func(f string) bool {
			text, _ := os.ReadFile(f)
			return granted.Match(text)
		})
	})
	ts.Check(cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(lasts)
	ts.Check(cmd.Process.Signal(syscall.SIGCONT))
	_ = suite.Ends(ts, cmd)
	ts.Check(os.WriteFile(ts.MkAbs("code.txt"), []byte(fmt.Sprintln(cmd.ProcessState.ExitCode())), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), stdout.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), stderr.Bytes(), 0o644))
}

// campaigning ARGS... has sim begin a campaign on this machine, and interrupts it once some of its runs are made. The exit code goes to
// code.txt.
func campaigning(ts *testscript.TestScript, _ bool, args []string) {
	var stdout, stderr bytes.Buffer
	cmd := simCommand(ts, args, &stdout, &stderr)
	ts.Check(cmd.Start())
	suite.Eventually(ts, "some runs", func() bool {
		var out, why bytes.Buffer
		var st struct{ Runs, Target uint64 }
		look := simCommand(ts, []string{"campaign", "status", "--json"}, &out, &why)
		return suite.Run(ts, look) == nil && json.Unmarshal(out.Bytes(), &st) == nil && st.Runs > 0 && st.Runs < st.Target
	})
	ts.Check(cmd.Process.Signal(syscall.SIGINT))
	_ = suite.Ends(ts, cmd)
	ts.Check(os.WriteFile(ts.MkAbs("code.txt"), []byte(fmt.Sprintln(cmd.ProcessState.ExitCode())), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), stdout.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), stderr.Bytes(), 0o644))
}

// watching FILE SAVED... has sim watch FILE. Each time that a run of it has been told, the next
// SAVED is moved to its place. After the last run sim is interrupted, and has to end with 0.
func watching(ts *testscript.TestScript, _ bool, args []string) {
	printed := ts.MkAbs("watched.txt")
	f, err := os.Create(printed)
	ts.Check(err)
	defer f.Close()
	cmd := simCommand(ts, []string{"watch", args[0]}, nil, nil)
	cmd.Stdout, cmd.Stderr = f, f
	ts.Check(cmd.Start())
	for told, saved := range append(args[1:], "") {
		suite.Eventually(ts, "a run of "+args[0], func() bool {
			text, _ := os.ReadFile(printed)
			return bytes.Count(text, []byte("watching "+args[0])) == told+1
		})
		if saved != "" {
			ts.Check(os.Rename(ts.MkAbs(saved), ts.MkAbs(args[0])))
		}
	}
	ts.Check(cmd.Process.Signal(syscall.SIGINT))
	ts.Check(suite.Ends(ts, cmd))
}

// childless wants every process of children.txt to have ended.
func childless(ts *testscript.TestScript, _ bool, _ []string) {
	me, err := machine.Self()
	ts.Check(err)
	suite.Eventually(ts, "the end of all children", func() bool {
		return !slices.ContainsFunc(strings.Fields(ts.ReadFile("children.txt")), func(name string) bool {
			child, err := machine.ParseOwner(name)
			ts.Check(err)
			return !child.Gone(me)
		})
	})
}

// childrenOf lists the children of a process, and theirs.
func childrenOf(pid int) []string {
	var list []string
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(child)
			list = append(append(list, child), childrenOf(pid)...)
		}
	}
	return list
}
