//go:build linux && amd64

package launch

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// What this program does as one that the tests start: it tells of itself, or of the machine.
const (
	childVariable = "LAUNCH_TEST_CHILD"
	tells         = "tells"
	examines      = "examines"
	asks          = "asks"
)

// TestMain is also the program that the tests start.
func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "":
		os.Exit(suite.Live(m).Run())
	case examines:
		tellOfMachine()
	case asks:
		n, _ := strconv.Atoi(os.Getenv("N"))
		for range n {
			_, _, _ = unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
		}
	default:
		tellOfItself()
	}
}

// found is what a program finds when it begins.
type found struct {
	Args, Env           []string
	Dir                 string
	Files               []string
	PID, Session, Umask int
	Personality         string
	Limits              map[string]uint64
	Ignored             string
}

func tellOfItself() {
	f := found{Args: os.Args, Env: os.Environ(), PID: os.Getpid(), Umask: syscall.Umask(0), Limits: map[string]uint64{}}
	f.Dir, _ = os.Getwd()
	f.Session, _ = unix.Getsid(0)
	for fd := range 300 {
		path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		ofGo := strings.HasPrefix(path, "anon_inode:[event") || strings.HasPrefix(path, "/sys/fs/cgroup/") // its runtime's own
		if err == nil && !ofGo {
			f.Files = append(f.Files, fmt.Sprint(fd))
		}
	}
	text, _ := os.ReadFile("/proc/self/personality")
	f.Personality = strings.TrimSpace(string(text))
	for name, resource := range map[string]int{"core": unix.RLIMIT_CORE, "stack": unix.RLIMIT_STACK, "data": unix.RLIMIT_DATA} {
		var l unix.Rlimit
		_ = unix.Getrlimit(resource, &l)
		f.Limits[name] = l.Cur
	}
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "SigIgn:\t")
	f.Ignored, _, _ = strings.Cut(rest, "\n")
	_ = json.NewEncoder(os.Stdout).Encode(f)
}

// letRun lets the kernel carry out all calls of a program until it has ended, and counts them.
func letRun(t testing.TB, p *Process) map[string]int {
	t.Helper()
	calls := map[string]int{}
	for {
		fds := []unix.PollFd{{Fd: int32(p.Listener), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(suite.Patience/time.Millisecond))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case n != 1 || err != nil:
			t.Fatalf("after %v nothing comes from the program: %v", calls, err)
		case fds[0].Revents&unix.POLLIN == 0:
			return calls
		}
		call, e := p.Receive()
		if e != 0 {
			continue
		}
		calls[CallName(int(call.NR))]++
		if e := p.Answer(Response{ID: call.ID, Flags: Continue}); e != 0 && e != unix.ENOENT {
			t.Fatal(e)
		}
	}
}

// needsListener skips a test where no program can be started and looked into.
func needsListener(t *testing.T) {
	t.Helper()
	if _, tried, _ := try(); tried.err != nil {
		suite.Lacks(t, explain(tried, observe()).Err.Error())
	}
}

// begin starts this program as another one. Its output is read once it has ended.
func begin(t *testing.T, as string, o Options) (*Process, func() []byte) {
	t.Helper()
	needsListener(t)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	defer write.Close()
	o.Path, o.Args, o.Env = self, []string{"child", "", "two words"}, []string{childVariable + "=" + as, "GOMAXPROCS=1"}
	o.Files = [3]uintptr{0, write.Fd(), 2}
	p, err := Start(o)
	if o.Namespace != Shared && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC)) {
		suite.Lacks(t, "process numbers of a program's own: "+err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.End)
	return p, func() []byte {
		text, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// TestStart: a program begins with what it was given and nothing else, and asks for each call that is not harmless.
// TestStartWithAnyDescriptors hands over descriptors of all numbers about that of the launcher.
func TestStartWithAnyDescriptors(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	file, err := memfd()
	if err != nil {
		t.Fatal(err)
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(null)
	for number := file - 10; number < file+10; number++ {
		fd, err := unix.FcntlInt(uintptr(null), unix.F_DUPFD_CLOEXEC, number)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Start(Options{Path: "/bin/sh", Args: []string{"sh"}, Files: [3]uintptr{uintptr(fd), uintptr(fd), uintptr(fd)}})
		_ = unix.Close(fd)
		if err != nil {
			t.Errorf("with descriptor %d, where the launcher's is %d: %v", fd, file, err)
			continue
		}
		p.End()
	}
}

func TestStart(t *testing.T) {
	for name, namespace := range map[string]Namespace{"shared": Shared, "own": Own, "own of user": OwnOfUser} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			p, out := begin(t, tells, Options{Dir: dir, Memory: 1 << 30, Namespace: namespace, Notify: []int{unix.SYS_FCNTL}})
			before := p.PID
			calls := letRun(t, p)
			var got found
			if text := out(); json.Unmarshal(text, &got) != nil {
				t.Fatalf("the program says %q", text)
			}
			if calls["execve"] != 0 || calls["exit_group"] != 1 || calls["read"] == 0 || calls["mmap"] != 0 || calls["fcntl"] == 0 {
				t.Errorf("these calls were told: %v", calls)
			}
			want := found{Args: []string{"child", "", "two words"}, Env: []string{childVariable + "=" + tells, "GOMAXPROCS=1"}, Dir: dir,
				Files: []string{"0", "1", "2"}, PID: before, Session: before, Umask: 0o022, Personality: "00040000",
				Limits: map[string]uint64{"core": 0, "stack": 8 << 20, "data": 1 << 30}, Ignored: "0000000000000000"}
			if namespace != Shared {
				want.PID, want.Session = 1, 1
			}
			if p.ASLR {
				want.Personality = "00000000"
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the program finds\n%+v, want\n%+v", got, want)
			}
		})
	}
}

