package app

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// A busy machine runs as many scenarios at once as are sure, an idle one up to most.
func TestSlots(t *testing.T) {
	for name, c := range map[string]struct {
		share float64
		err   error
		most  int
		want  int64
	}{
		"busy":          {share: 0.1, most: 5, want: 2},
		"idle":          {share: 0.9, most: 5, want: 5},
		"nobody knows":  {err: errors.New("no /proc"), most: 5, want: 2},
		"none but sure": {share: 0.9, most: 0, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 1000)
			s := newSlots(2, c.most)
			s.idle = func() (float64, error) { asked <- struct{}{}; return c.share, c.err }
			for range c.want {
				s.take(t.Context())
			}
			ctx, cancel := context.WithCancel(t.Context())
			taken := make(chan struct{})
			go func() { defer close(taken); s.take(ctx) }()
			for len(asked) > 0 {
				<-asked
			}
			for range 3 { // it looks again and again
				suite.Receive(t, "another look", asked)
			}
			select {
			case <-taken:
				t.Fatalf("more than %d run at once", c.want)
			default:
			}
			s.leave() // who leaves makes room, however busy the machine is
			suite.Receive(t, "the room", taken)
			cancel()
			s.take(ctx) // who is interrupted does not wait
		})
	}
}

// The longest run of a round begins first, equally long ones in the order of the scenarios, and no round before the one
// before it.
func TestLongestFirst(t *testing.T) {
	t.Parallel()
	each := []time.Duration{time.Second, 3 * time.Second, 2 * time.Second, 3 * time.Second}
	units := []int{0, 1, 2, 3, 4, 6, 7} // a shard has some of each round
	if got, want := longestFirst(units, each), []int{1, 3, 2, 0, 7, 6, 4}; !slices.Equal(got, want) {
		t.Errorf("runs begin as %v, want %v", got, want)
	}
	if !slices.IsSorted(units) {
		t.Errorf("the order of what is shown has changed: %v", units)
	}
}

// Heavy programs run in fewer scenarios at once.
func TestJobsOf(t *testing.T) {
	t.Parallel()
	processors := runtime.NumCPU()
	for _, c := range []struct {
		start time.Duration
		want  int
	}{{0, 100 * processors}, {time.Millisecond, 100 * processors}, {100 * time.Millisecond, 20 * processors / 3}, {time.Hour, 1}} {
		if got := jobsOf(100*processors, c.start); got != c.want {
			t.Errorf("a start of %v: %d at once, want %d", c.start, got, c.want)
		}
	}
}
