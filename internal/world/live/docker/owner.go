package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Labels of all that a run leaves with the engine.
const (
	// ownerLabel tells which process made it, runLabel which run.
	ownerLabel = "redlock-sim.owner"
	runLabel   = "redlock-sim.run"
)

// owner is a process, named so that it is not taken for another one that has
// its number later.
type owner struct {
	// boot is the machine's boot, space the namespace in which pid counts.
	boot, space string
	pid         int
	// started is when it started, in the kernel's ticks since boot.
	started string
}

func (o owner) String() string {
	return fmt.Sprintf("%s %s %d %s", o.boot, o.space, o.pid, o.started)
}

// self is this process.
func self() (owner, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return owner{}, fmt.Errorf("failed to learn which boot this is: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return owner{}, fmt.Errorf("failed to learn which process this is: %w", err)
	}
	started, err := startOf(os.Getpid())
	return owner{boot: strings.TrimSpace(string(boot)), space: space, pid: os.Getpid(), started: started}, err
}

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

// parseOwner reads what String wrote.
func parseOwner(s string) (owner, error) {
	f := strings.Fields(s)
	if len(f) != 4 {
		return owner{}, fmt.Errorf("owner %q: want four fields", s)
	}
	pid, err := strconv.Atoi(f[2])
	return owner{f[0], f[1], pid, f[3]}, err
}

// gone reports whether o has certainly ended, as seen by me. What another
// namespace counts cannot be seen from here, and is left alone.
func (o owner) gone(me owner) bool {
	if o.boot != me.boot {
		return true
	}
	if o.space != me.space {
		return false
	}
	started, err := startOf(o.pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && started != o.started
}
