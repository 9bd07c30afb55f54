package lock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
)

// line is a table at which clients stand in a line.
func line(t *testing.T, m lock.Mistakes) (*table, func(name string) lock.Lock) {
	tb := newTable(1)
	return tb, func(name string) lock.Lock {
		c := mistaken(m)
		c.Algorithm = "fair-queue"
		_, l := tb.sit(t, name, c)
		return l
	}
}

// secondInLine is whether a client that came later gets the lock before one that waits all the while and asks each so often.
func secondInLine(pace time.Duration) func(*testing.T, lock.Mistakes) any {
	return func(t *testing.T, m lock.Mistakes) any {
		tb, sit := line(t, m)
		holder, first, second := sit("c1"), sit("c2"), sit("c3")
		g, _ := holder.Acquire()
		_, _ = first.(lock.Waiter).Attempt()
		tb.T += pace
		_, _ = first.(lock.Waiter).Attempt()
		_, _ = second.(lock.Waiter).Attempt()
		tb.T += pace
		holder.Release(g)
		_, r := second.(lock.Waiter).Attempt()
		return r.Outcome == lock.OK
	}
}

// Who waits gets the lock in the order of the places. Who gives up has none.
func TestLine(t *testing.T) {
	_, sit := line(t, lock.Mistakes{})
	var clients []lock.Waiter
	for _, name := range []string{"c1", "c2", "c3", "c4"} {
		clients = append(clients, sit(name).(lock.Waiter))
	}
	g, r := clients[0].Attempt()
	if r.Outcome != lock.OK {
		t.Fatalf("%+v", r)
	}
	for _, c := range clients[1:] {
		if _, r := c.Attempt(); r.Outcome != lock.Fail {
			t.Errorf("beside the holder: %+v", r)
		}
	}
	clients[1].Leave()
	if r := clients[0].Release(g); r.Outcome != lock.OK {
		t.Errorf("%+v", r)
	}
	var order []int
	for range clients {
		for n, c := range clients {
			if slices.Contains(order, n) {
				continue
			}
			if g, r := c.Attempt(); r.Outcome == lock.OK {
				order = append(order, n)
				if r := c.Release(g); r.Outcome != lock.OK {
					t.Errorf("%+v", r)
				}
				break
			}
		}
	}
	if !slices.Equal(order, []int{2, 3, 0, 1}) {
		t.Errorf("served in the order %v", order)
	}
}
