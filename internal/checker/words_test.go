package checker

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// TestWhichPrimary: the node that a client took for the primary is named by the key that it set there, also where the node told of that
// a moment after the client told of its grant, as in real time it can.
func TestWhichPrimary(t *testing.T) {
	for _, c := range []struct {
		name string
		// sets are the nodes that tell of the key, and when: the client is granted the lock at 10 ms, and releases it at 100 ms.
		sets map[string]int64
		want string
	}{
		{"before the client", map[string]int64{"D": 9}, " (D)"},
		{"after the client", map[string]int64{"D": 11}, " (D)"},
		{"the last before the client", map[string]int64{"A": 8, "D": 9, "B": 11}, " (D)"},
		{"after the end of the grant", map[string]int64{"D": 120}, ""},
		{"not at all", nil, ""},
	} {
		s := newScript()
		tell := func(from, to int64) {
			for ms := from; ms < to; ms++ {
				for node, at := range c.sets {
					if at == ms {
						s.key(ms, history.KeySet, node, "c1", "c1-owner", -1)
					}
				}
			}
		}
		s.add(1, "c1", history.Invoke, history.Acquire, history.Value{})
		tell(2, 10)
		s.granted(10, "c1", 1000, -1)
		tell(11, 100)
		s.release(100, 101, "c1")
		tell(102, 200)
		j := newJudge(&s.h)
		if got := j.whichPrimary(&j.Grants[0]); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
