package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a process prints that waits for its turn, for people and for scripts/suite, which takes the wait off the package's time.
const (
	waits  = "live tests: waiting for "
	Waited = "live tests: waited "
)

// Runner is what goleak, testscript and os.Exit need of *testing.M.
type Runner interface{ Run() int }

type live struct{ tests *testing.M }

// Live is for the TestMain of a package with live tests: such with real servers, processes and clocks. Run begins once no other
// such package runs on this machine, whichever `go test` began it. The wait counts towards no test's bound, nor towards
// -test.timeout, which begins with the tests. The turn ends with this process, however it ends. The processes that `go test -fuzz`
// starts belong to the turn of the one that started them.
func Live(m *testing.M) Runner {
	return live{m}
}

func (l live) Run() int {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() == "" && flag.Lookup("test.fuzzworker").Value.String() != "true" {
		end, err := TakeTurn(context.Background(), os.Stdout)
		if err != nil {
			fmt.Fprintln(os.Stderr, "live tests:", err)
			return 1
		}
		defer end()
	}
	return l.tests.Run()
}

// TakeTurn waits until no other process runs live tests, and says for whom it waits. The turn lasts until `end` is called, or until
// this process ends.
func TakeTurn(ctx context.Context, out io.Writer) (end func(), err error) {
	return takeTurn(ctx, filepath.Join(os.TempDir(), "redlock-sim-live-tests.lock"), out)
}

func takeTurn(ctx context.Context, path string, out io.Writer) (end func(), err error) {
	f, err := openTurn(path)
	if err != nil {
		return nil, err
	}
	began, holder := time.Now(), ""
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if text, _ := os.ReadFile(path); len(text) > 0 && string(text) != holder {
			holder = string(text)
			fmt.Fprint(out, waits, holder)
		}
		if ctx.Err() != nil {
			_ = f.Close()
			return nil, ctx.Err()
		}
		time.Sleep(50 * time.Millisecond)
	}
	if holder != "" {
		fmt.Fprintf(out, "%s%.1f s\n", Waited, time.Since(began).Seconds())
	}
	// The name is for those who wait; the lock is what counts.
	dir, _ := os.Getwd()
	_ = f.Truncate(0)
	_, _ = fmt.Fprintf(f, "process %d in %s, since %s\n", os.Getpid(), dir, time.Now().Format(time.TimeOnly))
	return func() { _ = f.Close() }, nil
}

// openTurn opens the file of the turn. Where it is another user's, the kernel may refuse to open it with O_CREATE.
func openTurn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o666); err == nil {
			_ = f.Chmod(0o666) // other users have tests, too
		}
	}
	return f, err
}
