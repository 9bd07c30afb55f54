package checker

import (
	"context"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// inValue is a lock on one node that keeps its lease, of 1 s, in the value of its key.
func inValue() *script {
	s := newScript()
	s.h.Header.Nodes, s.h.Header.Program, s.h.Header.Quorum, s.h.Header.Lease = []string{"A"}, "1", 1, history.LeaseTTL
	s.phase(0, history.PhaseSafety)
	return s
}

// writes is a key-set of a client, without an end, by a command that left the client 1 ms before.
func (s *script) writes(ms int64, client, value string) {
	i := len(s.h.Events)
	s.key(ms, history.KeySet, "A", client, value, -1)
	s.h.Events[i].Value.OwnOutcome().At = ns(ms - 1)
}

// granted in the attempt that it began 3 ms before.
func (s *script) takesOver(ms int64, client, value string) {
	s.add(ms-3, client, history.Invoke, history.Acquire, history.Value{})
	s.writes(ms-1, client, value)
	s.add(ms, client, history.OK, history.Acquire, history.Value{Owner: value})
}

func (s *script) deletes(ms int64, client, value string) {
	s.key(ms, history.KeyDeleted, "A", client, value, -1)
}

// TestLeaseInTheValue: what is demanded of a lock whose key says nothing by its own end.
func TestLeaseInTheValue(t *testing.T) {
	for _, c := range []struct {
		name     string
		property Property
		write    func(s *script)
		want     Verdict
		why      string
	}{
		{"a takeover when the lease is over", ExclusiveLease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.takesOver(1010, "c2", "2010")
		}, Unknown, "never contended"},
		{"a takeover before", ExclusiveLease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.takesOver(900, "c2", "1900")
		}, Violated, "2 holders at once for 102 ms"},
		{"a takeover of a lease that was renewed", ExclusiveLease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.writes(800, "c1", "1800")
			s.takesOver(1010, "c2", "2010")
		}, Violated, "2 holders at once for 289 ms"},
		{"the key gets an end, which is no renewal", ExclusiveLease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.key(800, history.KeyExtended, "A", "c1", "1005", 1000)
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(799)
			s.takesOver(1010, "c2", "2010")
		}, Unknown, "never contended"},

		{"a client deletes the key when the lease is over", OwnerRelease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.deletes(1010, "c2", "1005")
		}, Unknown, ""},
		{"it deletes the key when the lease may be over: the try was slow", OwnerRelease, func(s *script) {
			s.add(1, "c1", history.Invoke, history.Acquire, history.Value{})
			s.writes(400, "c1", "1300")
			s.add(401, "c1", history.OK, history.Acquire, history.Value{Owner: "1300"})
			s.deletes(1010, "c2", "1300")
		}, Unknown, ""},
		{"it deletes the key before", OwnerRelease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.deletes(990, "c2", "1005")
		}, Violated, "c2 deleted the key of c1"},
		{"a late release deletes the key of the next holder, which asked long ago", OwnerRelease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.add(6, "c2", history.Invoke, history.Acquire, history.Value{})
			s.writes(1010, "c2", "2010")
			s.add(1011, "c2", history.OK, history.Acquire, history.Value{Owner: "2010"})
			s.deletes(1300, "c1", "2010")
		}, Violated, "c1 deleted the key of c2"},
		{"what may be the release itself has no lease", OwnerRelease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.add(100, "c1", history.Invoke, history.Release, history.Value{})
			s.writes(102, "c1", "0")
			s.add(103, "c1", history.OK, history.Release, history.Value{})
			s.deletes(110, "c2", "0")
		}, Unknown, ""},
		{"a holder deletes its key", OwnerRelease, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.deletes(1500, "c1", "1005")
		}, Unknown, "after another client had asked"},

		{"the key of a dead holder stays", NoOrphanLock, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.fault(10, true, 1, "kill", "c1")
		}, Holds, "1 key no longer wanted"},
		{"it is renewed after the release", NoOrphanLock, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.release(10, 20, "c1")
			s.writes(500, "c1", "1500")
		}, Violated, "still there 1.49 s after"},
		{"a renewal that had left its client before", NoOrphanLock, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.add(10, "c1", history.Invoke, history.Release, history.Value{})
			s.add(20, "c1", history.OK, history.Release, history.Value{})
			s.writes(500, "c1", "1500")
			s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(9)
		}, Holds, "1 key no longer wanted"},
		{"the release writes the key", NoOrphanLock, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.add(10, "c1", history.Invoke, history.Release, history.Value{})
			s.writes(600, "c1", "0")
			s.add(601, "c1", history.OK, history.Release, history.Value{})
		}, Unknown, ""},

		{"a renewal of another value brings a lock back", NoResurrection, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.deletes(100, "c2", "1005")
			s.writes(200, "c1", "1200")
		}, Violated, "c1 set its key on node A again"},
		{"a release that writes the key does not", NoResurrection, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.deletes(100, "c2", "1005")
			s.add(200, "c1", history.Invoke, history.Release, history.Value{})
			s.writes(202, "c1", "0")
			s.add(203, "c1", history.OK, history.Release, history.Value{})
		}, Holds, "1 grant"},

		{"a holder that renews is not told of a takeover", ToldWhenLost, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.writes(500, "c1", "1500")
			s.takesOver(1600, "c2", "2600")
		}, Violated, "was not told for 3.40 s"},
		{"a holder that does not renew knows the TTL", ToldWhenLost, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.takesOver(1600, "c2", "2600")
			s.add(2000, "c1", history.Invoke, history.Release, history.Value{})
		}, Unknown, "no holder's keys were seen to go"},
		{"a lease that is over, and that nobody has taken, is not lost", ToldWhenLost, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.writes(500, "c1", "1500")
		}, Unknown, ""},

		{"the lock of a holder that hangs counts as free", DeadlockFree, func(s *script) {
			s.takesOver(5, "c1", "1005")
			s.phase(20, history.PhaseHealing)
			s.add(30, "c2", history.Invoke, history.Acquire, history.Value{})
			s.add(4990, "c2", history.Fail, history.Acquire, history.Value{})
		}, Violated, "c2 asked for a free lock for 3.99 s"},
	} {
		s := inValue()
		c.write(s)
		s.phase(5000, history.PhaseDone)
		f := Judge(context.Background(), &s.h, []Property{c.property}, Options{GrantWithin: 2e9})[0]
		if f.Verdict != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s, %s: %v (%s), want %v (%s)", c.name, c.property, f.Verdict, f.Why, c.want, c.why)
		}
		if f.Verdict == Violated && c.property == DeadlockFree {
			if ok, why := Confirmed(&s.h, f.Property, f.Counterexample); !ok {
				t.Errorf("%s is not confirmed: %s", c.name, why)
			}
		}
	}
}

// Without the handshake a takeover of a key that never ends is a violation, as always.
func TestWithoutALeaseInTheValue(t *testing.T) {
	s := inValue()
	s.h.Header.Lease = ""
	s.takesOver(5, "c1", "1005")
	s.deletes(1010, "c2", "1005")
	s.phase(5000, history.PhaseDone)
	if f := Judge(context.Background(), &s.h, []Property{OwnerRelease}, Options{})[0]; f.Verdict != Violated {
		t.Errorf("%v (%s)", f.Verdict, f.Why)
	}
}
