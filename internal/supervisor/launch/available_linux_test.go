//go:build amd64

package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestAvailable: a listener, memory that can be read and written, and process numbers are to be had on this machine, or it is said
// what is missing.
func TestAvailable(t *testing.T) {
	checks := Available()
	for _, c := range checks {
		t.Logf("%+v", c)
	}
	if err := Missing(checks); err != nil {
		suite.Lacks(t, err.Error())
	}
	if len(checks) != 6 {
		t.Errorf("%d checks", len(checks))
	}
}

// report is what an ordinary user finds.
type report struct {
	UID     int
	Rights  string
	Problem string
	ASLR    bool
}

func tellOfMachine() {
	if os.Getenv(noexecVariable) != "" && os.WriteFile("/proc/sys/vm/memfd_noexec", []byte("2"), 0) != nil {
		return
	}
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "CapEff:\t")
	r := report{UID: os.Getuid()}
	r.Rights, _, _ = strings.Cut(rest, "\n")
	t := attempt(Shared)
	if r.ASLR = t.aslr; t.err != nil {
		r.Problem = fmt.Sprint(explain(t, observe()).Err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(r)
}

// TestOrdinaryUserWithoutNamespace: who has no rights at all and makes no namespace has a listener, too.
func TestOrdinaryUserWithoutNamespace(t *testing.T) {
	needsListener(t)
	cmd := exec.Command("/proc/self/exe") // nobody else may look into the folder of this program
	cmd.Env = append(os.Environ(), childVariable+"="+examines)
	const nobody = 65534
	want := report{UID: os.Getuid(), Rights: "0000000000000000"}
	if want.UID == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		want.UID = nobody
	}
	out, err := suite.Output(t, cmd)
	if errors.Is(err, unix.EPERM) {
		suite.Lacks(t, "the right to run a program as somebody else")
	}
	var got report
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	want.ASLR = got.ASLR // Docker's default profile keeps it on
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("an ordinary user finds %+v, want %+v", got, want)
	}
}

// noexecVariable says that files in memory may no more be run in this program's namespace of process numbers.
const noexecVariable = "LAUNCH_TEST_NOEXEC"

// TestFilesInMemoryMayNotRun: where the launcher's file may not be run, it is said why.
func TestFilesInMemoryMayNotRun(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"="+examines, noexecVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	out, err := suite.Output(t, cmd)
	if errors.Is(err, unix.EPERM) || err == nil && len(out) == 0 {
		suite.Lacks(t, "the right to forbid that files in memory are run, or a kernel that can")
	}
	var got report
	if err != nil || json.Unmarshal(out, &got) != nil || !strings.Contains(got.Problem, "vm.memfd_noexec is 2") {
		t.Errorf("it finds %s (%v)", out, err)
	}
}

// TestListenerIsTaken: a program whose calls somebody listens to already cannot have a listener, and is told so.
func TestListenerIsTaken(t *testing.T) {
	p, out := begin(t, examines, Options{})
	letRun(t, p)
	var got report
	if text := out(); json.Unmarshal(text, &got) != nil || !strings.Contains(got.Problem, "listens to its calls already") {
		t.Errorf("a program under a filter finds %s", text)
	}
}

// TestExplain: each way in which a machine refuses is told apart, with what to do about it.
func TestExplain(t *testing.T) {
	t.Parallel()
	modern := system{release: "6.8.0-31-generic"}
	of := func(step int, e unix.Errno) trial { return trial{part: ofListener, err: &stepError{step, e}} }
	memory := func(what string, e unix.Errno) trial {
		return trial{part: ofMemory, err: fmt.Errorf("%s: %w", what, e)}
	}
	for _, c := range []struct {
		trial      trial
		system     system
		what, hint string
	}{
		{of(ofFilter, unix.EINVAL), system{release: "5.15.0-105"}, "Linux 5.15.0-105 is too old: programs in virtual time need 5.19",
			"newer kernel"},
		{of(ofFilter, unix.EINVAL), system{release: "4.4.0", version: "#1 SMP Sun Jan 10 15:06:54 PST 2016"}, "gVisor has no listener", "runsc"},
		{of(ofFilter, unix.EBUSY), modern, "LXD and sysbox", "on the host"},
		{of(ofFilter, unix.EPERM), modern, "forbids seccomp", "seccomp=unconfined"},
		{of(ofFilter, unix.EINVAL), modern, "failed to install the filter of its calls: invalid argument", "--world live"},
		{trial{part: ofListener, err: fmt.Errorf("failed to start the launcher: %w", unix.EACCES)}, system{memfdNoexec: "2"},
			"vm.memfd_noexec is 2", "sysctl vm.memfd_noexec=0"},
		{memory("its memory cannot be opened", unix.EPERM), system{ptraceScope: "2"}, "kernel.yama.ptrace_scope is 2", "--cap-add SYS_PTRACE"},
		{memory("its memory cannot be opened", unix.EACCES), system{ptraceScope: "1"}, "may not look into the programs", "--cap-add SYS_PTRACE"},
		{memory(forced, unix.EIO), modern, "does not let anybody write the code", "proc_mem.force_override=always"},
	} {
		got := explain(c.trial, c.system)
		if !strings.Contains(got.Err.Error(), c.what) || !strings.Contains(got.Hint, c.hint) || !strings.Contains(got.Hint, "--world live") {
			t.Errorf("%v on %+v: %v\nhint: %s\nwant %q and %q", c.trial.err, c.system, got.Err, got.Hint, c.what, c.hint)
		}
		if !errors.Is(got.Err, errors.Unwrap(c.trial.err)) {
			t.Errorf("%v hides %v", got.Err, c.trial.err)
		}
	}
}

// TestNumbers: why programs have no process numbers of their own is told apart.
func TestNumbers(t *testing.T) {
	t.Parallel()
	refused := map[Namespace]error{OwnOfUser: fmt.Errorf("failed to start the launcher: %w", unix.EPERM)}
	for want, s := range map[string]system{"max_user_namespaces": {maxUserNamespaces: "0", apparmorUsers: "1"},
		"AppArmor": {apparmorUsers: "1", maxUserNamespaces: "1000"}, "unprivileged_userns_clone": {unprivilegedUsers: "0"}, "Docker": {}} {
		if got := numbers(Shared, refused, s).Found; !strings.Contains(got, want) {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
}
