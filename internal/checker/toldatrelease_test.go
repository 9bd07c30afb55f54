package checker

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// givesBack is a run in which c1's lock on node A ends at 1004 ms. c1 asks for the release at 2000 ms, and is answered at 2002 ms.
func givesBack(answer history.Type, meanwhile func(s *script)) *script {
	s := newScript()
	s.h.Header.Nodes = s.h.Header.Nodes[:1]
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.key(4, history.KeySet, "A", "c1", "c1-owner", 1000)
	s.granted(5, "c1", -1, -1)
	s.key(1004, history.KeyExpired, "A", "", "c1-owner", -1)
	meanwhile(s)
	s.add(2000, "c1", history.Invoke, history.Release, history.Value{})
	s.add(2002, "c1", answer, history.Release, history.Value{})
	s.phase(3300, history.PhaseDone)
	return s
}

// strikes is a fault that does something from an instant to another.
func (s *script) strikes(from, to int64, strike history.Strike) {
	about := &history.Rare{Fault: "it", ID: 1, Target: "x", Impact: &history.Impact{Effects: []history.Strike{strike}}}
	s.add(from, history.NemesisProcess, history.Info, history.FaultBegin, history.Value{Rare: about})
	s.add(to, history.NemesisProcess, history.Info, history.FaultEnd, history.Value{Rare: about})
}

