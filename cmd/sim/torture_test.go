//go:build torture

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// These tests are what make torture runs; docs/guide/safety.md says what they promise. They take
// minutes, touch loopback alone, and start nothing but sim and what it starts.

// rounds is how often each signal strikes each command; TORTURE sets it.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("TORTURE")); err == nil && n > 0 {
		return n
	}
	return 10
}

// victims are commands that leave something, each in its own way.
var victims = []struct {
	name string
	args []string
	// lasts is about how long it takes.
	lasts time.Duration
}{
	{"redis-server", []string{"run", "gc-pause", "--tries", "1"}, 3 * time.Second},
	{"clocks of nodes", []string{"run", "clock-jump", "--tries", "1"}, 3 * time.Second},
	{"PostgreSQL", []string{"run", "postgres", "--tries", "1"}, 5 * time.Second},
	{"etcd", []string{"run", "consensus-tokens", "--tries", "1"}, 4 * time.Second},
	{"replicas", []string{"run", "failover", "--tries", "1"}, 3 * time.Second},
	{"disks", []string{"run", "durability-power-cut", "--tries", "1"}, 4 * time.Second},
	{"a lock program", []string{"run", "set-nx-px", "--world", "live", "--tries", "1", "--lock", "sim lock set-nx-px"}, 4 * time.Second},
	{"virtual time", []string{"run", "set-nx-px", "--lock", "sim lock set-nx-px"}, time.Second},
	{"conform", []string{"conform", "sim lock set-nx-px"}, 4 * time.Second},
	{"JSON", []string{"run", "set-nx-px", "gc-pause", "--json", "--tries", "1"}, 4 * time.Second},
	{"search", []string{"search", "gc-pause", "--for", "2s"}, 2 * time.Second},
	{"campaign", []string{"campaign", "start", "search", "gc-pause", "--runs", "10k", "--range", "500"}, 5 * time.Second},
}

// deaths are the ways in which a command ends. The last one closes its output.
var deaths = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL, syscall.SIGPIPE}

// endsWithin bounds how long a command may take to end in order.
const endsWithin = 20 * time.Second

// place is where one command runs: its files and temporary files, and what marks its processes.
type place struct{ mark, work, temporary string }

func newPlace(t *testing.T) place {
	t.Helper()
	temporary, err := os.MkdirTemp("/tmp", "t-") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temporary) })
	return place{mark: fmt.Sprintf("TORTURE_PLACE=%016x", rand.Uint64()), work: t.TempDir(), temporary: temporary}
}

func (p place) command(args ...string) *exec.Cmd {
	cmd := exec.Command("sim", args...)
	cmd.Dir = p.work
	cmd.Env = append(os.Environ(), p.mark, "TMPDIR="+p.temporary)
	cmd.WaitDelay = time.Second
	return cmd
}

// left lists what there still is of a command: processes and temporary files.
func (p place) left() (list []string) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range folders {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) || bytes.Contains(stat, []byte(") X ")) {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if bytes.Contains(environ, []byte(p.mark)) || strings.HasPrefix(cwd, p.work) || strings.HasPrefix(cwd, p.temporary) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			list = append(list, fmt.Sprintf("process %s: %s", filepath.Base(dir), bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	found, _ := filepath.Glob(filepath.Join(p.temporary, "*"))
	for _, file := range found {
		if !strings.HasPrefix(filepath.Base(file), "sim-conform-") { // logs that its user was told of
			list = append(list, file)
		}
	}
	return list
}

// shared lists what nobody has any more in the machine's shared memory: segments without a
// process, and files of libfaketime whose process is gone.
func shared() (list []string) {
	text, _ := os.ReadFile("/proc/sysvipc/shm")
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 6 && f[6] == "0" && syscall.Kill(atoi(f[4]), 0) != nil {
			list = append(list, "segment "+f[1])
		}
	}
	for _, pattern := range []string{"/dev/shm/faketime_shm_*", "/dev/shm/sem.faketime_sem_*", "/dev/shm/PostgreSQL.*"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if syscall.Kill(atoi(file[strings.LastIndexByte(file, '_')+1:]), 0) != nil {
				list = append(list, file)
			}
		}
	}
	return list
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1 << 30 // no process has it
	}
	return n
}

