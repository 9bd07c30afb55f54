package checker

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

func TestAsksItsTTL(t *testing.T) {
	for name, c := range map[string]struct {
		quorum int
		told   func(s *script)
		want   Verdict
		why    string
	}{
		"its TTL": {1, func(s *script) { s.changes(5, "A", history.KeySet, "c1", 1, 1001) }, Holds, "1 grant, asked for with the TTL"},
		"more":    {1, func(s *script) { s.changes(5, "A", history.KeySet, "c1", 1, 1_000_001) }, Holds, ""},
		"no end":  {1, func(s *script) { s.changes(5, "A", history.KeySet, "c1", 1, -1) }, Holds, ""},
		"1 ms": {1, func(s *script) { s.changes(5, "A", history.KeySet, "c1", 1, 2) }, Violated,
			"c1 asked node A for the lock for 1 ms; the TTL that it was given is 1.00 s"},
		"what drift takes": {1, func(s *script) { s.changes(5, "A", history.KeySet, "c1", 1, 901) }, Holds, ""},
		"less than that":   {1, func(s *script) { s.changes(5, "A", history.KeySet, "c1", 1, 900) }, Violated, "for 899 ms"},
		"less by a step that it told of": {1, func(s *script) {
			s.h.Header.TTLStep = int64(time.Second)
			s.changes(5, "A", history.KeySet, "c1", 1, 501)
		}, Holds, ""},
		"less by more than that step, which drift does not add to": {1, func(s *script) {
			s.h.Header.TTLStep = int64(150 * time.Millisecond)
			s.changes(5, "A", history.KeySet, "c1", 1, 801)
		}, Violated, "for 800 ms"},
		"less of what its keys live by design": {1, func(s *script) {
			s.h.Header.TTL, s.h.Header.TTLExtra = int64(3*time.Second), int64(2*time.Second)
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
		}, Holds, ""},
		"an extra that is not within the TTL": {1, func(s *script) {
			s.h.Header.TTL, s.h.Header.TTLExtra = -5, math.MaxInt64
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
		}, Unknown, "does not say the TTL"},
		"a TTL beyond all time": {1, func(s *script) {
			s.h.Header.TTL = math.MaxInt64
			s.changes(5, "A", history.KeySet, "c1", 1, -1)
		}, Holds, ""},
		"set first, and given its end then": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, -1)
			s.changes(6, "A", history.KeyExtended, "c1", 3, 4)
		}, Violated, "for 1 ms"},
		"short first, and renewed before the answer": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 101)
			s.changes(6, "A", history.KeyExtended, "c1", 3, 1003)
		}, Holds, ""},
		"a renewal that shortens": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.changes(305, "A", history.KeyExtended, "c1", 300, 301)
		}, Violated, "for 1 ms"},
		"a renewal that leaves the end as it was": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.changes(305, "A", history.KeyExtended, "c1", 300, 1001)
		}, Holds, ""},
		"a renewal by a moment": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.changes(305, "A", history.KeyExtended, "c1", 300, 1002)
		}, Violated, "for 702 ms"},
		"a minority asked for less": {2, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 2)
			s.changes(5, "B", history.KeySet, "c1", 1, 1001)
			s.changes(5, "C", history.KeySet, "c1", 1, 1001)
		}, Holds, ""},
		"a majority asked for less": {2, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.changes(5, "B", history.KeySet, "c1", 1, 2)
			s.changes(5, "C", history.KeySet, "c1", 1, 2)
		}, Violated, ""},
		"after a loss that was told": {1, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.add(300, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(290)}})
			s.changes(305, "A", history.KeyExtended, "c1", 295, 296)
		}, Holds, ""},
		"deleted after a loss that was told": {2, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.changes(5, "B", history.KeySet, "c1", 1, 1001)
			s.changes(5, "C", history.KeySet, "c1", 1, 2)
			s.add(300, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(290)}})
			s.changes(305, "A", history.KeyDeleted, "c1", 301, -1)
		}, Holds, ""},
		"a client whose clock was moved": {1, func(s *script) {
			s.fault(2, true, 1, "clock", "c1")
			s.changes(5, "A", history.KeySet, "c1", 3, 4)
		}, Unknown, "no grant's commands were seen"},
		"no command was seen": {1, func(*script) {}, Unknown, "no grant's commands were seen"},
		"a lock of sim":       {0, func(s *script) { s.changes(5, "A", history.KeySet, "c1", 1, 2) }, Unknown, "the lock is no program"},
	} {
		t.Run(name, func(t *testing.T) { checkAsks(t, AsksItsTTL, c.quorum, -1, c.told, c.want, c.why) })
	}
}

