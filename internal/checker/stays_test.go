package checker

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// renewing is a run in which c1 holds a lock on nodes for 3.2 s, and renews it each half second up to renews (ms).
func renewing(nodes int, renews int64, meanwhile func(s *script)) *script {
	s := newScript()
	s.h.Header.Nodes, s.h.Header.Renews = s.h.Header.Nodes[:nodes], true
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	for _, n := range s.h.Header.Nodes {
		s.key(4, history.KeySet, n, "c1", "c1-owner", 1000)
	}
	s.granted(5, "c1", -1, -1)
	for ms := int64(500); ms <= renews; ms += 500 {
		for _, n := range s.h.Header.Nodes {
			s.key(ms, history.KeyExtended, n, "c1", "c1-owner", 1000)
		}
	}
	if meanwhile != nil {
		meanwhile(s)
	}
	s.release(3200, 3201, "c1")
	s.phase(3300, history.PhaseDone)
	return s
}

// expires lets c1's keys end.
func expires(ms int64, nodes ...string) func(s *script) {
	return func(s *script) {
		for _, n := range nodes {
			s.key(ms, history.KeyExpired, n, "", "c1-owner", -1)
		}
	}
}

func (s *script) stalled(ms, took int64) {
	s.add(ms, history.RunProcess, history.Info, history.Stalled, history.Value{Rare: &history.Rare{Took: ns(took)}})
}

