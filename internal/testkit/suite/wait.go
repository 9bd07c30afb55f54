package suite

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// Patience bounds each wait of a live test. It is generous, because a busy machine may be slow
// and right: a test that passes never waits that long.
const Patience = 2 * time.Minute

// WorkPatience bounds a command that works: one that compiles, or carries out runs.
const WorkPatience = 10 * time.Minute

// A Waiter is a test that waits: a testing.TB, a *testscript.TestScript, a rapid.TB.
type Waiter interface {
	Fatalf(format string, args ...any)
}

// Eventually waits until ok. The looks become rarer, so that a long wait takes little of the machine.
func Eventually(t Waiter, what string, ok func() bool) {
	help(t)()
	Succeeds(t, what, func() error {
		if ok() {
			return nil
		}
		return errNotYet
	})
}

var errNotYet = errors.New("not yet")

// Succeeds waits until try returns no error, and fails with its last one.
func Succeeds(t Waiter, what string, try func() error) {
	help(t)()
	deadline := time.Now().Add(Patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		switch err := try(); {
		case err == nil:
			return
		case time.Now().Before(deadline):
		case errors.Is(err, errNotYet):
			t.Fatalf("waited %v in vain for %s", Patience, what)
			return
		default:
			t.Fatalf("waited %v in vain for %s: %v", Patience, what, err)
			return
		}
		time.Sleep(pause)
	}
}

// Receive waits for what comes from a channel: its zero value where it is closed.
func Receive[T any](t Waiter, what string, c <-chan T) (v T) {
	help(t)()
	select {
	case v = <-c:
	case <-time.After(Patience):
		t.Fatalf("waited %v in vain for %s", Patience, what)
	}
	return v
}

// Returns waits for the end of a call that may block, like that of a Wait.
func Returns(t Waiter, what string, call func()) {
	help(t)()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	Receive(t, what, done)
}

// Ends waits for the end of a process that has been started and is about to end. It is killed if it
// does not.
func Ends(t Waiter, cmd *exec.Cmd) error {
	help(t)()
	return ends(t, cmd, Patience)
}

// Run carries a command out, within WorkPatience.
func Run(t Waiter, cmd *exec.Cmd) error {
	help(t)()
	if err := cmd.Start(); err != nil {
		return err
	}
	return ends(t, cmd, WorkPatience)
}

// Output carries a command out as Run does, and returns what it printed.
func Output(t Waiter, cmd *exec.Cmd) ([]byte, error) {
	help(t)()
	var out bytes.Buffer
	cmd.Stdout = &out
	err := Run(t, cmd)
	return out.Bytes(), err
}

// CombinedOutput is Output with what the command says on its standard error.
func CombinedOutput(t Waiter, cmd *exec.Cmd) ([]byte, error) {
	help(t)()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := Run(t, cmd)
	return out.Bytes(), err
}

func ends(t Waiter, cmd *exec.Cmd, within time.Duration) error {
	help(t)()
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = Patience // what it has started may hold its output open
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(within):
		_ = cmd.Process.Kill()
		t.Fatalf("waited %v in vain for the end of %s: %v", within, strings.Join(cmd.Args, " "), <-ended)
		return nil
	}
}

// help is the Helper of a testing.TB: what it fails of is told for the line of its caller.
func help(t Waiter) func() {
	if h, ok := t.(interface{ Helper() }); ok {
		return h.Helper
	}
	return func() {}
}
