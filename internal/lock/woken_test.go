package lock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// waits are how long a client of the lock waits to be woken, each time. Nobody ever wakes it.
func waits(t *testing.T, m lock.Mistakes, attempts int) (list []time.Duration) {
	t.Helper()
	tb, c := newTable(1), lock.Config{Algorithm: "woken", TTL: time.Second, NodeTimeout: 50 * ms, Mistakes: m}
	c.Retry = lock.Retry{Attempts: attempts, Delay: 100 * ms}
	tb.nodes[0].Memory().Set("lock", "c2", time.Hour, false)
	tb.nodes[0].Way = func(c command.Command, carry func() command.Reply) command.Reply {
		if c.Op == command.BLPOP {
			list = append(list, c.TTL)
			tb.T += c.TTL
		}
		return carry()
	}
	if _, r := lockOf(t, tb, c).Acquire(); r.Outcome != lock.Fail {
		t.Errorf("got %v", r)
	}
	return list
}

func lockOf(t *testing.T, tb *table, c lock.Config) lock.Lock {
	_, l := tb.sit(t, "c1", c)
	return l
}

// It waits no longer than others do that ask as often.
func TestWhoWaitsAsksAgainAfterTheTTL(t *testing.T) {
	if got := waits(t, lock.Mistakes{}, 31); !slices.Equal(got, []time.Duration{time.Second, time.Second, time.Second}) {
		t.Errorf("it waits %v", got)
	}
}

func TestAReleaseWakes(t *testing.T) {
	tb, c := newTable(1), lock.Config{Algorithm: "woken", TTL: time.Second, Retry: lock.Retry{Attempts: 3, Delay: 100 * ms}}
	l := lockOf(t, tb, c)
	for range 2 {
		g, _ := l.Acquire()
		if r := l.Release(g); r.Outcome != lock.OK {
			t.Fatal(r)
		}
	}
	if got := tb.nodes[0].Memory().LRange("lock:signal"); len(got) != 1 {
		t.Errorf("after two releases that woke nobody the list is %q", got)
	}
	tb.T += 1001 * ms
	if got := tb.nodes[0].Memory().LRange("lock:signal"); len(got) != 0 {
		t.Errorf("nobody waits any more: %q", got)
	}
	tb.nodes[0].Memory().Set("lock", "c2", time.Hour, false)
	tb.nodes[0].Asked = nil
	if _, r := l.Acquire(); r.Outcome != lock.Fail {
		t.Error("it is held")
	}
	if asked := strings.Join(tb.nodes[0].Asked, ", "); asked != "set lock, blpop lock:signal, set lock, blpop lock:signal, set lock" {
		t.Error(asked)
	}
}
