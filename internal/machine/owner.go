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

// String names the owner without a space, so that it can stand in a file's name.
func (o Owner) String() string {
	return fmt.Sprintf("%s-%s-%s-%d-%s", o.host, o.boot, o.space, o.pid, o.started)
}

// Self is this process.
var Self = sync.OnceValues(func() (Owner, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Owner{}, fmt.Errorf("failed to learn which boot this is: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Owner{}, fmt.Errorf("failed to learn which process this is: %w", err)
	}
	started, err := startOf(os.Getpid())
	// The first digits are random enough, and a socket's path is short.
	return Owner{host: hostID(), boot: string(boot[:8]), space: strings.Trim(space, "pid:[]"), pid: os.Getpid(), started: started}, err
})

// startOf is when a process started. One that has ended and waits to be noticed
// by its parent does not exist any more.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is a name in parentheses, which may hold anything.
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	fields := strings.Fields(rest)
	const startTime = 22 - 3 // the fields after the name begin with the third
	if len(fields) <= startTime {
		return "", fmt.Errorf("process %d: strange stat", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", os.ErrNotExist
	}
	return fields[startTime], nil
}

// ParseOwner reads what String wrote.
func ParseOwner(s string) (Owner, error) {
	f := strings.Split(s, "-")
	if len(f) != 5 {
		return Owner{}, fmt.Errorf("owner %q: want five fields", s)
	}
	pid, err := strconv.Atoi(f[3])
	return Owner{f[0], f[1], f[2], pid, f[4]}, err
}

// hostID tells this machine, or container, apart from others that use the same folder for
// temporary files.
func hostID() string {
	id, _ := os.ReadFile("/etc/machine-id")
	name, _ := os.Hostname()
	sum := sha256.Sum256(append(id, name...))
	return hex.EncodeToString(sum[:3])
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
