package live

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// child is a process of ours. It dies with this program, whatever ends it.
type child struct {
	name string
	cmd  *exec.Cmd
	// gone is closed when the process has been waited for; err is its end.
	gone chan struct{}
	err  error
}

// startChild starts cmd in a process group of its own, so that a Ctrl-C at the
// terminal reaches this program alone, which then ends its children in order.
func startChild(name string, cmd *exec.Cmd) (*child, error) { return startChildAs(name, cmd, nil) }

// startChildAs starts it as another user; nil: as ourselves.
func startChildAs(name string, cmd *exec.Cmd, owner *syscall.Credential) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: owner}
	var err error
	onStarterThread(func() { err = cmd.Start() })
	if err != nil {
		return nil, fmt.Errorf("failed to start %s: %w", name, err)
	}
	c := &child{name: name, cmd: cmd, gone: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.gone)
	}()
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) dead() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// kill ends the process and waits until it has.
func (c *child) kill() error {
	_ = c.cmd.Process.Kill() // it fails where the process is dead
	<-c.gone
	return nil
}

// stop sends SIGSTOP and returns when the kernel reports every thread of the
// process stopped.
func (c *child) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("failed to stop %s: %w", c.name, err)
	}
	deadline := time.Now().Add(stopWithin)
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, c.pid(), &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("failed to see %s stop: %w", c.name, err)
		case err == nil && info.Signo != 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%s did not stop within %v", c.name, stopWithin)
		}
		time.Sleep(50 * time.Microsecond)
	}
}

const stopWithin = 2 * time.Second

// resume sends SIGCONT.
func (c *child) resume() error {
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil && !c.dead() {
		return fmt.Errorf("failed to resume %s: %w", c.name, err)
	}
	return nil
}
