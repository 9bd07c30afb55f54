package lock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

// Every lock can draw its token beside the lock: from one node, from the store
// that no fault strikes, or at random.
func TestTokensBesideTheLock(t *testing.T) {
	for _, algorithm := range []string{"set-nx-px", "setnx-del", "linearizable", "redlock"} {
		for _, tokens := range []lock.Tokens{lock.SingleCounter, lock.Consensus, lock.RandomValue, lock.NoTokens} {
			tb, c := newTable(1), single(algorithm)
			c.Tokens = tokens
			_, l := tb.sit(t, "c1", c)
			var got []int64
			for range 3 {
				g, r := l.Acquire()
				if r.Outcome != lock.OK || g.HasToken != (tokens != lock.NoTokens) {
					t.Errorf("%s, %s: %+v, %+v", algorithm, tokens, g, r)
				}
				got = append(got, g.Token)
				l.Release(g)
			}
			ordered := tokens == lock.SingleCounter || tokens == lock.Consensus
			if ordered && !slices.Equal(got, []int64{1, 2, 3}) || tokens == lock.RandomValue && (got[0] == got[1] || got[1] == got[2]) {
				t.Errorf("%s, %s: tokens %v", algorithm, tokens, got)
			}
			if counts := len(tb.etcd.Asked) > 0; counts != (tokens == lock.Consensus || algorithm == "linearizable") ||
				counts != c.NeedsConsensus() {
				t.Errorf("%s, %s: asked the consensus store %q, and says that it needs it: %v", algorithm, tokens, tb.etcd.Asked, c.NeedsConsensus())
			}
		}
	}
}

// A grant without the token that it should have is none. Its key is given back,
// save where the key has a value that another's may have as well.
func TestGrantWithoutItsToken(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		mistakes  lock.Mistakes
		kept      bool
	}{
		{"set-nx-px", lock.Mistakes{}, false},
		{"set-nx-px", lock.Mistakes{NoCleanup: true}, true},
		{"constant-value", lock.Mistakes{}, true},
		{"redlock", lock.Mistakes{}, false},
		{"redlock", lock.Mistakes{NoCleanup: true}, true},
	} {
		for why, spoil := range map[string]func(*table, *env){
			"no token":  func(tb *table, _ *env) { tb.etcd.Way = commandtest.Dead },
			"too late":  func(tb *table, e *env) { e.onPoint[lock.PointToken] = func() { tb.T += time.Second } },
			"very late": func(tb *table, e *env) { e.onPoint[lock.PointToken] = func() { tb.T += time.Hour } },
		} {
			tb, cfg := newTable(1), single(c.algorithm)
			cfg.Tokens, cfg.Mistakes = lock.Consensus, c.mistakes
			e, l := tb.sit(t, "c1", cfg)
			tb.nodes[0].Way = tb.slow(0, 0)
			spoil(tb, e)
			g, r := l.Acquire()
			if r.Outcome != lock.Fail || g.Owner != "" || !strings.Contains(r.Err, strings.Replace(why, "very", "too", 1)) {
				t.Errorf("%s, %s: %+v, %+v", c.algorithm, why, g, r)
			}
			deleted := len(tb.nodes[0].Asked) > 1
			if deleted == c.kept {
				t.Errorf("%s %+v, %s: the node was asked %q", c.algorithm, c.mistakes, why, tb.nodes[0].Asked)
			}
		}
	}
}

// A token that comes in the last moment is in time, and one for a lock without a
// lease is never late.
func TestTokenInTime(t *testing.T) {
	for algorithm, takes := range map[string]time.Duration{"set-nx-px": time.Second - 1, "setnx-del": time.Hour} {
		tb, c := newTable(1), single(algorithm)
		c.Tokens = lock.SingleCounter
		e, l := tb.sit(t, "c1", c)
		e.onPoint[lock.PointToken] = func() { tb.T += takes }
		if g, r := l.Acquire(); r.Outcome != lock.OK || !g.HasToken || g.Token != 1 {
			t.Errorf("%s, after %v: %+v, %+v", algorithm, takes, g, r)
		}
	}
}

// Without token_in_time a lease that has ended while the token was drawn is a grant all the same.
func TestLateTokenIsNoGrant(t *testing.T) {
	for _, algorithm := range []string{"set-nx-px", "redlock"} {
		for _, late := range []bool{false, true} {
			tb, c := newTable(1), single(algorithm)
			c.Tokens, c.Mistakes.LateToken = lock.SingleCounter, late
			e, l := tb.sit(t, "c1", c)
			e.onPoint[lock.PointToken] = func() { tb.T += 2 * time.Second }
			if g, r := l.Acquire(); g.HasToken != late || (r.Outcome == lock.OK) != late {
				t.Errorf("%s, late %v: %+v, %+v", algorithm, late, g, r)
			}
		}
	}
}

// Who is refused the lock draws no token; who draws it first asks for the lock only
// with a token in hand.
func TestOrderOfTokenAndLock(t *testing.T) {
	for _, algorithm := range []string{"set-nx-px", "redlock"} {
		for _, first := range []bool{false, true} {
			tb, c := newTable(1), single(algorithm)
			c.Tokens, c.Mistakes.TokenFirst = lock.Consensus, first
			_, l := tb.sit(t, "c1", c)
			tb.nodes[0].Memory().Set("lock", "c2", time.Hour, false)
			if _, r := l.Acquire(); r.Outcome != lock.Fail || len(tb.etcd.Asked) > 0 != first {
				t.Errorf("%s, token first %v: %+v; asked for tokens: %q", algorithm, first, r, tb.etcd.Asked)
			}
			tb.nodes[0].Memory().Del("lock")
			g, r := l.Acquire()
			if r.Outcome != lock.OK || !g.HasToken || first && g.Token != 2 {
				t.Errorf("%s, token first %v: %+v, %+v", algorithm, first, g, r)
			}
			l.Release(g)
			asked := len(tb.nodes[0].Asked)
			tb.etcd.Way = commandtest.Dead
			if _, r := l.Acquire(); r.Outcome != lock.Fail || first && len(tb.nodes[0].Asked) > asked {
				t.Errorf("%s, token first %v, no token: %+v; the node was asked %q", algorithm, first, r, tb.nodes[0].Asked[asked:])
			}
		}
	}
}

// A node that has the lock's key under another value has not granted it, whatever
// its counter says.
func TestCountedRefusalIsNoGrant(t *testing.T) {
	for _, tokens := range []lock.Tokens{lock.NodeCounterMax, lock.QuorumCounter} {
		tb, c := newTable(3), plain()
		c.Tokens = tokens
		_, l1 := tb.sit(t, "c1", c)
		_, l2 := tb.sit(t, "c2", c)
		g, r := l1.Acquire()
		if r.Outcome != lock.OK || !g.HasToken || g.Token != 1 {
			t.Errorf("%s: %+v, %+v", tokens, g, r)
		}
		if _, r := l2.Acquire(); r.Outcome != lock.Fail || tb.held(g.Owner) != 3 {
			t.Errorf("%s: while it is held: %+v", tokens, r)
		}
	}
}
