//go:build linux && amd64

package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// disk is what is known of a host's files: they are native, and what is on the disk is how much of each was synced.
type disk struct {
	synced map[fileID]int64
	// created are files that programs have made.
	created map[string]bool
	// vague is why that is not known.
	vague string
}

// fileID tells a file from all others, also from one that is gone and had the same inode.
type fileID struct {
	inode uint64
	born  unix.StatxTimestamp
}

// identify finds a regular file.
func identify(path string) (id fileID, size int64, ok bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_TYPE|unix.STATX_INO|unix.STATX_SIZE|unix.STATX_BTIME, &st)
	return fileID{st.Ino, st.Btime}, int64(st.Size), err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// sync lets all be on the disk. What that is we do not know.
func (t *thread) sync() {
	t.host().disk.vague = "a program has called sync"
	t.answer(0)
}

// fsync notes what is on the disk. Nothing has to be on a real one.
func (t *thread) fsync() {
	if id, size, ok := identify(fmt.Sprintf("/proc/%d/fd/%d", t.p.pid, int32(t.call.Args[0]))); ok {
		d := &t.host().disk
		if d.synced == nil {
			d.synced = make(map[fileID]int64)
		}
		d.synced[id] = size
	}
	t.answer(0)
}

// CutPower takes from the files of a folder what was appended and not synced, and all from those that programs have made and never
// synced. The host's programs must have ended.
func (h *Host) CutPower(dir string) error {
	if h.disk.vague != "" {
		return errors.New("it is not known what is on the disk: " + h.disk.vague)
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		id, size, ok := identify(path)
		n, synced := h.disk.synced[id]
		if ok && (synced || h.disk.created[path]) && n < size {
			return os.Truncate(path, n)
		}
		return nil
	})
}

// Shortened tells that somebody has taken the end of a file away, down to a length. More of it than that is not on the disk, however long
// it becomes again.
func (h *Host) Shortened(path string, length int64) {
	if id, _, ok := identify(path); ok && h.disk.synced[id] > length {
		h.disk.synced[id] = length
	}
}

// Empty empties a file of the host, as if it had just been made.
func (h *Host) Empty(path string) error {
	if id, _, ok := identify(path); ok {
		delete(h.disk.synced, id)
	}
	return os.Truncate(path, 0)
}

// emptyFolder opens a folder in which there is nothing, and never will be.
func emptyFolder() (*file, error) {
	dir, err := os.MkdirTemp("", "sim")
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return newFile(fd), errors.Join(err, os.Remove(dir))
}

// open gives a program what is the same on all machines in the place of some files.
func (t *thread) open() {
	t.p.program.opened++
	at, flags := t.call.Args[1], t.call.Args[2]
	switch t.call.NR {
	case unix.SYS_OPEN:
		at, flags = t.call.Args[0], t.call.Args[1]
	case unix.SYS_CREAT:
		at, flags = t.call.Args[0], unix.O_CREAT
	}
	longest := 64 // of those that are not native
	if flags&unix.O_CREAT != 0 {
		longest = unix.PathMax
	}
	path, ok := t.p.readText(at, longest)
	if !ok {
		t.goNative()
		return
	}
	if slices.Contains(t.p.program.Lacks, path) {
		t.fail(unix.ENOENT)
		return
	}
	if flags&unix.O_CREAT != 0 {
		t.noteCreated(path)
	}
	if flags&(unix.O_SYNC|unix.O_DSYNC) != 0 {
		t.host().disk.vague = "a program has opened a file that is always synced"
	}
	var special func() (*file, error)
	switch path {
	case "/dev/urandom", "/dev/random":
		special = randomPipe
	case "/proc", "/proc/": // what runs on this machine is not the program's business
		special = emptyFolder
	}
	if special != nil {
		f, err := special()
		if err != nil {
			t.failWith(err)
			return
		}
		t.handFile(f, flags&unix.O_CLOEXEC != 0)
		f.drop()
		return
	}
	switch {
	case strings.HasPrefix(path, "/tmp/hsperfdata_"): // JVMs look there at each other
		t.fail(unix.EACCES)
		return
	case strings.HasPrefix(path, "/sys/fs/cgroup/"): // how much memory a JVM takes is not to depend on this machine
		t.fail(unix.ENOENT)
		return
	}
	if own, ok := t.p.program.ownPath(path); ok && flags&unix.O_CREAT == 0 {
		if fd, err := unix.Open(own, int(flags)|unix.O_CLOEXEC, 0); err != nil {
			t.failWith(err)
		} else {
			t.hand(fd, flags&unix.O_CLOEXEC != 0)
			closeFD(fd)
		}
		return
	}
	text, ours := t.textOf(path)
	if !ours {
		t.goNative()
		return
	}
	fd, err := unix.MemfdCreate("sim", unix.MFD_CLOEXEC)
	if err != nil {
		t.failWith(err)
		return
	}
	defer closeFD(fd)
	if _, err = unix.Write(fd, text); err == nil {
		_, err = unix.Seek(fd, 0, 0)
	}
	if err != nil {
		t.failWith(err)
		return
	}
	t.hand(fd, flags&unix.O_CLOEXEC != 0)
}

