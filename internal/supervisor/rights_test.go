//go:build linux && amd64

package supervisor_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestOfAnOrdinaryUser: as an ordinary user, without a namespace and without the right to copy descriptors, programs do the same.
func TestOfAnOrdinaryUser(t *testing.T) {
	if os.Getenv(withoutRights) != "" {
		t.Skip("it is such a test itself")
	}
	newWorld(t, 1).Close() // or skip
	dir := t.TempDir()     // the folder of this test may be closed to others, and so may this program
	self := filepath.Join(dir, "self")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(self, text, 0o600), os.Chmod(self, 0o755), os.Chmod(filepath.Dir(dir), 0o755),
			os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS("testdata")))
	}
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != self {
			err = os.Chmod(path, 0o777)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tests := range []string{"TestCases/^C_", "TestTwoPrograms", "TestADay/^(C|static_C|Ruby|PHP|Node)$",
		"TestTwoHostsTalk/^(C|Ruby|PHP|Node)$"} {
		c := exec.Command(self, "-test.run", tests, "-test.v")
		c.Dir = dir
		c.Env = append(os.Environ(), withoutRights+"=1", "HOME="+dir, "TMPDIR="+dir)
		const nobody = 65534
		if os.Getuid() == 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		if out, err := suite.Output(t, c); err != nil || !strings.Contains(string(out), "    --- PASS") {
			t.Errorf("%s: %v\n%s", tests, err, out)
		}
	}
}

// TestNumbersWithoutNamespace: the first process sees itself as 1, as in a namespace, and reaches nobody but its own processes.
func TestNumbersWithoutNamespace(t *testing.T) {
	supervisor.WithoutNamespace(t)
	one := func() string {
		w := newWorld(t, 1)
		defer w.Close()
		w.ends(w.start(w.a, "p", []string{command(t, "Python")[0], "-c", `
import os, resource, signal, sys, threading, time
def say(*what): print(*what, flush=True)
def fails(do, *args):
    try: do(*args)
    except OSError as e: return type(e).__name__
signal.signal(signal.SIGUSR1, lambda *_: say("caught"))
say(os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0), os.getpgid(os.getpid()), threading.get_native_id())
os.kill(os.getpid(), signal.SIGUSR1)
signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
say(fails(os.kill, int(sys.argv[1]), 0), fails(os.kill, -int(sys.argv[1]), 0), fails(os.setpgid, os.getpid(), 0))
say(resource.prlimit(os.getpid(), resource.RLIMIT_STACK) == resource.getrlimit(resource.RLIMIT_STACK))
say(open("/proc/%d/cmdline" % os.getpid()).read().split("\0")[1])
child = os.fork()
if child == 0:
    say("child", os.getppid(), os.getpid() == threading.get_native_id(), os.getpgrp())
    os.kill(os.getppid(), signal.SIGUSR1)
    time.sleep(1000)
time.sleep(1)
os.kill(-1, signal.SIGTERM)
say(os.waitpid(child, 0) == (child, signal.SIGTERM), time.monotonic() < 3603)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(1000)
`, fmt.Sprint(os.Getpid())}))
		w.expect(lines("p", "1 0 1 1 1 1", "caught", "caught", "ProcessLookupError ProcessLookupError PermissionError", "True", "-c",
			"child 1 True 1", "caught", "True True", "ended by SIGTERM")...)
		return w.history()
	}
	repeats(t, one)
}
