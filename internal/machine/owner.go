package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Owner is a process that has made something, named so that it is not taken for another
// one that has its number later.
type Owner struct {
	// host is the machine, boot its boot, space the namespace in which pid counts.
	host, boot, space string
	pid               int
	// started is when it started, in the kernel's ticks since boot.
	started string
}

// String names the owner in few bytes, and so that it can stand in a file's name: the path of a
// socket is short.
func (o Owner) String() string {
	return strings.Join([]string{o.host, o.boot, o.space, strconv.FormatInt(int64(o.pid), 36), o.started}, "-")
}

// short writes a number with more kinds of digits; what is none stays.
func short(text string) string {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return text
	}
	return strconv.FormatUint(n, 36)
}

// Self is this process.
var Self = sync.OnceValues(func() (Owner, error) { return OwnerOf(os.Getpid()) })

// OwnerOf is a process of this machine, in the namespace of this one.
func OwnerOf(pid int) (Owner, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Owner{}, fmt.Errorf("failed to learn which boot this is: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Owner{}, fmt.Errorf("failed to learn which process this is: %w", err)
	}
	started, err := startOf(pid)
	// The first digits are random enough.
	return Owner{host: hostID(), boot: string(boot[:8]), space: short(strings.Trim(space, "pid:[]")), pid: pid, started: started}, err
}

// startOf is when a process started. One that has ended and waits to be noticed
// by its parent does not exist any more.
func startOf(pid int) (string, error) {
	fields, err := statFields(statFile(pid))
	if err != nil {
		return "", err
	}
	if ended(fields[0][0]) {
		return "", os.ErrNotExist
	}
	return short(fields[startField]), nil
}

// ParseOwner reads what String wrote.
func ParseOwner(s string) (Owner, error) {
	f := strings.Split(s, "-")
	if len(f) != 5 {
		return Owner{}, fmt.Errorf("owner %q: want five fields", s)
	}
	pid, err := strconv.ParseInt(f[3], 36, 32)
	return Owner{f[0], f[1], f[2], int(pid), f[4]}, err
}

// hostID tells this machine, or container, apart from others that use the same folder for
// temporary files.
func hostID() string {
	id, _ := os.ReadFile("/etc/machine-id")
	name, _ := os.Hostname()
	sum := sha256.Sum256(append(id, name...))
	return hex.EncodeToString(sum[:3])
}

// Is reports that o is a process of this machine with that number.
func (o Owner) Is(pid int) bool {
	me, err := Self()
	return err == nil && o.pid == pid && o.host == me.host && o.space == me.space && !o.Gone(me)
}

// Gone reports whether o has certainly ended, as seen by me. What another machine or namespace
// counts cannot be seen from here, and is left alone.
func (o Owner) Gone(me Owner) bool {
	if o.host != me.host {
		return false
	}
	if o.boot != me.boot {
		return true
	}
	if o.space != me.space {
		return false
	}
	started, err := startOf(o.pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && started != o.started
}
