package checker

import (
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// twoLocks is a client that gets lock a at 2 ms and lock b at 4 ms, and writes at 500 ms with token 1.
func twoLocks(aUntil, bUntil int64, answer history.Type, meanwhile func(s *script)) *script {
	s := newScript()
	of := func(lock string) *history.Extra { return &history.Extra{Lock: lock} }
	for n, lock := range []string{"a", "b"} {
		until := []int64{aUntil, bUntil}[n]
		s.add(int64(1+2*n), "c1", history.Invoke, history.Acquire, history.Value{Extra: of(lock)})
		v := history.Value{Extra: of(lock), Owner: lock + "-owner", Grant: &history.Grant{}}
		if until >= 0 {
			v.OwnGrant().ValidUntil = ns(until)
		}
		s.add(int64(2+2*n), "c1", history.OK, history.Acquire, v)
	}
	meanwhile(s)
	s.write(500, "c1", 1, 1, answer, 1)
	s.phase(600, history.PhaseDone)
	return s
}

// TestActsUnderSeveralLocks: what a client does names no lock. It is late only if it is late for each lock that it has.
func TestActsUnderSeveralLocks(t *testing.T) {
	gives := func(locks ...string) func(s *script) {
		return func(s *script) {
			for n, lock := range locks {
				s.add(int64(10+2*n), "c1", history.Invoke, history.Release, history.Value{Extra: &history.Extra{Lock: lock}})
				s.add(int64(11+2*n), "c1", history.OK, history.Release, history.Value{Extra: &history.Extra{Lock: lock}})
			}
		}
	}
	for _, c := range []struct {
		name           string
		aUntil, bUntil int64
		write          func(s *script)
		answer         history.Type
		of             Property
		want           Verdict
	}{
		{"the later one is given back, the other goes on", 900, 100, gives("b"), history.OK, NoLateEffect, Holds},
		{"the later one is over, the other goes on", 900, 100, gives(), history.OK, NoLateEffect, Holds},
		{"the other one is over, the later goes on", 100, 900, gives(), history.OK, NoLateEffect, Holds},
		{"both are over", 100, 200, gives(), history.OK, NoLateEffect, Violated},
		{"one is over, the other promises no end", 100, -1, gives(), history.OK, NoLateEffect, Unknown},
		{"one is over, the other was given back", 100, 900, gives("b"), history.OK, NoLateEffect, Violated},
		{"both were given back, one goes on", 100, 900, gives("a", "b"), history.OK, NoLateEffect, Holds},
		{"both go on, and it is refused", 900, 900, gives(), history.Fail, HolderServed, Violated},
		{"one is over, and it is refused", 100, 900, gives(), history.Fail, HolderServed, Unknown},
		{"one was given back, and it is refused", 100, 900, gives("a"), history.Fail, HolderServed, Violated},
	} {
		s := twoLocks(c.aUntil, c.bUntil, c.answer, c.write)
		f := Judge(context.Background(), &s.h, []Property{c.of}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != c.want {
			t.Errorf("%s: %s: %v (%s)", c.name, c.of, f.Verdict, f.Why)
		}
	}
}

// TestLossOfAnotherGrant: what was told of one grant says nothing of another.
func TestLossOfAnotherGrant(t *testing.T) {
	tells := func(owner string, at int64) func(s *script) {
		return func(s *script) {
			s.add(1200, "c1", history.Info, history.Lost, history.Value{Owner: owner, Outcome: &history.Outcome{At: ns(at)}})
		}
	}
	for _, c := range []struct {
		name  string
		write func(s *script)
		of    Property
		want  Verdict
	}{
		{"the loss of this one", tells("c1-owner", 1100), ToldWhenLost, Holds},
		{"the loss of another", tells("c1-older", 1100), ToldWhenLost, Violated},
		{"the loss of this one, and it is set again", func(s *script) {
			tells("c1-owner", 1100)(s)
			s.setsAgain(1300, 1290, "c1-owner")
		}, NoResurrection, Holds},
		{"the loss of another, and it is set again", func(s *script) {
			tells("c1-older", 1100)(s)
			s.setsAgain(1300, 1290, "c1-owner")
		}, NoResurrection, Violated},
	} {
		s := onOneNode(-1, c.write)
		f := Judge(context.Background(), &s.h, []Property{c.of}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != c.want {
			t.Errorf("%s: %s: %v (%s)", c.name, c.of, f.Verdict, f.Why)
		}
	}
}

// TestAuxiliaryKeys: a key that one client alone sets does not hide that the lock's key is gone.
func TestAuxiliaryKeys(t *testing.T) {
	for _, c := range []struct {
		name  string
		keys  map[string][]string // the keys that each client sets
		want  Verdict
		words string
	}{
		{"a key of each client", map[string][]string{"c1": {"lock", "lock:c1"}, "c2": {"lock", "lock:c2"}}, Violated, "not told for 1.50 s"},
		{"several keys of all", map[string][]string{"c1": {"lock", "lock:2"}, "c2": {"lock", "lock:2"}}, Unknown, "no holder's keys"},
		{"keys of each client alone", map[string][]string{"c1": {"lock", "lock:c1"}, "c2": {"lock:c2"}}, Unknown, "no holder's keys"},
	} {
		s := newScript()
		s.h.Header.Nodes = []string{"A"}
		sets := func(ms int64, client string) {
			for _, key := range c.keys[client] {
				s.key(ms, history.KeySet, "A", client, client+"-owner", 1000)
				s.h.Events[len(s.h.Events)-1].Value.Key = key
			}
		}
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		sets(4, "c1")
		s.granted(5, "c1", -1, -1)
		s.key(1005, history.KeyExpired, "A", "", "c1-owner", -1)
		s.release(2506, 2507, "c1")
		s.add(3000, "c2", history.Invoke, history.Acquire, history.Value{})
		sets(3004, "c2")
		s.granted(3005, "c2", -1, -1)
		s.phase(3100, history.PhaseDone)
		f := Judge(context.Background(), &s.h, []Property{ToldWhenLost}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != c.want || !strings.Contains(f.Why, c.words) {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
	}
}
