package checker

import (
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// onOneNode is a lock of c1 on one node, from 5 to 2500 ms, whose key expires at 1005 ms and is
// found to have gone then.
func onOneNode(until int64, meanwhile func(s *script)) *script {
	s := newScript()
	s.h.Header.Nodes = []string{"A"}
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.key(4, history.KeySet, "A", "c1", "c1-owner", 1000)
	s.granted(5, "c1", until, -1)
	s.key(1005, history.KeyExpired, "A", "", "c1-owner", -1)
	meanwhile(s)
	s.release(2500, 2501, "c1")
	s.phase(2600, history.PhaseDone)
	return s
}

// setsAgain is a key that c1 sets again; left < 0: nobody knows when the command left it.
func (s *script) setsAgain(ms, left int64, owner string) {
	s.key(ms, history.KeySet, "A", "c1", owner, 1000)
	if left >= 0 {
		s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(left)
	}
}

func (s *script) lost(ms int64, client string) {
	s.add(ms, client, history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(ms)}})
}

func TestNoResurrection(t *testing.T) {
	renews := func(again func(s *script)) func(s *script) {
		return func(s *script) {
			s.add(1100, "c1", history.Invoke, history.Extend, history.Value{})
			again(s)
			s.add(1110, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(2100)}})
		}
	}
	for _, c := range []struct {
		name  string
		write func(s *script)
		want  Verdict
		why   string
	}{
		{"nothing is set again", func(*script) {}, Holds, "1 grant whose keys had gone"},
		{"a renewal sets it again", renews(func(s *script) { s.setsAgain(1105, -1, "c1-owner") }), Violated, "100 ms"},
		{"another value", renews(func(s *script) { s.setsAgain(1105, -1, "new") }), Holds, ""},
		{"no value", renews(func(s *script) { s.setsAgain(1105, -1, "") }), Holds, ""},
		{"another client", renews(func(s *script) { s.key(1105, history.KeySet, "A", "c2", "c1-owner", 1000) }), Holds, ""},
		{"without a renewal under way", func(s *script) { s.setsAgain(1105, -1, "c1-owner") }, Unknown, "not known when the command left c1"},
		{"of a program, without a time", func(s *script) {
			s.h.Header.Quorum = 1
			renews(func(s *script) { s.setsAgain(1105, -1, "c1-owner") })(s)
		}, Unknown, "not known when the command left c1"},
		{"it left after the answer", func(s *script) { s.setsAgain(1105, 900, "c1-owner") }, Violated, "set its key on node A again"},
		{"it left before the answer", func(s *script) { s.setsAgain(1105, 5, "c1-owner") }, Unknown, "no client's keys were seen to go"},
		{"after a loss was told", func(s *script) { s.lost(1050, "c1"); s.setsAgain(1105, 1100, "c1-owner") }, Holds, ""},
		{"after a new attempt", func(s *script) {
			s.add(1050, "c1", history.Invoke, history.Acquire, history.Value{})
			s.setsAgain(1105, 1100, "c1-owner")
			s.granted(1110, "c1", 2000, -1)
		}, Holds, ""},
		{"after the client was killed", func(s *script) {
			s.fault(1050, true, 1, "kill", "c1")
			s.setsAgain(1105, 1040, "c1-owner")
		}, Holds, ""},
		{"after the node went down with its data", func(s *script) {
			s.add(1050, "A", history.Info, history.NodeDown, history.Value{})
			s.add(1060, "A", history.Info, history.NodeUp, history.Value{Rare: &history.Rare{Detail: "data"}})
			s.setsAgain(1105, 1100, "c1-owner")
		}, Holds, ""},
		{"after the node came back with nothing", func(s *script) {
			s.fault(1050, true, 1, "kill", "A")
			s.add(1051, "A", history.Info, history.NodeDown, history.Value{})
			s.add(1060, "A", history.Info, history.NodeUp, history.Value{Rare: &history.Rare{Detail: "nothing"}})
			s.setsAgain(1105, 1100, "c1-owner")
		}, Violated, ""},
		{"two locks", func(s *script) {
			s.add(1050, "c2", history.Invoke, history.Acquire, history.Value{Extra: &history.Extra{Lock: "other"}})
			s.setsAgain(1105, 1100, "c1-owner")
		}, Unknown, "several locks"},
		{"a key that was unclear", func(s *script) { s.unclear(1050, "A", "c2", "SETBIT"); s.setsAgain(1105, 1100, "c1-owner") },
			Unknown, "SETBIT"},
	} {
		s := onOneNode(900, c.write)
		f := Judge(context.Background(), &s.h, []Property{NoResurrection}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
	}
}

