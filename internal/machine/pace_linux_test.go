package machine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// A program that the machine lets stand still for a while knows for how long; what was before does not count.
func TestPace(t *testing.T) {
	p, end := WatchPace()
	defer end()
	stalls := make(chan time.Duration, 1000)
	p.TellStalls(func(took time.Duration) { stalls <- took })
	const still = 400 * time.Millisecond
	cmd := exec.Command("sh", "-c", fmt.Sprintf("kill -STOP %d; sleep %.1f; kill -CONT %[1]d", os.Getpid(), still.Seconds()))
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := p.Late(); got < still/2 {
		t.Errorf("timers fired up to %v late, though this program stood still for %v", got, still)
	}
	longest := time.Duration(0)
	suite.Eventually(t, "a stall that is told", func() bool {
		select {
		case took := <-stalls:
			longest = max(longest, took)
		default:
		}
		return longest >= still/2
	})
	p.TellStalls(nil)
	before := p.Late()
	p.Begin()
	if got := p.Late(); got >= before {
		t.Errorf("from then on timers fired up to %v late, as much as before", got)
	}
}

func TestPaceIsToBlame(t *testing.T) {
	p := &Pace{}
	p.since.Store(math.MaxInt64) // nothing later counts
	p.late.Store(int64(300 * time.Millisecond))
	for _, c := range []struct {
		err     error
		allowed time.Duration
		want    bool
	}{
		{nil, 0, false},
		{errors.New("it is broken"), 0, false},
		{fmt.Errorf("a run: %w", context.DeadlineExceeded), 200 * time.Millisecond, true},
		{&os.PathError{Op: "fork/exec", Path: "redis-server", Err: syscall.EAGAIN}, 200 * time.Millisecond, false},
		{fmt.Errorf("a run: %w", context.DeadlineExceeded), 400 * time.Millisecond, false},
		{TookTooLong(5*time.Second, "no answer"), 200 * time.Millisecond, true},
		{TookTooLong(20*time.Second, "no answer of a lock program"), 200 * time.Millisecond, false},
		{errors.Join(errors.New("x"), StartedTooSlowly("no answer of a server: %w", os.ErrNotExist)), time.Hour, true},
	} {
		if got := p.Blamed(c.err, c.allowed); got != c.want {
			t.Errorf("%v, %v late are allowed: to blame %v", c.err, c.allowed, got)
		}
	}
}
