package checker

import (
	"context"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

func TestNoFalseAlarm(t *testing.T) {
	both := func(first, second func(s *script)) func(s *script) { return func(s *script) { first(s); second(s) } }
	alarm := func(ms int64) func(s *script) { return func(s *script) { s.lost(ms, "c1") } }
	struck := func(from, to int64, strike history.Strike) func(s *script) {
		return func(s *script) { s.strikes(from, to, strike) }
	}
	deleted := func(ms int64, client string, nodes ...string) func(s *script) {
		return func(s *script) {
			for _, n := range nodes {
				s.key(ms, history.KeyDeleted, n, client, "c1-owner", -1)
			}
		}
	}
	gaveUp := func(left, ms int64) func(s *script) {
		return func(s *script) {
			deleted(ms, "c1", "A")(s)
			s.leftAt(left)
		}
	}
	cut := func(node string) history.Strike {
		return history.Strike{Does: history.Drops, Links: []history.Link{{From: "c1", To: node}}}
	}
	refused := func(ms int64) func(s *script) {
		return func(s *script) {
			s.add(ms, "c1", history.Invoke, history.Extend, history.Value{})
			s.add(ms+1, "c1", history.Fail, history.Extend, history.Value{})
		}
	}
	for _, c := range []struct {
		name  string
		nodes int
		with  func(s *script)
		want  Verdict
	}{
		{"no alarm", 1, nothing, Holds},
		{"an alarm soon after a renewal", 1, alarm(1200), Violated},
		{"a refused extension", 1, refused(1200), Violated},
		{"an alarm of another client", 1, func(s *script) { s.lost(1200, "c2") }, Holds},
		{"an alarm half a TTL after the last renewal", 1, alarm(1500), Violated},
		{"a later one", 1, alarm(1501), Holds},
		{"the only node lost it", 1, both(deleted(1100, "c2", "A"), alarm(1200)), Holds},
		{"two of three have it", 3, both(deleted(1100, "c2", "C"), alarm(1200)), Violated},
		{"one of three has it", 3, both(deleted(1100, "c2", "B", "C"), alarm(1200)), Holds},
		{"the only node cannot be asked", 1, both(struck(1100, 1150, cut("A")), alarm(1200)), Holds},
		{"one of three cannot be asked", 3, both(struck(1100, 1150, cut("B")), alarm(1200)), Violated},
		{"the client was paused", 1, both(struck(1100, 1150, history.Strike{Does: history.Stops, Clients: []string{"c1"}}), alarm(1200)), Holds},
		{"its clock is wrong", 1, both(struck(20, 30, history.Strike{Does: history.BendsClock, Clients: []string{"c1"}}), alarm(1200)), Unknown},
		{"it has given up the lock itself", 1, both(gaveUp(1099, 1100), alarm(1200)), Violated},
		{"a late message did that", 1, both(gaveUp(999, 1100), alarm(1200)), Holds},
		{"its deletion was seen late", 1, both(alarm(1200), gaveUp(1199, 1201)), Violated},
		{"another has it then", 1, both(both(gaveUp(1099, 1100), func(s *script) {
			s.key(1150, history.KeySet, "A", "c2", "c2-owner", 2000)
		}), alarm(1200)), Holds},
		{"the deletion was seen late", 1, both(alarm(1200), deleted(1300, "c2", "A")), Holds},
		{"a deletion afterwards", 1, both(alarm(1200), deleted(1301, "c2", "A")), Violated},
	} {
		s := renewing(c.nodes, 1000, c.with)
		f := Judge(context.Background(), &s.h, []Property{NoFalseAlarm}, Options{})[0]
		if checkShape(t, &s.h, f); f.Verdict != c.want {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
	}
}