// noteCreated notes a file that an open makes.
func (t *thread) noteCreated(path string) {
	if !filepath.IsAbs(path) {
		from := "cwd"
		if fd := int32(t.call.Args[0]); t.call.NR == unix.SYS_OPENAT && fd != unix.AT_FDCWD {
			from = "fd/" + strconv.Itoa(int(fd))
		}
		dir, err := os.Readlink("/proc/" + strconv.Itoa(t.p.pid) + "/" + from)
		if err != nil {
			return
		}
		path = filepath.Join(dir, path)
	}
	d := &t.host().disk
	if _, err := os.Lstat(path); err == nil || len(d.created) >= mostFiles {
		return
	}
	if d.created == nil {
		d.created = make(map[string]bool)
	}
	d.created[filepath.Clean(path)] = true
}

// mostFiles bounds how many files are kept in mind.
const mostFiles = 100_000

// textOf is what a file says that is the world's, not the machine's.
func (t *thread) textOf(path string) (text []byte, ours bool) {
	switch path {
	case "/etc/hosts":
		return t.host().s.hostsFile(), true
	case "/etc/resolv.conf", "/etc/host.conf", "/etc/gai.conf":
		return nil, true
	case "/etc/nsswitch.conf":
		return []byte("passwd: files\ngroup: files\nhosts: files\n"), true
	case "/proc/cpuinfo":
		return []byte("processor\t: 0\nvendor_id\t: virtual\nmodel name\t: virtual\nflags\t\t: fpu tsc cx8 cmov mmx sse sse2\n\n"), true
	case "/proc/meminfo":
		return []byte("MemTotal:        4194304 kB\nMemFree:         2097152 kB\nMemAvailable:    2097152 kB\n" +
			"Buffers:               0 kB\nCached:                0 kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n"), true
	case "/etc/hostname", "/proc/sys/kernel/hostname":
		return []byte(t.host().Name + "\n"), true
	case "/proc/self/cgroup":
		return []byte("0::/\n"), true
	case "/proc/self/statm":
		return []byte("20000 3000 1000 100 0 2000 0\n"), true
	case "/proc/sys/kernel/random/uuid", "/proc/sys/kernel/random/boot_id":
		b := make([]byte, 16)
		t.p.program.random(b)
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return fmt.Appendf(nil, "%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), true
	case "/proc/loadavg":
		return []byte("0.00 0.00 0.00 1/1 1\n"), true
	case "/proc/uptime":
		seconds := t.host().monotonic.at(t.now()) / 1e9
		return []byte(strconv.FormatInt(seconds, 10) + ".00 0.00\n"), true
	case "/proc/stat":
		return []byte("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"), true
	case "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/present":
		return []byte("0\n"), true
	}
	if rest, ok := strings.CutPrefix(path, "/proc/"); ok && strings.HasSuffix(rest, "/stat") && strings.Count(rest, "/") == 1 {
		return []byte("1 (program) S 0 1 1 0 -1 4194560 2000 0 10 0 5 5 0 0 20 0 5 0 1000 80000000 3000 18446744073709551615 " +
			"1 1 0 0 0 0 0 4097 1088 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"), true
	}
	return nil, false
}

// hostsFile names the hosts of the world, by their addresses.
func (s *Supervisor) hostsFile() []byte {
	text := []byte("127.0.0.1 localhost\n")
	there := slices.DeleteFunc(slices.Clone(s.hosts), func(h *Host) bool { return h.Away })
	slices.SortFunc(there, func(a, b *Host) int { return bytes.Compare(a.IP[:], b.IP[:]) })
	for _, h := range there {
		text = fmt.Appendf(text, "%d.%d.%d.%d %s\n", h.IP[0], h.IP[1], h.IP[2], h.IP[3], h.Name)
	}
	return text
}

// ownsPath reports whether a Unix socket is one that a program of the host made.
func (h *Host) ownsPath(path string) bool {
	const unixSockets = "/net/unix"
	if _, err := os.Lstat(path); filepath.IsAbs(path) && errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, g := range h.programs {
		for _, p := range g.processes {
			if p.zombie {
				continue
			}
			text, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + unixSockets)
			for line := range strings.Lines(string(text)) {
				fields := strings.Fields(line)
				if len(fields) < 8 || strings.TrimPrefix(fields[7], "@") != strings.Trim(path, "\x00") {
					continue
				}
				if inode, err := strconv.ParseUint(fields[6], 10, 64); err == nil && g.holds(inode) != nil {
					return true
				}
			}
		}
	}
	return false
}