func TestToldAtRelease(t *testing.T) {
	struck := func(strike history.Strike) func(s *script) {
		return func(s *script) { s.strikes(1500, 1900, strike) }
	}
	link := func(from, to string) history.Strike {
		return history.Strike{Does: history.Breaks, Links: []history.Link{{From: from, To: to}}}
	}
	for _, c := range []struct {
		name   string
		answer history.Type
		with   func(s *script)
		want   Verdict
	}{
		{"yes", history.OK, nothing, Violated},
		{"no", history.Fail, nothing, Holds},
		{"nobody knows", history.Info, nothing, Holds},
		{"told of the loss before", history.OK, func(s *script) { s.lost(1500, "c1") }, Holds},
		{"another client was told", history.OK, func(s *script) { s.lost(1500, "c2") }, Violated},
		{"an extension was refused", history.OK, func(s *script) {
			s.add(1500, "c1", history.Invoke, history.Extend, history.Value{})
			s.add(1501, "c1", history.Fail, history.Extend, history.Value{})
		}, Holds},
		{"another has it by now", history.OK, func(s *script) {
			s.add(1100, "c2", history.Invoke, history.Acquire, history.Value{})
			s.key(1101, history.KeySet, "A", "c2", "c2-owner", 5000)
			s.granted(1102, "c2", -1, -1)
		}, Violated},
		{"set again", history.OK, func(s *script) { s.key(1500, history.KeySet, "A", "c1", "c1-owner", 1000) }, Unknown},
		{"paused before the release", history.OK, struck(history.Strike{Does: history.Stops, Clients: []string{"c1"}}), Violated},
		{"paused during the release", history.OK, func(s *script) {
			s.strikes(1500, 2000, history.Strike{Does: history.Stops, Clients: []string{"c1"}})
		}, Unknown},
		{"its connection was broken", history.OK, struck(link("c1", "A")), Unknown},
		{"another's connection was broken", history.OK, struck(link("c2", "A")), Violated},
		{"its connection to the resource was broken", history.OK, struck(link("c1", history.ResourceProcess)), Violated},
		{"the node was struck", history.OK, struck(history.Strike{Does: history.BendsClock, Nodes: []string{"A"}}), Unknown},
		{"the node was demoted", history.OK, func(s *script) { s.add(1500, "A", history.Info, history.NodeDemoted, history.Value{}) }, Unknown},
	} {
		s := givesBack(c.answer, c.with)
		f := Judge(context.Background(), &s.h, []Property{ToldAtRelease}, Options{})[0]
		if checkShape(t, &s.h, f); f.Verdict != c.want {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
		if gone := 2000*time.Millisecond - 1004*time.Millisecond; f.Verdict == Violated && !strings.Contains(f.Why, length(gone)) {
			t.Errorf("%s: %s, want %s", c.name, f.Why, length(gone))
		}
	}
}

// refusesToGive is a run in which all of so many nodes refuse c1's release, but for those named. c1 asks for it at 500 ms, and is
// answered at 502 ms.
func refusesToGive(answer history.Type, nodes int, takes string, refused history.Does) *script {
	s := newScript()
	s.h.Header.Nodes = s.h.Header.Nodes[:nodes]
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	for _, n := range s.h.Header.Nodes {
		s.key(4, history.KeySet, n, "c1", "c1-owner", 2000)
	}
	s.granted(5, "c1", -1, -1)
	strike := history.Strike{Does: refused}
	for _, n := range s.h.Header.Nodes {
		if !strings.Contains(takes, n) {
			strike.Links = append(strike.Links, history.Link{From: "c1", To: n})
		}
	}
	s.strikes(400, 450, strike)
	s.add(500, "c1", history.Invoke, history.Release, history.Value{})
	for _, n := range s.h.Header.Nodes {
		if strings.Contains(takes, n) {
			s.key(501, history.KeyDeleted, n, "c1", "c1-owner", -1)
		}
	}
	s.add(502, "c1", answer, history.Release, history.Value{})
	for _, n := range s.h.Header.Nodes {
		if !strings.Contains(takes, n) {
			s.key(2004, history.KeyExpired, n, "", "c1-owner", -1)
		}
	}
	s.h.Header.TTL = int64(2 * time.Second)
	s.phase(3300, history.PhaseDone)
	return s
}

func TestToldAtReleaseThoughItStays(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  history.Type
		nodes   int
		takes   string
		refused history.Does
		want    Verdict
	}{
		{"yes", history.OK, 1, "", history.Refuses, Violated},
		{"no", history.Fail, 1, "", history.Refuses, Holds},
		{"nobody knows", history.Info, 1, "", history.Refuses, Holds},
		{"another fault", history.OK, 1, "", history.Drops, Unknown},
		{"it was taken back", history.OK, 1, "A", history.Refuses, Unknown},
		{"a majority refused", history.OK, 5, "AB", history.Refuses, Violated},
		{"a minority refused", history.OK, 5, "ABC", history.Refuses, Unknown},
	} {
		s := refusesToGive(c.answer, c.nodes, c.takes, c.refused)
		f := Judge(context.Background(), &s.h, []Property{ToldAtRelease}, Options{})[0]
		if checkShape(t, &s.h, f); f.Verdict != c.want {
			t.Errorf("%s: %v (%s)", c.name, f.Verdict, f.Why)
		}
		if f.Verdict == Violated && !strings.Contains(f.Why, "stayed on node") {
			t.Errorf("%s: %s", c.name, f.Why)
		}
	}
}

// Who asks again while it has the lock, and gets it, has to give it back as often.
func TestTakenAgainAndReleasedOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		twice bool
		want  Verdict
	}{{"taken again, and released once", true, Unknown}, {"taken, and released", false, Violated}} {
		s := newScript()
		s.h.Header.Nodes, s.h.Header.Program, s.h.Header.TTL = []string{"A"}, "x", int64(time.Second)
		take := func(ms int64, f history.F) {
			s.add(ms, "c1", history.Invoke, history.Acquire, history.Value{})
			s.key(ms+4, f, "A", "c1", "of c1", 1000)
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(ms + 1)
			s.add(ms+5, "c1", history.OK, history.Acquire, history.Value{})
		}
		if take(0, history.KeySet); c.twice {
			take(100, history.KeyExtended)
		}
		s.release(200, 202, "c1")
		s.phase(3300, history.PhaseDone)
		f := Judge(context.Background(), &s.h, []Property{ToldAtRelease}, Options{})[0]
		checkShape(t, &s.h, f)
		if f.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, f.Verdict, f.Why, c.want)
		}
	}
}