// Setting a key again on a minority brings nothing back: a quorum has the lock all the time.
func TestNoResurrectionOfAMinority(t *testing.T) {
	for _, c := range []struct {
		gone []string
		want Verdict
	}{{[]string{"A"}, Unknown}, {[]string{"A", "B"}, Unknown}, {[]string{"A", "B", "C"}, Violated}} {
		s := newScript()
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		for _, n := range s.h.Header.Nodes {
			s.key(4, history.KeySet, n, "c1", "c1-owner", 1000)
		}
		s.granted(5, "c1", 2900, -1)
		for _, n := range c.gone {
			s.key(100, history.KeyDeleted, n, "", "c1-owner", -1)
		}
		s.setsAgain(200, 190, "c1-owner")
		s.phase(300, history.PhaseDone)
		if f := Judge(context.Background(), &s.h, []Property{NoResurrection}, Options{})[0]; f.Verdict != c.want {
			t.Errorf("gone from %v: %v (%s)", c.gone, f.Verdict, f.Why)
		}
	}
}

func TestToldWhenLost(t *testing.T) {
	lostFirst := func(s *script) { // before the key runs out
		s.lost(1005, "c1")
		s.h.Events[3], s.h.Events[4] = s.h.Events[4], s.h.Events[3]
		s.h.Events[3].Index, s.h.Events[4].Index = 3, 4
	}
	for _, c := range []struct {
		name  string
		until int64
		write func(s *script)
		want  Verdict
		why   string
	}{
		{"never told", -1, func(*script) {}, Violated, "not told for 1.50 s"},
		{"the validity had ended", 900, func(*script) {}, Holds, "1 lost grant, known to the holder in time"},
		{"the validity ends after a TTL", 2005, func(*script) {}, Holds, ""},
		{"the validity ends later", 2006, func(*script) {}, Violated, "not told for 1.00 s"},
		{"a renewal lengthens it", 1500, func(s *script) {
			s.add(1400, "c1", history.Invoke, history.Extend, history.Value{})
			s.add(1500, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(2400)}})
		}, Violated, ""},
		{"a renewal comes after it", 1500, func(s *script) {
			s.add(1400, "c1", history.Invoke, history.Extend, history.Value{})
			s.add(1501, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(2400)}})
		}, Holds, ""},
		{"told in time", -1, func(s *script) { s.lost(2005, "c1") }, Holds, ""},
		{"told too late", -1, func(s *script) { s.lost(2006, "c1") }, Violated, ""},
		{"told before it was gone", -1, lostFirst, Holds, "1 lost grant, known to the holder in time"},
		{"told before it was gone for too short a time", -1, func(s *script) {
			lostFirst(s)
			s.setsAgain(1800, 1700, "c1-owner")
		}, Unknown, "no holder's keys were seen to go"},
		{"another is told", -1, func(s *script) { s.lost(1500, "c2") }, Violated, ""},
		{"stopped for most of the time", -1, func(s *script) {
			s.fault(1100, true, 1, "pause", "c1")
			s.fault(1600, false, 1, "pause", "c1")
		}, Unknown, "no holder's keys were seen to go"},
		{"stopped for too short a time", -1, func(s *script) {
			s.fault(1100, true, 1, "pause", "c1")
			s.fault(1550, false, 1, "pause", "c1")
		}, Violated, "not told for 1.04 s"},
		{"the key comes back", -1, func(s *script) { s.setsAgain(1800, 1700, "c1-owner") }, Unknown, "no holder's keys were seen to go"},
		{"its clock was bent", -1, func(s *script) { s.fault(1100, true, 1, "clock", "c1") }, Unknown, ""},
		{"the history does not say the TTL", -1, func(s *script) { s.h.Header.TTL = 0 }, Unknown, "TTL"},
		{"a program that never renewed", -1, func(s *script) {
			s.h.Header.Quorum = 1
			s.h.Events[1].Value.OwnOutcome().At, s.h.Events[1].Value.OwnGrant().ValidUntil = ns(3), ns(1003)
		}, Holds, ""},
		{"a program that renewed", -1, func(s *script) {
			s.h.Header.Quorum = 1
			s.h.Events[1].Value.OwnOutcome().At, s.h.Events[1].Value.OwnGrant().ValidUntil = ns(3), ns(503)
			s.key(300, history.KeyExtended, "A", "c1", "c1-owner", 700)
			s.h.Events[4].Value.OwnOutcome().At, s.h.Events[4].Value.OwnGrant().ValidUntil = ns(299), ns(999)
			s.h.Events[3], s.h.Events[4] = s.h.Events[4], s.h.Events[3]
			s.h.Events[3].Index, s.h.Events[4].Index = 3, 4
		}, Violated, ""},
		{"a program that says it renews, and did not", -1, func(s *script) {
			s.h.Header.Quorum, s.h.Header.Renews = 1, true
			s.h.Events[1].Value.OwnOutcome().At, s.h.Events[1].Value.OwnGrant().ValidUntil = ns(3), ns(1003)
		}, Violated, ""},
		{"a program of which nobody knows what it asked for",
			-1, func(s *script) { s.h.Header.Quorum = 1 }, Unknown, "not known what c1 was promised"},
	} {
		s := onOneNode(c.until, c.write)
		f := Judge(context.Background(), &s.h, []Property{ToldWhenLost}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
	}
}
