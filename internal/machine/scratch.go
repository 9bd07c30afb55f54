package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// ownerVariable is in the environment of all processes that this one starts, and of theirs:
// the owner that started them.
const ownerVariable = "REDLOCK_SIM_OWNER"

// scratchPrefix is how folders begin that are nobody's once their owner has ended.
const scratchPrefix = "redlock-sim-"

// longestTemp bounds the path of the folder for temporary files, in bytes: servers have
// sockets below a scratch folder, and a socket's path has at most 107.
const longestTemp = 40

// temporaries are the folders in which scratch folders may be, the preferred one first.
func temporaries() []string {
	list := []string{os.TempDir(), "/tmp"}
	switch {
	case list[0] == list[1]:
		return list[:1]
	case len(list[0]) > longestTemp:
		list[0], list[1] = list[1], list[0]
	}
	return list
}

// Scratch makes a folder for what must not outlive this process: data of servers, sockets.
// Others cannot look into it. Who made it removes it; where it cannot, because it was killed,
// the next Clean does.
func Scratch() (string, error) {
	me, err := Self()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(temporaries()[0], scratchPrefix+me.String()+"-")
	if err == nil && os.Getuid() == 0 {
		err = os.Chmod(dir, 0o711) // a server that refuses to run as root has its own folder in it
	}
	if err != nil {
		return "", fmt.Errorf("failed to make a folder for the servers: %w", err)
	}
	scratches.Store(dir, true)
	return dir, nil
}

// scratches are the scratch folders that this process has made.
var scratches sync.Map

// LeaveNothing ends all descendants of this process, see Adopt, and removes its scratch folders,
// where those who made them could not.
func LeaveNothing() {
	KillOrphans()
	scratches.Range(func(dir, _ any) bool {
		_ = os.RemoveAll(dir.(string))
		return true
	})
}

// Leftovers counts what processes have left on this machine that were killed.
type Leftovers struct{ Processes, Folders, Segments, Files int }

// Any reports whether there is something.
func (l Leftovers) Any() bool { return l != Leftovers{} }

func (l Leftovers) String() string {
	return words.Count(l.Processes, "process") + ", " + words.Count(l.Folders, "folder") + ", " +
		words.Count(l.Segments, "segment") + " of shared memory, " + words.Count(l.Files, "file") + " in /dev/shm"
}

// Clean looks for what owners left that are gone. With remove it ends and removes it. What
// bears no owner's mark, or that of another user, is not touched.
func Clean(remove bool) (found Leftovers, err error) {
	me, err := Self()
	if err != nil {
		return found, err
	}
	gone := func(text string) bool {
		o, err := ParseOwner(text)
		return err == nil && o.Gone(me)
	}
	var stale []string
	for _, temporary := range temporaries() {
		entries, _ := os.ReadDir(temporary)
		for _, e := range entries {
			name, ok := strings.CutPrefix(e.Name(), scratchPrefix)
			at := strings.LastIndexByte(name, '-')
			if !ok || at < 0 || !gone(name[:at]) {
				continue
			}
			if info, err := e.Info(); err == nil && info.IsDir() && isMine(info) {
				stale = append(stale, filepath.Join(temporary, e.Name()))
			}
		}
	}
	var orphans []int
	for _, pid := range processes() {
		if pid != os.Getpid() && (gone(markOf(pid)) || isBelow(cwdOf(pid), stale)) {
			orphans = append(orphans, pid)
		}
	}
	found.Processes, found.Folders = len(orphans), len(stale)
	if remove {
		killAll(orphans)
	}
	var errs []error
	for _, dir := range stale {
		segments, files := sharedBy(dir)
		found.Segments += len(segments)
		found.Files += len(files)
		if !remove {
			continue
		}
		for _, id := range segments {
			errs = append(errs, removeSegment(id))
		}
		for _, file := range files {
			errs = append(errs, os.Remove(file))
		}
		errs = append(errs, os.RemoveAll(dir))
	}
	// Another one may clean up at the same time.
	for i, err := range errs {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EIDRM) {
			errs[i] = nil
		}
	}
	if err := errors.Join(errs...); err != nil {
		return found, fmt.Errorf("failed to remove what killed runs have left: %w", err)
	}
	return found, nil
}

