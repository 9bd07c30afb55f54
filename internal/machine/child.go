// Package machine is what the live world asks of this machine: processes that die with
// the program, free ports, and its clocks.
package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// The kernel kills a child with PDEATHSIG when the thread that started it ends.
// Go ends threads as it likes, so every child is started by one thread that
// lives as long as the program.
var (
	starterOnce sync.Once
	starts      chan func()
)

func onStarterThread(f func()) {
	starterOnce.Do(func() {
		starts = make(chan func())
		go func() {
			runtime.LockOSThread()
			for f := range starts {
				f()
			}
		}()
	})
	done := make(chan struct{})
	starts <- func() { defer close(done); f() }
	<-done
}

// Child is a process of ours. It dies with this program, whatever ends it, and what it has
// started in its process group dies with it.
type Child struct {
	Name string
	cmd  *exec.Cmd
	// Gone is closed when the process has been waited for; err is its end.
	Gone chan struct{}
	Err  error
}

// awaited are the processes that their Child waits for.
var awaited sync.Map

// Start starts cmd in a process group of its own, so that a Ctrl-C at the
// terminal reaches this program alone, which then ends its children in order.
func Start(name string, cmd *exec.Cmd) (*Child, error) {
	return StartAs(name, cmd, nil, syscall.SIGKILL)
}

// User is whom a process can run as.
type User struct{ UID, GID uint32 }

// StartLeader starts a process that ends what it has started before it ends itself: when
// this program dies, it is asked to, by SIGTERM. The kernel wakes it for that where it is
// stopped, for its group has lost its parent.
func StartLeader(name string, cmd *exec.Cmd) (*Child, error) {
	return StartAs(name, cmd, nil, syscall.SIGTERM)
}

// StartAs starts it as another user, nil: as ourselves, and with the signal that it gets when
// this program dies.
func StartAs(name string, cmd *exec.Cmd, user *User, orphaned syscall.Signal) (*Child, error) {
	me, err := Self()
	if err == nil {
		cmd.Env = append(cmd.Environ(), ownerVariable+"="+me.String())
		cmd.SysProcAttr, err = attributes(orphaned, user)
	}
	if err == nil {
		onStarterThread(func() {
			if err = cmd.Start(); err == nil {
				noteChild(cmd.Dir+"/", cmd.Process.Pid)
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("failed to start %s: %w", name, err)
	}
	c := &Child{Name: name, cmd: cmd, Gone: make(chan struct{})}
	awaited.Store(c.PID(), true)
	go func() {
		awaitEnd(c.PID())
		_ = signal(-c.PID(), syscall.SIGKILL) // what it has left behind in its group
		c.Err = cmd.Wait()
		awaited.Delete(c.PID())
		close(c.Gone)
	}()
	return c, nil
}

// Output runs a program, and returns what it prints and how it ended. When ctx ends, it is
// killed, with what it has started in its process group.
func Output(ctx context.Context, path string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // what has left the group may hold the pipe open
	c, err := Start(path, cmd)
	if err != nil {
		return "", err
	}
	select {
	case <-c.Gone:
	case <-ctx.Done():
		_ = c.Kill()
		return "", context.Cause(ctx)
	}
	return out.String(), c.Err
}

// PID is its number.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Dead reports whether it has ended.
func (c *Child) Dead() bool {
	select {
	case <-c.Gone:
		return true
	default:
		return false
	}
}

// Worked is how long it has kept a processor busy, with what it has started and waited for; 0: it has not ended.
func (c *Child) Worked() time.Duration {
	if !c.Dead() || c.cmd.ProcessState == nil {
		return 0
	}
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// Kill ends the process and waits until it has.
func (c *Child) Kill() error {
	_ = c.cmd.Process.Kill() // it fails where the process is dead
	<-c.Gone
	return nil
}

// Stop sends SIGSTOP and returns when the kernel reports every thread of the
// process stopped.
func (c *Child) Stop() error {
	if err := c.cmd.Process.Signal(sigStop); err != nil {
		return fmt.Errorf("failed to stop %s: %w", c.Name, err)
	}
	deadline := time.Now().Add(stopWithin)
	for {
		stopped, err := hasStopped(c.PID())
		switch {
		case err != nil:
			return fmt.Errorf("failed to see %s stop: %w", c.Name, err)
		case stopped:
			return nil
		case time.Now().After(deadline):
			return TookTooLong(stopWithin, "%s did not stop within %v", c.Name, stopWithin)
		}
		time.Sleep(50 * time.Microsecond)
	}
}

const stopWithin = 2 * time.Second

// End sends a signal that makes the process end in order, and kills it after a while.
func (c *Child) End(s syscall.Signal, within time.Duration) {
	_ = c.cmd.Process.Signal(s) // it fails where the process is dead
	select {
	case <-c.Gone:
	case <-time.After(within):
		_ = c.Kill()
	}
}

// Resume sends SIGCONT.
func (c *Child) Resume() error {
	if err := c.cmd.Process.Signal(sigContinue); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("failed to resume %s: %w", c.Name, err)
	}
	return nil
}
