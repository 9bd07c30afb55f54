package checker

import (
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

func TestKeepsRunning(t *testing.T) {
	for name, c := range map[string]struct {
		write func(s *script)
		want  Verdict
		why   string
	}{
		"nobody ends": {func(s *script) { s.acquire(0, 1, "c1", 900, -1) }, Holds, "1 client with a lock program, and none ended by itself"},
		"a lock of ours": {func(s *script) {
			s.h.Header.Quorum = 0
			s.acquire(0, 1, "c1", 900, -1)
			s.ends(5, "c1", "")
		}, Unknown, "the lock is no program"},
		"nobody was granted anything": {func(s *script) {
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		}, Unknown, "no fault struck"},
		"a holder ends": {func(s *script) {
			s.acquire(0, 1, "c1", 900, -1)
			s.ends(5, "c1", "exit status 1", "Traceback (most recent call last):", "  File \"lock.py\"", "ConnectionError: reset")
		}, Violated, "the lock program of c1 ended by itself (exit status 1) at 0.005 s: " +
			"Traceback (most recent call last): / ConnectionError: reset"},
		"after a fault, without a grant": {func(s *script) {
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			s.fault(2, true, 1, "kill", "A")
			s.ends(5, "c1", "signal: aborted")
		}, Violated, "the lock program of c1 ended by itself (signal: aborted) at 0.005 s, after A was killed at 0.002 s"},
		"before everything": {func(s *script) {
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			s.ends(5, "c1", "")
			s.acquire(6, 7, "c2", 900, -1)
		}, Unknown, "before the first grant, and before any fault"},
		"a fault kills it": {func(s *script) {
			s.acquire(0, 1, "c1", 900, -1)
			s.fault(2, true, 1, "kill", "c1")
		}, Holds, ""},
	} {
		s := newScript()
		s.h.Header.Quorum = 1
		c.write(s)
		s.phase(2000, history.PhaseDone)
		f := Judge(context.Background(), &s.h, []Property{KeepsRunning}, Options{})[0]
		if checkShape(t, &s.h, f); f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %v (%s)", name, f.Verdict, f.Why)
		}
	}
}

// TestProgramEndIsAKill: a client whose program has ended holds nothing and asks for nothing more.
func TestProgramEndIsAKill(t *testing.T) {
	s := newScript()
	s.acquire(0, 1, "c1", 5000, -1)
	s.add(2, "c2", history.Invoke, history.Acquire, history.Value{})
	s.ends(5, "c1", "exit status 1")
	s.granted(6, "c2", 5000, -1)
	s.release(7, 8, "c2")
	s.phase(2000, history.PhaseDone)
	for p, want := range map[Property]Verdict{ExclusiveBelief: Holds, ExclusiveLease: Holds} {
		if f := Judge(context.Background(), &s.h, []Property{p}, Options{})[0]; f.Verdict != want {
			t.Errorf("%s: %v (%s)", p, f.Verdict, f.Why)
		}
	}
}
