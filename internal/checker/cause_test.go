package checker

import (
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// TestWhyTwoHolders: c1 gets the lock at 5 ms for 1000 ms, something becomes of its key, and c2 gets the lock.
func TestWhyTwoHolders(t *testing.T) {
	goes := func(ms int64, f history.F, client string) func(s *script) {
		return func(s *script) { s.key(ms, f, "A", client, "c1-owner", -1) }
	}
	for _, c := range []struct {
		name    string
		write   func(s *script)
		want    cause
		dropped bool
	}{
		{"the node evicts it", goes(300, history.KeyDeleted, ""), remembers, true},
		{"the node lets it expire before its end", goes(300, history.KeyExpired, ""), remembers, true},
		{"it was renewed, and expires as if it had not been", func(s *script) {
			s.key(300, history.KeyExtended, "A", "c1", "c1-owner", 1000)
			goes(1004, history.KeyExpired, "")(s)
		}, remembers, true},
		{"the node forgets it as a fault has it", func(s *script) {
			s.fault(290, true, 1, "forget", "A")
			goes(300, history.KeyDeleted, "")(s)
		}, remembers, false},
		{"the node's clock had been bent", func(s *script) {
			s.fault(200, true, 1, "clock", "A")
			goes(300, history.KeyExpired, "")(s)
		}, samePace, false},
		{"it expires at its end", goes(1004, history.KeyExpired, ""), countsEarly, false},
		{"it expires at its end, and was stamped late when it was set", goes(998, history.KeyExpired, ""), countsEarly, false},
		{"it expires at the end that was asked for, and was stamped late", func(s *script) {
			v := &s.h.Events[1].Value
			v.OwnOutcome().At, v.OwnGrant().ValidUntil = ns(-700), ns(300)
			goes(301, history.KeyExpired, "")(s)
		}, countsEarly, false},
		{"it expires at its end, and the lock program told twice its TTL", func(s *script) {
			s.h.Header.Quorum, s.h.Header.TTL = 1, ns(1000).V()
			v := &s.h.Events[1].Value
			v.OwnOutcome().At, v.OwnGrant().ValidUntil = ns(3), ns(1003)
			goes(1004, history.KeyExpired, "")(s)
		}, tellsTrue, false},
		{"another client deletes it", goes(300, history.KeyDeleted, "c3"), ownDelete, false},
		{"its own client deletes it", goes(300, history.KeyDeleted, "c1"), keepsOwn, false},
		{"its own client deletes it, after a fault that was over long before", func(s *script) {
			s.fault(10, true, 1, "pause", "c1")
			s.fault(20, false, 1, "pause", "c1")
			s.key(30, history.KeySet, "A", "c1", "c1-owner", 1000)
			goes(300, history.KeyDeleted, "c1")(s)
		}, keepsOwn, false},
		{"its own client deletes it by a command that a fault had held up", func(s *script) {
			s.fault(10, true, 1, "pause", "c1")
			s.key(30, history.KeySet, "A", "c1", "c1-owner", 1000)
			s.fault(290, false, 1, "pause", "c1")
			goes(300, history.KeyDeleted, "c1")(s)
		}, lateDelete, false},
		{"its own client deletes it while it renews, after a fault", func(s *script) {
			s.fault(10, true, 1, "pause", "c1")
			s.key(30, history.KeySet, "A", "c1", "c1-owner", 1000)
			s.fault(290, false, 1, "pause", "c1")
			s.add(295, "c1", history.Invoke, history.Extend, history.Value{})
			goes(300, history.KeyDeleted, "c1")(s)
			s.add(305, "c1", history.Fail, history.Extend, history.Value{})
		}, keepsOwn, false},
		{"a third client sets it", func(s *script) { s.key(300, history.KeySet, "A", "c3", "c3-owner", 50) }, setOnce, false},
		{"a third client, which had it before, renews by setting it", func(s *script) {
			s.acquire(10, 12, "c3", 11, -1)
			s.key(300, history.KeySet, "A", "c3", "c3-owner", 50)
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(299)
			goes(320, history.KeyDeleted, "c3")(s)
		}, renewsOwn, false},
		{"it is not known what became of it", func(s *script) { s.unclear(300, "A", "", "EVAL") }, notSeen, false},
		{"it is overwritten by a client whose clock had been bent", func(s *script) { s.fault(200, true, 1, "clock", "c2") }, samePace, false},
		{"the second sets none", func(*script) {}, backedByKey, false},
		{"it is overwritten", func(*script) {}, setOnce, false},
	} {
		s := newScript()
		s.h.Header.Nodes = []string{"A"}
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(4, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(5, "c1", 2000, -1)
		c.write(s)
		at := max(s.h.Events[len(s.h.Events)-1].Time.Milliseconds(), 400)
		s.add(at, "c2", history.Invoke, history.Acquire, history.Value{})
		if c.name != "the second sets none" {
			s.key(at+1, history.KeySet, "A", "c2", "c2-owner", 1000)
		}
		s.granted(at+2, "c2", 2500, -1)
		s.phase(3000, history.PhaseDone)
		f := Judge(context.Background(), &s.h, []Property{ExclusiveLease}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != Violated || f.Counterexample.Assumption != string(c.want) {
			t.Errorf("%s: %v, %+v", c.name, f.Verdict, f.Counterexample)
			continue
		}
		var story strings.Builder
		for _, sentence := range f.Counterexample.Story {
			story.WriteString(sentence.Text + "\n")
		}
		if strings.Contains(story.String(), "node A dropped the key of c1") != c.dropped {
			t.Errorf("%s: the story:\n%s", c.name, &story)
		}
	}
}

// TestKeyOfAPromotedReplica: a replica with a wrong clock takes over and lets the key expire. It had the key, though the lock does not
// tell by which value to know it.
func TestKeyOfAPromotedReplica(t *testing.T) {
	s := newScript()
	s.h.Header.Nodes, s.h.Header.Quorum = []string{"A", "B"}, 1
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.key(4, history.KeySet, "A", "c1", "c1-owner", 1000)
	s.key(5, history.KeySet, "B", "", "c1-owner", 1000)
	s.granted(6, "c1", 2000, -1)
	s.h.Events[len(s.h.Events)-1].Value.Owner = ""
	s.fault(200, true, 1, "clock", "B")
	s.fault(210, true, 2, "kill", "A")
	s.add(250, "B", history.Info, history.NodePromoted, history.Value{})
	s.key(300, history.KeyExpired, "B", "", "c1-owner", -1)
	s.add(400, "c2", history.Invoke, history.Acquire, history.Value{})
	s.key(401, history.KeySet, "B", "c2", "c2-owner", 1000)
	s.granted(402, "c2", 2500, -1)
	s.phase(3000, history.PhaseDone)
	f := Judge(context.Background(), &s.h, []Property{ExclusiveLease}, Options{})[0]
	if f.Verdict != Violated || f.Counterexample.Assumption != string(samePace) {
		t.Errorf("%v, %+v", f.Verdict, f.Counterexample)
	}
}