// soon waits for a condition for two seconds, and longer only where the machine is busy.
func soon(f func() bool) bool {
	for deadline := time.Now().Add(2 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return f()
		}
	}
	return true
}

// wrong are the verdicts below a folder that contradict what is expected.
func wrong(dir string) (list []string) {
	results, unreadable, err := trial.Results(dir)
	if err != nil && len(unreadable) == 0 {
		return nil // nothing was stored
	}
	for _, err := range unreadable {
		list = append(list, err.Error())
	}
	for _, r := range results {
		for i := range r.Variants {
			if r.Variants[i].Error != "" { // its verdicts say nothing
				continue
			}
			for _, p := range r.Variants[i].Properties {
				if !p.Met && p.Verdict != checker.Unknown && r.Variants[i].Lock == nil {
					list = append(list, fmt.Sprintf("%s/%s: %s %v: %s", r.Scenario, r.Variants[i].Name, p.Name, p.Verdict, p.Why))
				}
			}
		}
	}
	return list
}

// TestDeaths kills sim at any moment, in every way. Nothing is left two seconds after it has ended
// in order, and nothing after SIGKILL once sim doctor --clean, or another run, has been there.
func TestDeaths(t *testing.T) {
	type key struct{ victim, death string }
	var mu sync.Mutex
	count := make(map[key]int)
	before := shared()
	judged, killed := 0, 0
	slots := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for _, v := range victims {
		for _, s := range deaths {
			for range rounds() {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					p := newPlace(t)
					lost := strike(t, p, v.name, v.args, s, time.Duration(rand.Int64N(int64(v.lasts))))
					mu.Lock()
					defer mu.Unlock()
					count[key{v.name, s.String()}]++
					if s == syscall.SIGKILL {
						killed++
					}
					judged += lost
				})
			}
		}
	}
	wg.Wait()
	if !soon(func() bool {
		return !slices.ContainsFunc(shared(), func(s string) bool { return !slices.Contains(before, s) })
	}) {
		t.Errorf("left in shared memory: %q, before: %q", shared(), before)
	}
	total := 0
	for _, n := range count {
		total += n
	}
	t.Logf("%d deaths: %d commands, %d ways, %d rounds; %d of %d SIGKILLs left a run, each judged afterwards",
		total, len(victims), len(deaths), rounds(), judged, killed)
}

// strike lets a command die, and returns how many runs it left that could be judged afterwards.
func strike(t *testing.T, p place, name string, args []string, s syscall.Signal, after time.Duration) (judged int) {
	what := fmt.Sprintf("%s, %v after %v", name, s, after.Round(time.Millisecond))
	cmd := p.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return 0
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return 0
	}
	if s != syscall.SIGPIPE {
		go func() { _, _ = io.Copy(io.Discard, out) }()
	}
	time.Sleep(after)
	if s == syscall.SIGPIPE {
		_ = out.Close()
	} else {
		_ = cmd.Process.Signal(s)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(endsWithin):
		t.Errorf("%s: it does not end", what)
		_ = cmd.Process.Kill()
		<-ended // WaitDelay bounds what it waits for beside the process
	}
	if bytes.Contains(stderr.Bytes(), []byte("panic:")) || bytes.Contains(stderr.Bytes(), []byte("goroutine ")) {
		t.Errorf("%s: %s", what, &stderr)
	}
	if s == syscall.SIGKILL {
		if out, err := suite.CombinedOutput(t, p.command("doctor", "--clean")); err != nil {
			t.Errorf("%s: sim doctor --clean: %v: %s", what, err, out)
		}
		judged = judgeLeft(t, p, what)
	}
	if !soon(func() bool { return len(p.left()) == 0 }) {
		t.Errorf("%s: left: %q\n%s", what, p.left(), &stderr)
	}
	for _, line := range wrong(p.work) {
		t.Errorf("%s: %s", what, line)
	}
	return judged
}

