//go:build linux && amd64

package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestCallNames: the table has the names and numbers that golang.org/x/sys has, and the last one.
func TestCallNames(t *testing.T) {
	t.Parallel()
	dir, err := suite.Output(t, exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_amd64.go"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]string{}
	for _, m := range regexp.MustCompile(`SYS_([A-Z0-9_]+) += ([0-9]+)`).FindAllStringSubmatch(string(text), -1) {
		nr, _ := strconv.Atoi(m[2])
		known[nr] = strings.ToLower(m[1])
	}
	if len(known) < 300 || len(known) != len(table().names) {
		t.Errorf("%d calls have names, %d in golang.org/x/sys", len(table().names), len(known))
	}
	for nr, name := range known {
		if CallName(nr) != name {
			t.Errorf("call %d is %q, in golang.org/x/sys %q", nr, CallName(nr), name)
		}
		if nr > lastCall {
			t.Errorf("%s has the number %d, after the last one, %d", name, nr, lastCall)
		}
	}
	if got := CallName(9999); got != "number 9999" {
		t.Errorf("a call without a name is %q", got)
	}
	if got := CallName(unix.SYS_FUTEX | x32); got != "futex of x32" {
		t.Errorf("a call of x32 is %q", got)
	}
}

// TestHarmlessCallsExist: each is named once, by a name that a call has.
func TestHarmlessCallsExist(t *testing.T) {
	t.Parallel()
	native := strings.Fields(harmless)
	for i, name := range native {
		if slices.Contains(native[:i], name) {
			t.Errorf("%s is there twice", name)
		}
		if nr := slices.Index(strings.Fields(earlier), name); nr < 0 && !slices.Contains(strings.Fields(later), name) {
			t.Errorf("there is no call %s", name)
		}
	}
}

// data is what a filter looks at.
type data struct {
	nr, arch uint32
	args     [6]uint64
}

// run carries a filter out, as seccomp(2) and bpf(4) define it.
func run(t *testing.T, filter []unix.SockFilter, d data) uint32 {
	t.Helper()
	words := []uint32{d.nr, d.arch, 0, 0}
	for _, a := range d.args {
		words = append(words, uint32(a), uint32(a>>32))
	}
	var acc uint32
	for at := 0; at < len(filter); at++ {
		i := filter[at]
		holds := false
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = words[i.K/4]
			continue
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		case unix.BPF_JMP | unix.BPF_JA:
			at += int(i.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = acc == i.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = acc >= i.K
		default:
			t.Fatalf("instruction %d is %+v", at, i)
		}
		if holds {
			at += int(i.Jt)
		} else {
			at += int(i.Jf)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// TestFilter: for each call the filter says what the list of harmless calls says, and what Notify asks for.
func TestFilter(t *testing.T) {
	t.Parallel()
	const native, told = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_USER_NOTIF
	for _, notify := range [][]int{nil, {unix.SYS_GETTID, unix.SYS_SENDMSG, unix.SYS_FCNTL, lastCall, unix.SYS_READ}} {
		filter := Filter(notify...)
		if len(filter) > 1024 {
			t.Errorf("%d instructions are more than the launcher has room for", len(filter))
		}
		check := func(want uint32, nr, arch uint32, args ...uint64) {
			t.Helper()
			d := data{nr: nr, arch: arch}
			copy(d.args[:], args)
			if got := run(t, filter, d); got != want {
				t.Errorf("with %v, %s %#x of %#x: %#x, want %#x", notify, CallName(int(nr)), args, arch, got, want)
			}
		}
		for nr := range uint32(1000) {
			want := uint32(told)
			if slices.Contains(strings.Fields(harmless), CallName(int(nr))) && !slices.Contains(notify, int(nr)) {
				want = native
			}
			check(want, nr, unix.AUDIT_ARCH_X86_64, 0, unix.F_GETFD) // of fcntl
			check(told, nr, unix.AUDIT_ARCH_I386)
			check(told, nr|x32, unix.AUDIT_ARCH_X86_64)
		}
		asked := uint32(native)
		if notify != nil {
			asked = told
		}
		check(told, ^uint32(0), unix.AUDIT_ARCH_X86_64)
		check(asked, unix.SYS_FCNTL, unix.AUDIT_ARCH_X86_64, 0, unix.F_SETLK)
		for _, command := range []uint64{unix.F_SETLKW, unix.F_OFD_SETLKW, unix.F_DUPFD, unix.F_DUPFD_CLOEXEC} {
			check(told, unix.SYS_FCNTL, unix.AUDIT_ARCH_X86_64, 0, command)
		}
		for _, nr := range []uint32{unix.SYS_EXECVE, unix.SYS_SENDMSG} {
			check(native, nr, unix.AUDIT_ARCH_X86_64, 0, 0, 0, pass)
		}
		for _, other := range []uint64{pass & 0xffffffff, pass >> 32 << 32, pass + 1} {
			check(told, unix.SYS_EXECVE, unix.AUDIT_ARCH_X86_64, 0, 0, 0, other)
			check(asked, unix.SYS_SENDMSG, unix.AUDIT_ARCH_X86_64, 0, 0, 0, other)
		}
		check(told, unix.SYS_EXECVEAT, unix.AUDIT_ARCH_X86_64, 0, 0, 0, pass)
	}
}
