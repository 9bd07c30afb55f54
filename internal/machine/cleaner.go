package machine

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"
)

// cleaner is the number of the process that StartCleaner started.
var cleaner atomic.Int64

// StartCleaner starts a process that calls CleanAfter with its standard input: it outlives this one, and
// removes what this one leaves if it is killed. end ends the cleaner.
func StartCleaner(cmd *exec.Cmd) (end func(), err error) {
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Dir, cmd.Env, cmd.Stdin = "/", OwnEnviron(nil), in
	c, err := StartAs("the cleaner", cmd, nil, 0)
	_ = in.Close()
	if err != nil {
		_ = ours.Close()
		return nil, err
	}
	cleaner.Store(int64(c.PID()))
	return func() {
		_ = c.Kill()
		_ = ours.Close()
	}, nil
}

// endInOrder is how long clients may take to end what they have started.
const endInOrder = 10 * time.Second

// CleanAfter waits for the end of in, which the kernel closes when the process at its other end dies, and
// does what Clean does. Clients of that process come first to their end: they may have a container to remove.
func CleanAfter(in io.Reader) error {
	_, _ = io.Copy(io.Discard, in)
	for deadline := time.Now().Add(endInOrder); time.Now().Before(deadline) && siblingsLive(); {
		time.Sleep(20 * time.Millisecond)
	}
	_, err := Clean(true)
	return err
}

// siblingsLive reports that processes of this very program live which the one started that started this one.
func siblingsLive() bool {
	owner := os.Getenv(ownerVariable)
	self := exeOf(os.Getpid())
	return slices.ContainsFunc(processes(), func(pid int) bool {
		return pid != os.Getpid() && markOf(pid) == owner && exeOf(pid) == self && lives(pid)
	})
}