// TestDiesWithItsThread: a program whose starter has gone is killed.
func TestDiesWithItsThread(t *testing.T) {
	needsListener(t)
	ended := make(chan *Process, 1)
	var starter func()
	starter = func() { // its thread ends with it, because it is still locked
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // but not the first thread
			done := make(chan struct{})
			go func() { starter(); close(done) }()
			<-done
			runtime.UnlockOSThread()
			return
		}
		self, _ := os.Executable()
		p, err := Start(Options{Path: self, Args: []string{"child"}, Env: []string{childVariable + "=" + tells}, Files: [3]uintptr{0, 1, 2}})
		if err != nil {
			t.Error(err)
		}
		ended <- p
	}
	go starter()
	p := suite.Receive(t, "a program", ended)
	if p == nil {
		return
	}
	defer p.End()
	suite.Eventually(t, "the end of a program whose starter has gone", func() bool {
		fds := []unix.PollFd{{Fd: int32(p.PIDFD), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return n == 1 && err == nil
	})
}

// TestStartLeavesNothing: many programs, some of which cannot be started, leave no process, thread or descriptor.
func TestStartLeavesNothing(t *testing.T) {
	needsListener(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	count := func(dir string) int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	var before [2]int
	for i := range suite.Amount(t, 1000, 50) {
		for _, dir := range []string{"", "/no such folder"} {
			p, err := Start(Options{Path: self, Args: []string{"child"}, Env: []string{childVariable + "=" + tells}, Dir: dir,
				Files: [3]uintptr{0, 1, 2}})
			if (err == nil) != (dir == "") {
				t.Fatal(err)
			}
			if err == nil {
				p.End()
			}
		}
		now := [2]int{count("/proc/self/fd"), count("/proc/self/task")}
		if i == 10 {
			before = now
		}
		if i > 10 && (now[0] > before[0] || now[1] > before[1]+4) {
			t.Fatalf("after %d programs %v descriptors and threads, after 10 there were %v", i, now, before)
		}
	}
	if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("there are processes left: %v", err)
	}
}

// TestInspect: what cannot run in virtual time is refused by a plain reason.
func TestInspect(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, text []byte) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, text, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	arm := slices.Clone(program)
	arm[18] = byte(elf.EM_AARCH64)
	old := slices.Clone(program[:4096])
	copy(old, elf32())
	setuid := write("setuid", 0o755|os.ModeSetuid, program)
	for path, want := range map[string]string{
		self: "", write("script", 0o755, []byte("#! "+self+" -x\n")): "",
		dir: "not an executable file", write("text", 0o644, program): "not an executable file",
		write("words", 0o755, []byte("hello\n")): "neither a program nor a script", write("empty", 0o755, nil): "neither",
		setuid: "setuid program", write("of setuid", 0o755, []byte("#!"+setuid+"\n")): "setuid program",
		write("arm", 0o755, arm): "a program for aarch64", write("old", 0o755, old): "a program for 32-bit x86",
		filepath.Join(dir, "none"): "no such file", write("of none", 0o755, []byte("#!/no/such/interpreter\n")): "/no/such/interpreter",
		write("loop", 0o755, []byte("#!"+filepath.Join(dir, "loop")+"\n")): "script of a script",
	} {
		_, err := Inspect(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
	for _, path := range []string{"launcher/launcher", "/bin/sh"} {
		file, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		libraries, _ := file.ImportedLibraries()
		if static, err := Inspect(path); err != nil || static != (len(libraries) == 0) {
			t.Errorf("%s with the libraries %v: static is %t, %v", path, libraries, static, err)
		}
	}
	if _, err := Start(Options{Path: "sh", Args: []string{"sh"}}); err == nil || !strings.Contains(err.Error(), "not absolute") {
		t.Errorf("a path that depends on the folder is taken: %v", err)
	}
}

// elf32 is the head of a 32-bit program.
func elf32() []byte {
	b := make([]byte, 52)
	copy(b, elf.ELFMAG)
	b[elf.EI_CLASS], b[elf.EI_DATA], b[elf.EI_VERSION] = byte(elf.ELFCLASS32), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	b[16], b[18], b[20], b[40] = byte(elf.ET_EXEC), byte(elf.EM_386), 1, 52
	return b
}
