package checker

import (
	"context"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// TestGrantedAnew: a lock that has one value for all grants of a client is granted anew where its key was gone, and its release frees it.
// Where the key was there all the while, the client has re-entered, and the outer grant goes on.
func TestGrantedAnew(t *testing.T) {
	for name, c := range map[string]struct {
		between func(s *script)
		again   history.F
		want    Verdict
	}{
		"its key had run out":    {func(s *script) { s.changes(1002, "A", history.KeyExpired, "", 1002, -1) }, history.KeySet, Holds},
		"its key was there":      {func(*script) {}, history.KeyExtended, Violated},
		"nobody told of its end": {func(*script) {}, history.KeySet, Violated},
		"its key was lengthened": {func(s *script) { s.changes(900, "A", history.KeyExtended, "c1", 899, 1899) }, history.KeySet, Violated},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.h.Header.Quorum, s.h.Header.LockKey, s.h.Header.Nodes = 1, "lock", []string{"A"}
			s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
			s.changes(5, "A", history.KeySet, "c1", 1, 1001)
			s.granted(10, "c1", -1, -1)
			c.between(s)
			s.add(1100, "c1", history.Invoke, history.Acquire, history.Value{})
			s.changes(1105, "A", c.again, "c1", 1101, 2101)
			s.granted(1110, "c1", -1, -1)
			s.add(1200, "c2", history.Invoke, history.Acquire, history.Value{})
			s.add(1300, "c1", history.Invoke, history.Release, history.Value{})
			s.changes(1305, "A", history.KeyDeleted, "c1", 1301, -1)
			s.add(1310, "c1", history.OK, history.Release, history.Value{Owner: "c1-owner"})
			s.changes(1320, "A", history.KeySet, "c2", 1315, 2315)
			s.granted(1330, "c2", -1, -1)
			s.add(1400, "run", history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
			if f := Judge(context.Background(), &s.h, []Property{ExclusiveLease}, Options{})[0]; f.Verdict != c.want {
				t.Errorf("%v: %s", f.Verdict, f.Why)
			}
		})
	}
}
