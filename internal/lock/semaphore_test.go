package lock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

// semaphore is one of two permits for a second.
func semaphore(algorithm string) lock.Config {
	c := single(algorithm)
	c.Permits = 2
	return c
}

// got is who of some clients, who ask in turn, gets a permit.
func got(locks ...lock.Lock) (list []bool) {
	for _, l := range locks {
		_, r := l.Acquire()
		list = append(list, r.Outcome == lock.OK)
	}
	return list
}

// A semaphore has as many permits as it is told, takes back the caller's own, and has them again after the TTL.
func TestSemaphores(t *testing.T) {
	for algorithm, want := range map[string]struct {
		late lock.Outcome // what a release says after the TTL
		free bool         // and whether somebody gets in by it, when both permits are taken anew
	}{
		"semaphore": {lock.Fail, false}, "semaphore-counter": {lock.OK, true},
	} {
		tb := newTable(1)
		var locks []lock.Lock
		for _, name := range []string{"c1", "c2", "c3", "c4"} {
			_, l := tb.sit(t, name, semaphore(algorithm))
			locks = append(locks, l)
		}
		g, _ := locks[0].Acquire()
		if list := got(locks[1:]...); !slices.Equal(list, []bool{true, false, false}) {
			t.Errorf("%s: beside c1 c2, c3 and c4 get %v", algorithm, list)
		}
		if r := locks[0].Release(g); r.Outcome != lock.OK {
			t.Errorf("%s: %+v", algorithm, r)
		}
		g, r := locks[0].Acquire()
		if r.Outcome != lock.OK || locks[0].Remaining(g) != time.Second {
			t.Errorf("%s: after its release c1 gets %+v, %+v", algorithm, g, r)
		}
		tb.T += time.Second + 2*time.Millisecond
		if list := got(locks[1:]...); !slices.Equal(list, []bool{true, true, false}) {
			t.Errorf("%s: after the TTL c2, c3 and c4 get %v", algorithm, list)
		}
		if r := locks[0].Release(g); r.Outcome != want.late {
			t.Errorf("%s: a late release: %+v", algorithm, r)
		}
		if list := got(locks[3]); list[0] != want.free {
			t.Errorf("%s: after a late release c4 gets %v", algorithm, list)
		}
		tb.ways(commandtest.Dead)
		if _, r := locks[3].Acquire(); r.Outcome != lock.Fail {
			t.Errorf("%s: from a dead node c4 gets %+v", algorithm, r)
		}
	}
}

// Who extends its permit keeps it for a TTL more. One that is gone stays gone.
func TestExtendedPermit(t *testing.T) {
	tb := newTable(1)
	_, l1 := tb.sit(t, "c1", semaphore("semaphore"))
	_, l2 := tb.sit(t, "c2", semaphore("semaphore"))
	_, l3 := tb.sit(t, "c3", semaphore("semaphore"))
	g, _ := l1.Acquire()
	tb.T += 800 * time.Millisecond
	g, r := l1.(lock.Extender).Extend(g)
	if r.Outcome != lock.OK || l1.Remaining(g) != time.Second {
		t.Errorf("%+v, %+v", g, r)
	}
	tb.T += 800 * time.Millisecond
	if list := got(l2, l3); !slices.Equal(list, []bool{true, false}) {
		t.Errorf("beside an extended permit c2 and c3 get %v", list)
	}
	tb.T += 300 * time.Millisecond
	got(l3)
	if _, r := l1.(lock.Extender).Extend(g); r.Outcome != lock.Fail {
		t.Errorf("a permit that was taken anew is extended: %+v", r)
	}
}
