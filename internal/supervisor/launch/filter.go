//go:build linux && amd64

package launch

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Where a filter finds a call's number, the kind of code that made it, and its arguments of 8 bytes.
const (
	numberAt = 0
	archAt   = 4
	argsAt   = 16
)

// pass lets the launcher's last calls through: see PASS in launcher.c.
const pass = 0x6c61756e63686572

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func ret(verdict uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
}

// unless skips instructions if the comparison does not hold.
func unless(comparison uint16, k uint32, skipped int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: k, Jf: uint8(skipped)}
}

var (
	allow = ret(unix.SECCOMP_RET_ALLOW)
	tell  = ret(unix.SECCOMP_RET_USER_NOTIF)
)

// Filter tells the kernel which calls a program makes natively: the harmless ones but for those in `notify`. Of all others the
// listener is told.
//
// When a filter is installed the kernel finds out which calls it allows whatever their arguments, and does not ask it again about
// those. For the others it is a search tree over ranges of numbers.
func Filter(notify ...int) []unix.SockFilter {
	var branches []branch
	for nr := 0; nr <= lastCall+1; nr++ { // what comes after the last one is not known
		code := decide(nr, notify)
		if nr == 0 || !slices.Equal(code, branches[len(branches)-1].code) {
			branches = append(branches, branch{uint32(nr), code})
		}
	}
	// The calls of 32-bit code have other numbers.
	head := []unix.SockFilter{load(archAt), unless(unix.BPF_JEQ, unix.AUDIT_ARCH_X86_64, 1), unless(unix.BPF_JA, 1, 0), tell, load(numberAt)}
	return append(head, tree(branches)...)
}

// decide is what follows once the number of a call is known.
func decide(nr int, notify []int) []unix.SockFilter {
	told := !Harmless(nr) || slices.Contains(notify, nr)
	switch {
	case nr == unix.SYS_EXECVE, nr == unix.SYS_SENDMSG && told:
		const low, high = pass & 0xffffffff, pass >> 32
		return []unix.SockFilter{load(argsAt + 3*8), unless(unix.BPF_JEQ, low, 3), load(argsAt + 3*8 + 4), unless(unix.BPF_JEQ, high, 1),
			allow, tell}
	case nr == unix.SYS_FCNTL && !told: // it waits for a lock of a file, or makes a descriptor
		code := []unix.SockFilter{load(argsAt + 1*8)}
		for _, command := range []uint32{unix.F_SETLKW, unix.F_OFD_SETLKW, unix.F_DUPFD, unix.F_DUPFD_CLOEXEC} {
			code = append(code, unless(unix.BPF_JEQ, command, 1), tell)
		}
		return append(code, allow)
	case told:
		return []unix.SockFilter{tell}
	}
	return []unix.SockFilter{allow}
}

// branch is what is done from one number of calls on.
type branch struct {
	from uint32
	code []unix.SockFilter
}

// tree finds the branch of a call's number.
func tree(branches []branch) []unix.SockFilter {
	if len(branches) == 1 {
		return branches[0].code
	}
	middle := len(branches) / 2
	less, more := tree(branches[:middle]), tree(branches[middle:])
	if len(less) > 255 {
		panic("launch: the filter has more calls to tell apart than its jumps reach")
	}
	turn := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: branches[middle].from, Jt: uint8(len(less))}
	return slices.Concat([]unix.SockFilter{turn}, less, more)
}