// checkAsks judges a grant of c1 that was asked for at 0 and answered at 10 ms, with what its client did meanwhile and later.
func checkAsks(t *testing.T, p Property, quorum int, until int64, did func(s *script), want Verdict, why string) {
	t.Helper()
	s := asked(quorum)
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	early := len(s.h.Events)
	did(s)
	later := slices.Clone(s.h.Events[early:])
	s.h.Events = s.h.Events[:early]
	n := slices.IndexFunc(later, func(e history.Event) bool { return e.Time > 10*time.Millisecond })
	if n < 0 {
		n = len(later)
	}
	again := func(list []history.Event) {
		for _, e := range list {
			s.add(int64(e.Time/time.Millisecond), e.Process, e.Type, e.F, e.Value)
		}
	}
	again(later[:n])
	s.granted(10, "c1", until, -1)
	again(later[n:])
	s.phase(2000, history.PhaseDone)
	f := Judge(context.Background(), &s.h, []Property{p}, Options{})[0]
	checkShape(t, &s.h, f)
	if f.Verdict != want || !strings.Contains(f.Why, why) {
		t.Errorf("%v: %s\nwant %v: %s", f.Verdict, f.Why, want, why)
	}
}

func TestTrueValidity(t *testing.T) {
	set := func(s *script) { s.changes(5, "A", history.KeySet, "c1", 1, 1001) }
	for name, c := range map[string]struct {
		until int64
		did   func(s *script)
		want  Verdict
		why   string
	}{
		"less than the TTL":      {950, set, Holds, "1 told end, true"},
		"what drift adds":        {1101, set, Holds, ""},
		"more than that":         {1102, set, Violated, "c1 was told of a validity until 1.102 s, and asked for the lock at 0.001 s for 1.00 s"},
		"over when it was told":  {10, set, Violated, "that had ended 0 ns before"},
		"over, and nobody asked": {9, func(*script) {}, Violated, "that had ended 1 ms before"},
		"nothing asked for":      {950, func(*script) {}, Unknown, "no validity was told after a request that was seen"},
		"a TTL beyond all time": {900, func(s *script) {
			s.h.Header.TTL = math.MaxInt64
			set(s)
		}, Holds, ""},
		"nothing told": {-1, set, Unknown, "no validity was told after a request that was seen"},
		"a client that was stopped": {9, func(s *script) {
			s.fault(2, true, 1, "pause", "c1")
			set(s)
			s.fault(8, false, 1, "pause", "c1")
		}, Unknown, "no validity was told after a request that was seen"},
		"the last of several tries": {1300, func(s *script) {
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.changes(6, "A", history.KeyDeleted, "c1", 3, -1)
			s.changes(9, "A", history.KeySet, "c1", 7, 1007)
		}, Violated, "asked for the lock at 0.007 s"},
		"what is late of the same try": {1102, func(s *script) { s.changes(20, "A", history.KeySet, "c1", 1, 1001) },
			Violated, "asked for the lock at 0.001 s"},
		"what is late of another": {1107, func(s *script) {
			s.changes(9, "A", history.KeySet, "c1", 7, 1007)
			s.changes(20, "A", history.KeySet, "c1", 1, 1001)
			s.h.Events[len(s.h.Events)-1].Value.Owner = "of a try before"
		}, Holds, ""},
		"what is late of another with the same value": {1107, func(s *script) {
			s.changes(9, "A", history.KeySet, "c1", 7, 1007)
			s.changes(20, "A", history.KeySet, "c1", 1, 1001)
		}, Holds, ""},
	} {
		t.Run(name, func(t *testing.T) { checkAsks(t, TrueValidity, 1, c.until, c.did, c.want, c.why) })
	}
}
