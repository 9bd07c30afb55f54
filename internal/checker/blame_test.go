package checker

import (
	"context"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Where the lock did wrong on some nodes, the blame is on what gave the second client a quorum: on a clock if it ended enough
// keys by itself, and on the lock if it did not.
func TestBlamed(t *testing.T) {
	for _, c := range []struct {
		name                   string
		expire, deleted, never []string // never: c1 set no key there
		want                   Blame
	}{
		{"a clock alone", []string{"A", "B"}, nil, nil, BlamesClocks},
		{"a clock, and the lock deletes the rest", []string{"A", "B"}, []string{"C"}, nil, BlamesClocks},
		{"a clock, the lock, and nodes without the first one's keys", []string{"A", "B"}, []string{"C"}, []string{"D", "E"}, BlamesClocks},
		{"a clock on too few nodes, and the lock", []string{"A"}, []string{"B"}, nil, BlamesLock},
		{"the lock, though a clock was bent", nil, []string{"A", "B", "C"}, nil, BlamesLock},
	} {
		s := newScript()
		s.h.Header.Nodes, s.h.Header.Quorum = []string{"A", "B", "C"}, 2
		if len(c.never) > 0 {
			s.h.Header.Nodes, s.h.Header.Quorum = append(s.h.Header.Nodes, c.never...), 3
		}
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		for _, node := range []string{"A", "B", "C"} {
			s.key(4, history.KeySet, node, "c1", "c1-owner", 1000)
		}
		s.granted(5, "c1", 2000, -1)
		s.h.Events[len(s.h.Events)-1].Value.Grant.Nodes = nil // it does not tell where
		for i, node := range []string{"A", "B"} {
			s.fault(200, true, i+1, "clock", node)
		}
		for _, node := range c.expire {
			s.key(300, history.KeyExpired, node, "", "c1-owner", -1)
		}
		for _, node := range c.deleted {
			s.key(301, history.KeyDeleted, node, "c1", "c1-owner", -1)
		}
		s.add(400, "c2", history.Invoke, history.Acquire, history.Value{})
		for _, node := range slices.Concat(c.expire, c.deleted, c.never) {
			s.key(401, history.KeySet, node, "c2", "c2-owner", 1000)
		}
		s.granted(402, "c2", 2500, -1)
		s.phase(3000, history.PhaseDone)
		f := Judge(context.Background(), &s.h, []Property{ExclusiveLease}, Options{})[0]
		if got := Blamed(&s.h, f.Property, f.Counterexample); f.Verdict != Violated || got != c.want {
			t.Errorf("%s: %v, blamed is %q, want %q", c.name, f.Verdict, got, c.want)
		}
	}
	if got := Blamed(&history.History{}, ExclusiveLease, nil); got != BlamesNothing {
		t.Errorf("what holds blames %q", got)
	}
}
