package checker

import (
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// heldAndWritten is a lock on one node that c1 holds from 5 ms on, by a key with the value mark. c2 asks for it at 10 ms.
func heldAndWritten(mark, tells string, meanwhile func(s *script)) *script {
	s := newScript()
	s.h.Header.Nodes = []string{"A"}
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.key(4, history.KeySet, "A", "c1", mark, 1000)
	s.add(5, "c1", history.OK, history.Acquire, history.Value{Owner: tells})
	s.add(10, "c2", history.Invoke, history.Acquire, history.Value{})
	meanwhile(s)
	s.phase(5000, history.PhaseDone)
	return s
}

func (s *script) answered(ms int64, client string, t history.Type, owner string) {
	s.add(ms, client, t, history.Acquire, history.Value{Owner: owner})
}

// TestWhoseKey: a waiter that is refused, and writes the key all the same, does not become its owner.
func TestWhoseKey(t *testing.T) {
	sets := func(s *script, ms int64, client, value string) { s.key(ms, history.KeySet, "A", client, value, 990) }
	deletes := func(s *script, ms int64, client, value string) {
		s.key(ms, history.KeyDeleted, "A", client, value, -1)
	}
	for _, c := range []struct {
		name, mark, tells string
		write             func(s *script)
		want              Verdict
		why               string
	}{
		{"a waiter counts itself", "1", "", func(s *script) {
			sets(s, 11, "c2", "2")
			s.answered(12, "c2", history.Fail, "")
			deletes(s, 20, "c1", "2")
		}, Holds, "1 key change"},
		{"its lock tells a value that is not in the key", "1", "c1-x", func(s *script) {
			sets(s, 11, "c2", "2")
			s.answered(12, "c2", history.Fail, "")
			deletes(s, 20, "c1", "2")
		}, Holds, "1 key change"},
		{"a waiter that has counted itself deletes the key", "1", "", func(s *script) {
			sets(s, 11, "c2", "2")
			s.answered(12, "c2", history.Fail, "")
			deletes(s, 13, "c2", "2")
		}, Violated, "c2 deleted the key of c1"},
		{"a waiter writes the holder's value back", "x", "x", func(s *script) {
			sets(s, 11, "c2", "x")
			s.answered(12, "c2", history.Fail, "")
			deletes(s, 20, "c1", "x")
		}, Holds, "1 key change"},
		{"a waiter writes it back, and deletes it", "x", "x", func(s *script) {
			sets(s, 11, "c2", "x")
			s.answered(12, "c2", history.Fail, "")
			deletes(s, 13, "c2", "x")
		}, Violated, "c2 deleted the key of c1"},
		{"a waiter overwrites the holder's value, and is refused", "x", "x", func(s *script) {
			sets(s, 11, "c2", "y")
			s.answered(12, "c2", history.Fail, "")
			deletes(s, 20, "c1", "y")
		}, Unknown, ""},
		{"it deletes what it wrote", "x", "x", func(s *script) {
			sets(s, 11, "c2", "y")
			s.answered(12, "c2", history.Fail, "")
			deletes(s, 20, "c2", "y")
		}, Unknown, ""},
		{"a waiter exchanges the value, and puts it back", "x", "x", func(s *script) {
			sets(s, 11, "c2", "y")
			sets(s, 12, "c2", "x")
			s.answered(13, "c2", history.Fail, "")
			deletes(s, 20, "c1", "x")
		}, Holds, "1 key change"},
		{"a client is granted the lock by overwriting it", "x", "x", func(s *script) {
			sets(s, 11, "c2", "y")
			s.answered(12, "c2", history.OK, "y")
			deletes(s, 20, "c1", "y")
		}, Violated, "c1 deleted the key of c2"},
		{"its key is observed after its answer", "x", "x", func(s *script) {
			s.answered(12, "c2", history.OK, "y")
			sets(s, 13, "c2", "y")
			deletes(s, 20, "c1", "y")
		}, Violated, "c1 deleted the key of c2"},
		{"and after its release", "x", "x", func(s *script) {
			s.answered(12, "c2", history.OK, "y")
			s.add(13, "c2", history.Invoke, history.Release, history.Value{})
			sets(s, 14, "c2", "y")
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(12)
			deletes(s, 20, "c1", "y")
		}, Violated, "c1 deleted the key of c2"},
		{"a request of a client that has released comes late", "1", "", func(s *script) {
			s.answered(12, "c2", history.OK, "")
			s.add(13, "c2", history.Invoke, history.Release, history.Value{})
			sets(s, 14, "c2", "2")
			deletes(s, 20, "c1", "2")
		}, Holds, "1 key change"},
		{"a waiter counts itself, and gets the lock when it is free", "1", "", func(s *script) {
			sets(s, 11, "c2", "2")
			s.key(15, history.KeyExtended, "A", "c1", "2", 1000)
			deletes(s, 20, "c1", "2")
			sets(s, 21, "c2", "1")
			s.answered(22, "c2", history.OK, "")
			deletes(s, 30, "c2", "1")
		}, Holds, "3 key changes"},
		{"the try that is granted is observed after the answer, those before it, too", "1", "", func(s *script) {
			sets(s, 11, "c2", "2")
			s.answered(14, "c2", history.OK, "")
			sets(s, 15, "c2", "3")
			deletes(s, 16, "c1", "3")
			sets(s, 17, "c2", "1")
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(13)
			deletes(s, 30, "c2", "1")
		}, Holds, "2 key changes"},
		{"what it sets after the answer is no try", "1", "", func(s *script) {
			s.answered(14, "c2", history.OK, "")
			sets(s, 15, "c2", "3")
			deletes(s, 16, "c1", "3")
			sets(s, 20, "c2", "1")
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(19)
		}, Violated, "c1 deleted the key of c2"},
		{"the holder gives the lock back by writing", "1", "", func(s *script) {
			sets(s, 11, "c2", "1")
			s.key(15, history.KeyExtended, "A", "c1", "1", 1000)
			sets(s, 20, "c1", "0")
			sets(s, 21, "c2", "1")
			s.answered(22, "c2", history.OK, "")
			s.key(25, history.KeyExtended, "A", "c2", "1", 1000)
		}, Holds, "2 key changes"},
		{"another waits, too", "1", "", func(s *script) {
			s.add(10, "c3", history.Invoke, history.Acquire, history.Value{})
			sets(s, 11, "c2", "2")
			sets(s, 12, "c3", "3")
			s.answered(13, "c2", history.Fail, "")
			s.answered(13, "c3", history.Fail, "")
			s.key(15, history.KeyExtended, "A", "c1", "3", 1000)
		}, Holds, "1 key change"},
		{"nobody knows whether it was granted the lock", "1", "", func(s *script) {
			sets(s, 11, "c2", "2")
			s.answered(12, "c2", history.Info, "")
			deletes(s, 20, "c1", "2")
		}, Unknown, ""},
		{"the key was gone before its attempt ended in doubt", "1", "", func(s *script) {
			sets(s, 11, "c2", "2")
			deletes(s, 20, "c1", "2")
			s.answered(30, "c2", history.Info, "")
		}, Holds, "1 key change"},
		{"nobody's grant rests on the key", "", "", func(s *script) {
			s.key(10, history.KeyExpired, "A", "", "", -1)
			s.add(10, "c3", history.Invoke, history.Acquire, history.Value{})
			sets(s, 11, "c3", "3")
			s.answered(12, "c3", history.Fail, "")
			sets(s, 13, "c2", "4")
			deletes(s, 14, "c3", "4")
		}, Violated, "c3 deleted the key of c2"},
	} {
		s := heldAndWritten(c.mark, c.tells, c.write)
		f := Judge(context.Background(), &s.h, []Property{OwnerRelease}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
	}
}

// A waiter writes the key for longer than the TTL, and its holder renews it: nothing is lost, and no
// key is without an owner. If the holder dies, its key is the orphan.
func TestWaitersWriteWhileTheHolderRenews(t *testing.T) {
	waiterAndRenewals := func(s *script) {
		s.key(11, history.KeySet, "A", "c2", "2", 990)
		s.answered(12, "c2", history.Fail, "")
		for ms := int64(901); ms < 3000; ms += 700 {
			s.key(ms, history.KeyExtended, "A", "c1", "2", 1000)
		}
	}
	for _, c := range []struct {
		name  string
		write func(s *script)
		of    Property
		want  Verdict
		why   string
	}{
		{"it releases", func(s *script) {
			waiterAndRenewals(s)
			s.add(3001, "c1", history.Invoke, history.Release, history.Value{})
			s.key(3002, history.KeyDeleted, "A", "c1", "2", -1)
		}, NoOrphanLock, Holds, "1 key"},
		{"it keeps the lock", waiterAndRenewals, ToldWhenLost, Unknown, "no holder's keys were seen to go"},
		{"it keeps the lock", waiterAndRenewals, NoResurrection, Unknown, "no client's keys were seen to go"},
		{"it dies, and its key lives on", func(s *script) {
			s.fault(10, true, 1, "kill", "c1")
			waiterAndRenewals(s)
		}, NoOrphanLock, Violated, "the key of c1"},
		{"it dies, and what the waiter writes keeps its key", func(s *script) {
			s.fault(10, true, 1, "kill", "c1")
			s.key(11, history.KeySet, "A", "c2", "2", 3000)
			s.answered(12, "c2", history.Fail, "")
		}, NoOrphanLock, Violated, "the key of c1"},
		{"it loses the key", func(s *script) {
			waiterAndRenewals(s)
			s.key(2500, history.KeyDeleted, "A", "", "2", -1)
		}, ToldWhenLost, Violated, "not told for 2.50 s"},
	} {
		s := heldAndWritten("1", "", c.write)
		f := Judge(context.Background(), &s.h, []Property{c.of}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %s: %v (%s)", c.name, c.of, f.Verdict, f.Why)
		}
	}
}

// A write that leaves the key another's does not confirm a grant.
func TestAWaitersWriteConfirmsNothing(t *testing.T) {
	for _, c := range []struct {
		again bool
		want  bool
	}{{false, false}, {true, true}} {
		s := heldAndWritten("1", "", func(s *script) {
			s.key(11, history.KeySet, "A", "c2", "2", 990)
			s.key(20, history.KeyDeleted, "A", "", "2", -1)
			if c.again {
				s.key(21, history.KeySet, "A", "c2", "1", 1000)
			}
			s.answered(22, "c2", history.OK, "")
			s.add(3000, "c1", history.Invoke, history.Release, history.Value{})
		})
		f := Judge(context.Background(), &s.h, []Property{ExclusiveBelief}, Options{})[0]
		if ok, why := Confirmed(&s.h, f.Property, f.Counterexample); f.Verdict != Violated || ok != c.want {
			t.Errorf("the key is set again: %v: %v, confirmed: %v (%s)", c.again, f.Verdict, ok, why)
		}
	}
}