// markOf is the owner's mark of a process; empty: it has none, or is another user's.
func markOf(pid int) string {
	if info, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil || !isMine(info) {
		return ""
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	mark := ""
	for variable := range bytes.SplitSeq(text, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte(ownerVariable+"=")); ok {
			mark = string(value)
		}
	}
	return mark
}

// cwdOf is the folder in which a process works. Some programs overwrite their environment,
// redis-server among them.
func cwdOf(pid int) string {
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return dir
}

func isBelow(path string, folders []string) bool {
	for _, dir := range folders {
		if real, err := filepath.EvalSymlinks(dir); err == nil && (path == real || strings.HasPrefix(path, real+"/")) {
			return true
		}
	}
	return false
}

// Files of a scratch folder that name what lies outside.
const (
	// faketimeMark and a process id: libfaketime made files in /dev/shm for that process.
	faketimeMark = "faketime-"
	// postmasterFile is PostgreSQL's: its seventh line names a segment of shared memory.
	postmasterFile = "postmaster.pid"
)

// sharedBy finds what processes that worked in a scratch folder have left in shared memory.
func sharedBy(dir string) (segments []int, files []string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.Type().IsRegular():
		case e.Name() == postmasterFile:
			if id, ok := segmentOf(path); ok {
				segments = append(segments, id)
			}
		case strings.HasPrefix(e.Name(), faketimeMark):
			if pid, err := strconv.Atoi(e.Name()[len(faketimeMark):]); err == nil && !lives(pid) {
				for _, file := range faketimeFiles(pid) {
					if _, err := os.Lstat(file); err == nil {
						files = append(files, file)
					}
				}
			}
		}
		return nil
	})
	return segments, files
}

// segmentOf reads which segment of shared memory a PostgreSQL server had, if it is still there
// and nobody uses it.
func segmentOf(path string) (id int, unused bool) {
	text, _ := os.ReadFile(path)
	lines := strings.Split(string(text), "\n")
	const line = 7 - 1 // "key id"
	if len(lines) <= line {
		return 0, false
	}
	fields := strings.Fields(lines[line])
	if len(fields) != 2 {
		return 0, false
	}
	id, err := strconv.Atoi(fields[1])
	return id, err == nil && unusedSegment(fields[0], id)
}

// unusedSegment reports that there is a segment of this key and number that no process uses.
func unusedSegment(key string, id int) bool {
	text, _ := os.ReadFile("/proc/sysvipc/shm")
	for line := range strings.Lines(string(text)) {
		// key shmid perms size cpid lpid nattch ...
		f := strings.Fields(line)
		if len(f) > 6 && f[0] == key && f[1] == strconv.Itoa(id) {
			return f[6] == "0"
		}
	}
	return false
}

// faketimeFiles are what libfaketime makes for a process, and leaves when that is killed.
func faketimeFiles(pid int) []string {
	return []string{fmt.Sprintf("/dev/shm/faketime_shm_%d", pid), fmt.Sprintf("/dev/shm/sem.faketime_sem_%d", pid)}
}

// MarkFaketime notes in a scratch folder, or below it, that libfaketime makes files for a
// process that has just been started.
func MarkFaketime(dir string, pid int) error {
	return os.WriteFile(filepath.Join(dir, faketimeMark+strconv.Itoa(pid)), nil, 0o600)
}

// UnlinkFaketime removes these files: a process that has started has them mapped, and would
// not remove them when it is killed.
func UnlinkFaketime(pid int) {
	for _, file := range faketimeFiles(pid) {
		_ = os.Remove(file)
	}
}
