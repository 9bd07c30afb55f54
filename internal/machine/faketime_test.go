package machine

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// A process reads the file at any time, and as libfaketime does: all of it, as one number.
func TestClockIsReadWholeWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	clock, err := NewFaketime(dir, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := clock.Set(Bend{Jump: 9999 * time.Millisecond, Rate: 50}); err != nil {
		t.Fatal(err)
	}
	defer clock.Halt()
	last := 9.998
	for range 50 {
		before := last
		for deadline := time.Now().Add(suite.Patience); last == before; { // without a pause: it is read while it is written
			text, err := os.ReadFile(clock.File())
			if err != nil {
				t.Fatal(err)
			}
			now, err := strconv.ParseFloat(strings.TrimSuffix(string(text), "\n"), 64)
			if err != nil || !strings.HasSuffix(string(text), "\n") || now < last || time.Now().After(deadline) {
				t.Fatalf("the clock showed %q after %f: %v", text, last, err)
			}
			last = now
		}
	}
	if err := clock.Reset(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(clock.File()); err != nil || strings.Trim(string(text), "+0.\n") != "" {
		t.Fatalf("a clock that was set right shows %q, %v", text, err)
	}
}

// waits waits 200 ms for a condition, by the monotonic clock, as JVMs do, and says how many milliseconds that took.
const waits = `
import ctypes, time
c = ctypes.CDLL(None)
attributes, condition, mutex = (ctypes.create_string_buffer(64) for _ in range(3))
c.pthread_condattr_init(attributes)
c.pthread_condattr_setclock(attributes, time.CLOCK_MONOTONIC)
c.pthread_cond_init(condition, attributes)
c.pthread_mutex_init(mutex, None)
c.pthread_mutex_lock(mutex)
began = time.monotonic_ns()
until = (ctypes.c_long * 2)(*divmod(began + 200 * 10**6, 10**9))
c.pthread_cond_timedwait(condition, mutex, until)
print((time.monotonic_ns() - began) // 10**6)
`

// TestWaitsTakeTheirTime: a process whose time of day is bent waits as long as it wants.
func TestWaitsTakeTheirTime(t *testing.T) {
	clock, err := NewFaketimeHere(t.TempDir())
	if err != nil {
		suite.Lacks(t, err.Error())
	}
	if err := clock.Set(Bend{Jump: time.Hour, Rate: 1}); err != nil {
		t.Fatal(err)
	}
	defer clock.Halt()
	python, err := exec.LookPath("python3")
	if err != nil {
		suite.Lacks(t, "python3")
	}
	cmd := exec.Command(python, "-c", waits)
	cmd.Env = Environ(clock.Variables())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if ms, err := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || ms < 190 {
		t.Errorf("it waited %q ms, not 200", out)
	}
}

// What it costs to write a clock that runs.
func BenchmarkClock(b *testing.B) {
	dir := b.TempDir()
	clock, err := NewFaketime(dir, dir, "")
	if err != nil {
		b.Fatal(err)
	}
	var offset time.Duration
	for b.Loop() {
		offset += time.Millisecond
		if err := clock.write(offset); err != nil {
			b.Fatal(err)
		}
	}
}
