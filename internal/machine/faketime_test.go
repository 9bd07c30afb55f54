package machine

import (
	"os"
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