// judgeLeft judges the runs that a killed command has left.
func judgeLeft(t *testing.T, p place, what string) (judged int) {
	started, _ := filepath.Glob(filepath.Join(p.work, "reports/*/*/started.json"))
	for _, file := range started {
		dir := filepath.Dir(file)
		if _, err := os.Stat(filepath.Join(dir, "result.json")); err == nil {
			continue // it had just ended
		}
		cmd := p.command("report", dir)
		out, err := suite.CombinedOutput(t, cmd)
		if code := cmd.ProcessState.ExitCode(); code != app.ExitUndecided && code != app.ExitUnexpected {
			t.Errorf("%s: sim report: %v: %s", what, err, out)
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "result.json"))
		var r report.Result
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil || !r.Interrupted {
			t.Errorf("%s: the run that was killed is interrupted: %v (%v)", what, r.Interrupted, err)
		}
		judged++
	}
	return judged
}

// TestScarceMachine runs where the disk is full, descriptors are few, or the processor is busy: a
// run that cannot be carried out says so, and no verdict is wrong.
func TestScarceMachine(t *testing.T) {
	for name, script := range map[string]string{
		"few descriptors":       `ulimit -n %d; exec sim run set-nx-px gc-pause consensus-tokens --tries 1`,
		"a full disk":           `mkdir reports && mount -t tmpfs -o size=%dk tmpfs reports && exec sim run set-nx-px gc-pause --tries 1`,
		"a full temporary disk": `mount -t tmpfs -o size=%dk tmpfs "$TMPDIR" && exec sim run set-nx-px durability-kill postgres --tries 1`,
	} {
		for _, n := range []int{20, 60, 150, 400, 1000} {
			p := newPlace(t)
			shell := []string{"sh", "-c", fmt.Sprintf(script, n)}
			if strings.Contains(script, "mount") {
				shell = append([]string{"unshare", "--mount"}, shell...) // nobody else sees this disk
			}
			cmd := p.command()
			cmd.Path, cmd.Args = shell[0], shell
			if path, err := exec.LookPath(shell[0]); err == nil {
				cmd.Path = path
			}
			out, err := suite.CombinedOutput(t, cmd)
			code := cmd.ProcessState.ExitCode()
			if bytes.Contains(out, []byte("unshare:")) || bytes.Contains(out, []byte("mount:")) {
				t.Run(name, func(t *testing.T) { suite.Lacks(t, "the right to mount a small disk: "+string(out)) })
				break
			}
			done := bytes.HasPrefix(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:], []byte("DONE"))
			if done != (code == app.ExitMet) || code == app.ExitUnexpected || bytes.Contains(out, []byte("goroutine ")) {
				t.Errorf("%s, %d: exit code %d (%v)\n%s", name, n, code, err, out)
			}
			if !soon(func() bool { return len(p.left()) == 0 }) {
				t.Errorf("%s, %d: left: %q", name, n, p.left())
			}
			for _, line := range wrong(p.work) {
				t.Errorf("%s, %d: %s", name, n, line)
			}
			t.Logf("%s, %d: exit code %d", name, n, code)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for range 8 {
		busy.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	p := newPlace(t)
	out, err := suite.CombinedOutput(t, p.command("run", "all", "--tag", "kleppmann"))
	cancel()
	busy.Wait()
	if list := wrong(p.work); len(list) > 0 || bytes.Contains(out, []byte("goroutine ")) {
		t.Errorf("a busy machine: %q (%v)\n%s", list, err, out)
	}
}

// TestHostileFiles reads files that somebody has spoilt: scenarios, histories and results. None
// makes sim panic, or run for ever.
func TestHostileFiles(t *testing.T) {
	lasts := time.Duration(rounds()) * 6 * time.Second
	var good struct{ scenarios, histories, results [][]byte }
	list, err := scenario.LoadAll("all")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		good.scenarios = append(good.scenarios, []byte(s.Text))
	}
	out := t.TempDir()
	for _, s := range list[:min(len(list), 12)] {
		if _, err := trial.Run(t.Context(), s, trial.Options{World: request.Virtual, Out: out, Now: time.Now}); err != nil {
			t.Fatal(err)
		}
	}
	_ = filepath.WalkDir(out, func(path string, _ fs.DirEntry, _ error) error {
		text, err := os.ReadFile(path)
		switch {
		case err != nil:
		case filepath.Base(path) == "history.jsonl":
			good.histories = append(good.histories, text)
		case filepath.Base(path) == "result.json":
			good.results = append(good.results, text)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var scenarios, ran, histories, results, judged int
	r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for ctx.Err() == nil {
		switch text := spoil(r, pick(r, good.scenarios)); r.IntN(3) {
		case 0:
			scenarios++
			s, err := scenario.Parse("spoilt.yaml", text)
			if err != nil || len(s.Text) > 1<<16 {
				continue
			}
			ran++
			_, _ = trial.Run(ctx, s, trial.Options{World: request.Virtual, Out: filepath.Join(out, "spoilt"), Now: time.Now, Timeout: time.Second})
			_ = os.RemoveAll(filepath.Join(out, "spoilt"))
		case 1:
			histories++
			text = spoil(r, pick(r, good.histories))
			h, err := history.Decode(bytes.NewReader(text), 0)
			if err != nil {
				continue
			}
			judged++
			_ = checker.Judge(ctx, h, checker.Properties(), checker.Options{Timeout: time.Second})
		default:
			results++
			r, err := report.ReadJSON(bytes.NewReader(spoil(r, pick(r, good.results))))
			if err != nil {
				continue
			}
			for _, write := range []func(io.Writer, *report.Result) error{report.WriteHTML, report.WriteJSON} {
				_ = write(io.Discard, r)
			}
			_ = report.WriteText(io.Discard, r, "", terminal.Options{})
		}
	}
	t.Logf("%d scenarios (%d of them could be run), %d histories (%d could be judged), %d results", scenarios, ran, histories, judged, results)
}

func pick(r *rand.Rand, list [][]byte) []byte { return list[r.IntN(len(list))] }

// spoil changes a text: single bytes, words for others, numbers, parts left out, doubled or moved.
func spoil(r *rand.Rand, text []byte) []byte {
	text = bytes.Clone(text)
	for range 1 + r.IntN(4) {
		if len(text) < 2 {
			return text
		}
		a := r.IntN(len(text))
		b := min(len(text), a+1+r.IntN(40))
		part := bytes.Clone(text[a:b])
		at := r.IntN(len(text))
		switch r.IntN(7) {
		case 0:
			text[a] = byte(r.IntN(256))
		case 1:
			text = slices.Delete(text, a, b)
		case 2:
			text = slices.Insert(text, at, part...)
		case 3:
			copy(text[a:b], text[at:])
		case 4:
			text = slices.Replace(text, a, b, []byte(hostile[r.IntN(len(hostile))])...)
		case 5:
			digits := bytes.IndexAny(text[a:], "0123456789")
			if digits >= 0 {
				text = slices.Replace(text, a+digits, a+digits+1, []byte(numbers[r.IntN(len(numbers))])...)
			}
		default:
			lines := bytes.SplitAfter(text, []byte("\n"))
			i, j := r.IntN(len(lines)), r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
			text = bytes.Join(lines, nil)
		}
	}
	return text
}

var (
	hostile = []string{"\x00", "\x1b[2J", "\xff\xfe", "&a [*a, *a]",
		"!!binary x", "{}", "[]", "null", "true", "-1", "~", "'", `"`, "<<: *a", "\u202e", "..", "/dev/full",
		"<script>", "9223372036854775808", "1e999", "NaN", "0x10", "2024-01-01", strings.Repeat("[", 500), strings.Repeat("9", 400)}
	numbers = []string{"0", "-1", "9223372036854775807", "-9223372036854775808", "1e18", "00", "4294967296", "0.1"}
)
