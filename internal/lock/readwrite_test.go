package lock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

// Readers hold the lock beside one another, and a writer alone. What a reader gives back after the TTL is its own, or by mistake another's.
func TestReadersAndWriters(t *testing.T) {
	for algorithm, want := range map[string]struct {
		late lock.Outcome // what a reader's release says after the TTL, when another one reads
		free bool         // and whether a writer gets in by it
	}{
		"read-write": {lock.Fail, false}, "read-write-counter": {lock.OK, true},
	} {
		tb := newTable(1)
		sit := func(name string, shared bool) lock.Lock {
			c := single(algorithm)
			c.Shared = shared
			_, l := tb.sit(t, name, c)
			return l
		}
		r1, r2, w1, w2 := sit("c1", true), sit("c2", true), sit("c3", false), sit("c4", false)
		g1, _ := r1.Acquire()
		g2, r := r2.Acquire()
		if list := got(w1); r.Outcome != lock.OK || list[0] {
			t.Errorf("%s: beside a reader a reader gets %+v, a writer %v", algorithm, r, list)
		}
		for l, g := range map[lock.Lock]lock.Grant{r1: g1, r2: g2} {
			if r := l.Release(g); r.Outcome != lock.OK {
				t.Errorf("%s: %+v", algorithm, r)
			}
		}
		g, r := w1.Acquire()
		if list := got(w2, r1); r.Outcome != lock.OK || !slices.Equal(list, []bool{false, false}) {
			t.Errorf("%s: a writer gets %+v, beside it a writer and a reader %v", algorithm, r, list)
		}
		if r := w1.Release(g); r.Outcome != lock.OK {
			t.Errorf("%s: %+v", algorithm, r)
		}
		g1, _ = r1.Acquire()
		tb.T += time.Second + 2*time.Millisecond
		if list := got(r2); !list[0] {
			t.Errorf("%s: after the TTL c2 gets %v", algorithm, list)
		}
		if r := r1.Release(g1); r.Outcome != want.late {
			t.Errorf("%s: a late release: %+v", algorithm, r)
		}
		if list := got(w1); list[0] != want.free {
			t.Errorf("%s: after a late release a writer gets %v", algorithm, list)
		}
		tb.ways(commandtest.Dead)
		if _, r := r1.Acquire(); r.Outcome != lock.Fail {
			t.Errorf("%s: from a dead node c1 gets %+v", algorithm, r)
		}
	}
}

// A reader that reads alone gets what it asks to write, and reads on when it has given that back; beside another reader it is refused.
func TestUpgrade(t *testing.T) {
	tb := newTable(1)
	c := single("read-write")
	_, w := tb.sit(t, "c3", c)
	c.Shared = true
	_, r1 := tb.sit(t, "c1", c)
	_, r2 := tb.sit(t, "c2", c)
	g1, _ := r1.Acquire()
	g, r := r1.(lock.Upgrader).Upgrade(g1)
	if list := got(r2); r.Outcome != lock.OK || list[0] {
		t.Errorf("alone c1 gets %+v, beside it c2 %v", r, list)
	}
	if r := r1.Release(g); r.Outcome != lock.OK {
		t.Errorf("the upgrade is given back: %+v", r)
	}
	if list := got(r2, w); !list[0] || list[1] {
		t.Errorf("beside the reader c2 and c3 get %v", list)
	}
	if _, r := r1.(lock.Upgrader).Upgrade(g1); r.Outcome != lock.Fail {
		t.Errorf("beside c2 c1 gets %+v", r)
	}
	if r := r1.Release(g1); r.Outcome != lock.OK {
		t.Errorf("c1 gives its own back: %+v", r)
	}
	tb.T += 2 * time.Second
	if _, r := r1.(lock.Upgrader).Upgrade(g1); r.Outcome != lock.Fail {
		t.Errorf("after its end c1 gets %+v", r)
	}
}
