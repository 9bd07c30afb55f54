package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
// sockets below a scratch folder, and a socket's path has at most 107. A scratch folder's name and
// what comes behind it take up to 84.
const longestTemp = 22

// temporaries are the folders in which scratch folders may be, the preferred one first.
func temporaries() []string {
	list := []string{"/tmp", "/tmp"}
	if dir, err := filepath.Abs(os.TempDir()); err == nil {
		list[0] = dir
	}
	switch {
	case list[0] == list[1]:
		return list[:1]
	case len(list[0]) > longestTemp:
		list[0], list[1] = list[1], list[0]
	}
	return list
}

// Scratch makes a folder for what must not outlive this process: data of servers, sockets.
// Others cannot look into it. Who made it discards it; where it cannot, because it was killed,
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

// Discard removes a scratch folder with all that is in it; "": there is none.
func Discard(scratch string) error {
	err := os.RemoveAll(scratch)
	if err == nil {
		scratches.Delete(scratch)
	}
	return err
}

// LeaveNothing ends all descendants of this process, see Adopt, and removes its scratch folders,
// where those who made them could not.
func LeaveNothing() {
	KillOrphans()
	scratches.Range(func(dir, _ any) bool {
		_ = Discard(dir.(string))
		return true
	})
}

// FolderIn makes a folder that is to take another name once it is whole, with a hidden name in a folder of the user's. What processes left
// there that made the same, and were killed, is removed, where it can be told that they are gone.
func FolderIn(parent, what string) (string, error) {
	prefix := "." + what + "-"
	me, err := Self()
	if err != nil { // here nobody knows who is gone
		return os.MkdirTemp(parent, prefix+"*")
	}
	for _, dir := range me.leftIn(parent, prefix) {
		_ = os.RemoveAll(dir) // another one may remove it at the same time
	}
	return os.MkdirTemp(parent, prefix+me.String()+"-")
}

// seesGone reports that the text names an owner that has certainly ended.
func (me Owner) seesGone(text string) bool {
	o, err := ParseOwner(text)
	return err == nil && o.Gone(me)
}

// leftIn are the folders of this user whose names have a prefix, an owner that is gone, and something more.
func (me Owner) leftIn(parent, prefix string) (left []string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), prefix)
		at := strings.LastIndexByte(name, '-')
		if !ok || at < 0 || !me.seesGone(name[:at]) {
			continue
		}
		if info, err := e.Info(); err == nil && info.IsDir() && isMine(info) {
			left = append(left, filepath.Join(parent, e.Name()))
		}
	}
	return left
}

// Leftovers counts what processes have left on this machine that were killed.
type Leftovers struct{ Processes, Folders, Segments int }

// Any reports whether there is something.
func (l Leftovers) Any() bool { return l != Leftovers{} }

func (l Leftovers) String() string {
	return words.Count(l.Processes, "process") + ", " + words.Count(l.Folders, "folder") + ", " +
		words.Count(l.Segments, "segment") + " of shared memory"
}

// Clean looks for what owners left that are gone. With remove it ends and removes it. What
// bears no owner's mark, or that of another user, is not touched.
func Clean(remove bool) (found Leftovers, err error) {
	me, err := Self()
	if err != nil {
		return found, err
	}
	var stale []string
	for _, temporary := range temporaries() {
		stale = append(stale, me.leftIn(temporary, scratchPrefix)...)
	}
	var orphans []int
	for _, pid := range processes() {
		if pid != os.Getpid() && (me.seesGone(markOf(pid)) || startedIn(stale, pid)) {
			orphans = append(orphans, pid)
		}
	}
	found.Processes, found.Folders = len(orphans), len(stale)
	if remove {
		killAll(orphans)
	}
	var errs []error
	for _, dir := range stale {
		id, segment := segmentOf(filepath.Join(dir, postmasterFile))
		if segment {
			found.Segments++
		}
		if !remove {
			continue
		}
		if segment {
			errs = append(errs, removeSegment(id))
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

// exeOf is the file of the program that a process runs.
func exeOf(pid int) string {
	file, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return file
}

// startedIn reports that a process was started in one of the folders, or by one that was: it works
// there, in the group of a child. Somebody's shell may work there, too.
func startedIn(folders []string, pid int) bool {
	cwd := cwdOf(pid)
	return slices.ContainsFunc(folders, func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || cwd != real && !strings.HasPrefix(cwd, real+"/") {
			return false
		}
		_, err = os.Lstat(childFile(dir, GroupOf(pid)))
		return err == nil
	})
}

// A scratch folder has a file for each child that was started in it.
const childMark = "child-"

func childFile(scratch string, pid int) string {
	return filepath.Join(scratch, childMark+strconv.Itoa(pid))
}

// noteChild makes this file. What the kernel knows of a process cannot be told from another's once
// that has taken its number.
func noteChild(dir string, pid int) {
	scratches.Range(func(scratch, _ any) bool {
		if strings.HasPrefix(dir, scratch.(string)+"/") {
			_ = os.WriteFile(childFile(scratch.(string), pid), nil, 0o600) // a full disk ends the run elsewhere
		}
		return true
	})
}

// postmasterFile is PostgreSQL's, below a scratch folder: its seventh line names a segment of shared
// memory.
const postmasterFile = "postgres/data/postmaster.pid"

// segmentOf reads which segment of shared memory a PostgreSQL server had, if it is still there,
// nobody uses it, and it belongs to the user who wrote the file.
func segmentOf(path string) (id int, unused bool) {
	f, err := OpenRegular(path)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, false
	}
	text, _ := io.ReadAll(io.LimitReader(f, 4096))
	lines := strings.Split(string(text), "\n")
	const line = 7 - 1 // "key id"
	if len(lines) <= line {
		return 0, false
	}
	fields := strings.Fields(lines[line])
	if len(fields) != 2 {
		return 0, false
	}
	id, err = strconv.Atoi(fields[1])
	return id, err == nil && unusedSegment(fields[0], id, userOf(info))
}

// unusedSegment reports that a user has a segment of this key and number that no process uses.
func unusedSegment(key string, id int, user string) bool {
	text, _ := os.ReadFile("/proc/sysvipc/shm")
	for line := range strings.Lines(string(text)) {
		// key shmid perms size cpid lpid nattch uid ...
		f := strings.Fields(line)
		if len(f) > 7 && f[0] == key && f[1] == strconv.Itoa(id) {
			return f[6] == "0" && f[7] == user
		}
	}
	return false
}
