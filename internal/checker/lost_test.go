package checker

import (
	"context"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// TestLossToldLate: c1 has the lock from 10 ms on, c2 from 200 ms on; at 450 ms c1 is told that it lost the lock before
// c2 got it. That counts unless c1 held on after the instant that it is told.
func TestLossToldLate(t *testing.T) {
	loses := func(owner string, at, by int64) func(s *script) {
		return func(s *script) {
			s.add(450, "c1", history.Info, history.Lost, history.Value{Owner: owner, Outcome: &history.Outcome{At: ns(at), AtError: by * 1e6}})
		}
	}
	both := func(first, then func(s *script)) func(s *script) { return func(s *script) { first(s); then(s) } }
	renews := func(owner string) func(s *script) {
		return func(s *script) {
			s.add(90, "c1", history.Invoke, history.Extend, history.Value{Owner: owner})
			s.add(110, "c1", history.OK, history.Extend, history.Value{Owner: owner, Grant: &history.Grant{ValidUntil: ns(2000)}})
		}
	}
	asks := func(client string, f history.F, left int64) func(s *script) {
		return func(s *script) {
			s.key(110, f, "A", client, "c1-owner", 1000)
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(left)
		}
	}
	reads := func(client string) func(s *script) { return func(s *script) { s.read(110, client, 1, 0) } }
	for _, c := range []struct {
		name          string
		before, after func(s *script) // the second holder's grant
		want          Verdict
	}{
		{"nothing speaks against it", nil, loses("c1-owner", 100, 0), Holds},
		{"it was not told of it", nil, nil, Violated},
		{"another grant was lost", nil, loses("older", 100, 0), Violated},
		{"before the answer", nil, loses("c1-owner", 9, 0), Violated},
		{"at the answer", nil, loses("c1-owner", 10, 0), Holds},
		{"before it asked", nil, loses("c1-owner", -5, 0), Violated},
		{"later than told", nil, loses("c1-owner", 451, 300), Violated},
		{"the lock was renewed after it", renews("c1-owner"), loses("c1-owner", 100, 0), Violated},
		{"the lock was renewed in that instant", renews(""), loses("c1-owner", 110, 0), Holds},
		{"another grant was renewed after it", renews("older"), loses("c1-owner", 100, 0), Holds},
		{"a command for its key left after it", asks("c1", history.KeyExtended, 101), loses("c1-owner", 100, 0), Violated},
		{"it set its key after it", asks("c1", history.KeySet, 101), loses("c1-owner", 100, 0), Violated},
		{"a command for its key was under way", asks("c1", history.KeyExtended, 99), loses("c1-owner", 100, 0), Holds},
		{"another's command left after it", asks("c3", history.KeyExtended, 101), loses("c1-owner", 100, 0), Holds},
		{"it used the resource after it", reads("c1"), loses("c1-owner", 100, 0), Violated},
		{"another used the resource", reads("c3"), loses("c1-owner", 100, 0), Holds},
		{"it used the resource after the message", nil, both(loses("c1-owner", 100, 0), func(s *script) { s.read(460, "c1", 1, 0) }), Holds},
		{"it asked once more, and got the lock after the message", func(s *script) {
			s.add(110, "c1", history.Invoke, history.Acquire, history.Value{})
		}, both(loses("c1-owner", 100, 0), func(s *script) {
			s.release(455, 456, "c2")
			s.granted(460, "c1", -1, -1)
		}), Holds},
		{"it used the resource for another lock, too", func(s *script) {
			s.add(50, "c1", history.Invoke, history.Acquire, history.Value{Extra: &history.Extra{Lock: "other"}})
			s.add(60, "c1", history.OK, history.Acquire, history.Value{Extra: &history.Extra{Lock: "other"}, Owner: "o"})
			s.read(110, "c1", 1, 0)
		}, loses("c1-owner", 100, 0), Holds},
	} {
		s := newScript()
		s.h.Header.Nodes = []string{"A"}
		s.acquire(0, 10, "c1", 1000, -1)
		if c.before != nil {
			c.before(s)
		}
		s.acquire(190, 200, "c2", 1200, -1)
		s.refused(210, 220, "c3") // which could have been granted
		if c.after != nil {
			c.after(s)
		}
		s.phase(600, history.PhaseDone)
		for _, f := range Judge(context.Background(), &s.h, []Property{ExclusiveBelief, ExclusiveLease}, Options{}) {
			checkShape(t, &s.h, f)
			if f.Verdict != c.want {
				t.Errorf("%s: %s: %v (%s)", c.name, f.Property, f.Verdict, f.Why)
			}
		}
	}
}

// A loss that cannot be true as it is told ends the belief when it is told.
func TestLossThatCannotBeTrueCountsFromItsMessage(t *testing.T) {
	for _, c := range []struct {
		older string // the owner value of an older grant
		want  Verdict
	}{{"", Holds}, {"another", Holds}, {"c1-owner", Violated}} {
		s := newScript()
		if c.older != "" { // it may be about this one
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			s.add(10, "c1", history.OK, history.Acquire, history.Value{Owner: c.older})
			s.release(16, 17, "c1")
		}
		s.acquire(20, 30, "c1", -1, -1)
		s.add(100, "c1", history.Info, history.Lost, history.Value{Owner: "c1-owner", Outcome: &history.Outcome{At: ns(15)}})
		s.acquire(190, 200, "c2", 1200, -1)
		s.refused(210, 220, "c3") // which could have been granted
		s.phase(600, history.PhaseDone)
		f := Judge(context.Background(), &s.h, []Property{ExclusiveLease}, Options{})[0]
		if f.Verdict != c.want {
			t.Errorf("an older grant with the owner value %q: %v (%s)", c.older, f.Verdict, f.Why)
		}
	}
}

// Who enters a lock again after it was told that it had lost it has no more of it than that.
func TestReentryAfterALoss(t *testing.T) {
	s := newScript()
	s.acquire(0, 10, "c1", 1000, -1)
	s.add(110, "c1", history.Info, history.Lost, history.Value{Owner: "c1-owner", Outcome: &history.Outcome{At: ns(100)}})
	s.acquire(120, 130, "c1", -1, -1)
	s.acquire(190, 200, "c2", 1200, -1)
	s.refused(210, 220, "c3") // which could have been granted
	s.phase(600, history.PhaseDone)
	if f := judgeOne(t, &s.h, ExclusiveLease, Options{}); f.Verdict != Holds {
		t.Errorf("%v (%s)", f.Verdict, f.Why)
	}
}