func TestStaysHeld(t *testing.T) {
	both := func(first, second func(s *script)) func(s *script) { return func(s *script) { first(s); second(s) } }
	struck := func(does history.Does, strike history.Strike) func(s *script) {
		return func(s *script) {
			strike.Does = does
			s.add(10, history.NemesisProcess, history.Info, history.FaultBegin, history.Value{Rare: &history.Rare{Fault: "it", ID: 1,
				Target: "x", Impact: &history.Impact{Effects: []history.Strike{strike}}}})
			s.add(11, history.NemesisProcess, history.Info, history.FaultEnd, history.Value{Rare: &history.Rare{Fault: "it", ID: 1, Target: "x"}})
			expires(1004, "A")(s)
		}
	}
	link := func(from, to string) history.Strike {
		return history.Strike{Links: []history.Link{{From: from, To: to}}}
	}
	for _, c := range []struct {
		name  string
		s     *script
		want  Verdict
		words string
	}{
		{"renewed", renewing(1, 3000, nil), Holds, "1 grant for longer than the TTL, kept"},
		{"never renewed", renewing(1, 0, expires(1004, "A")), Violated,
			"the lock of c1 was gone 999 ms after it was granted: it was not kept (the TTL is 1.00 s)"},
		{"renewed twice", renewing(1, 1000, expires(2000, "A")), Violated, "2.00 s"},
		{"forgotten before", renewing(1, 1000, both(func(s *script) { s.forget(1200, "c1") }, expires(2000, "A"))), Holds, "1 grant"},
		{"told of it", renewing(1, 0, both(expires(1004, "A"), func(s *script) { s.lost(1004, "c1") })), Violated, ""},
		{"told before", renewing(1, 0, both(func(s *script) { s.lost(1003, "c1") }, expires(1004, "A"))), Violated, ""},
		{"its own deletion", renewing(1, 1000, func(s *script) { s.key(1200, history.KeyDeleted, "A", "c1", "c1-owner", -1) }), Violated, ""},
		{"another's deletion", renewing(1, 0, func(s *script) { s.key(700, history.KeyDeleted, "A", "c2", "c1-owner", -1) }),
			Unknown, "undisturbed"},
		{"a deletion by nobody", renewing(1, 0, func(s *script) { s.key(700, history.KeyDeleted, "A", "", "c1-owner", -1) }), Unknown, ""},
		{"another's key in its place", renewing(1, 0, func(s *script) {
			s.add(600, "c2", history.Invoke, history.Acquire, history.Value{})
			s.key(700, history.KeySet, "A", "c2", "c2-owner", 1000)
			s.granted(701, "c2", -1, -1)
			s.release(710, 711, "c2")
		}), Unknown, ""},
		{"another shortened it", renewing(1, 500, both(func(s *script) { s.key(700, history.KeyExtended, "A", "c2", "c1-owner", 1) },
			expires(1300, "A"))), Unknown, ""},
		{"disturbed after more than a TTL", renewing(1, 1000, func(s *script) { s.key(1006, history.KeyDeleted, "A", "c2", "c1-owner", -1) }),
			Holds, ""},
		{"disturbed after a TTL", renewing(1, 1000, func(s *script) { s.key(1005, history.KeyDeleted, "A", "c2", "c1-owner", -1) }), Unknown, ""},
		{"of five nodes two lost it", renewing(5, 1000, expires(2000, "A", "B")), Holds, ""},
		{"of five nodes three lost it", renewing(5, 1000, expires(2000, "A", "B", "C")), Violated, ""},
		{"another took a node before the next lost it", renewing(5, 0, both(both(expires(1004, "A", "B"),
			func(s *script) { s.key(1010, history.KeySet, "A", "c2", "c2-owner", 1000) }), expires(1020, "C"))), Violated, ""},
		{"the client was paused", renewing(1, 0, struck(history.Stops, history.Strike{Clients: []string{"c1"}})), Unknown, ""},
		{"another client was paused", renewing(1, 0, struck(history.Stops, history.Strike{Clients: []string{"c2"}})), Violated, ""},
		{"a node's clock went wrong", renewing(1, 0, struck(history.BendsClock, history.Strike{Nodes: []string{"A"}})), Unknown, ""},
		{"the client's link was cut", renewing(1, 0, struck(history.Drops, link("A", "c1"))), Unknown, ""},
		{"another client's link was cut", renewing(1, 0, struck(history.Drops, link("c2", "A"))), Violated, ""},
		{"the link to the resource was cut", renewing(1, 0, struck(history.Drops, link("c1", history.ResourceProcess))), Violated, ""},
		{"the resource was killed", renewing(1, 0, struck(history.Kills, history.Strike{Resource: true})), Violated, ""},
		{"a key was unclear", renewing(1, 500, both(func(s *script) { s.key(600, history.KeyUnclear, "A", "", "", -1) },
			both(func(s *script) { s.key(700, history.KeySet, "A", "c1", "c1-owner", 1000) }, expires(1700, "A")))), Unknown, ""},
		{"the machine stalled", renewing(1, 0, both(expires(1004, "A"), func(s *script) { s.stalled(1100, 200) })),
			Unknown, "the machine had stalled"},
		{"it stalled for less than a tenth of the TTL",
			renewing(1, 0, both(expires(1004, "A"), func(s *script) { s.stalled(1100, 195) })), Violated, ""},
		{"it stalled several times", renewing(1, 1500, both(func(s *script) { s.stalled(1600, 60); s.stalled(1700, 60) },
			expires(2500, "A"))), Unknown, ""},
		{"it stalled before the last two TTLs", renewing(1, 0, both(func(s *script) { s.stalled(900, 300) }, expires(2901, "A"))), Violated, ""},
		{"the lock does not renew", func() *script {
			s := renewing(1, 0, expires(1004, "A"))
			s.h.Header.Renews = false
			return s
		}(), Unknown, "does not renew"},
		{"a short grant", func() *script {
			s := renewing(1, 500, nil)
			for i := range s.h.Events {
				s.h.Events[i].Time = min(s.h.Events[i].Time, 1005*time.Millisecond)
			}
			return s
		}(), Unknown, "longer than its TTL"},
	} {
		f := Judge(context.Background(), &c.s.h, []Property{StaysHeld}, Options{})[0]
		checkShape(t, &c.s.h, f)
		if f.Verdict != c.want || !strings.Contains(f.Why, c.words) {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
	}
}
