package lock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

const ms = time.Millisecond

// plain is Redlock for a second, with 10 ms + 2 ms allowed for drift.
func plain() lock.Config {
	return lock.Config{TTL: time.Second, NodeTimeout: 50 * ms, Drift: lock.Drift{DriftFactor: 0.01, DriftConstant: 2 * ms}}
}

func fanOuts(t *testing.T, test func(*testing.T, lock.Config)) {
	for _, f := range []lock.FanOut{lock.InTurn, lock.AtOnce, lock.FirstMajority} {
		c := plain()
		c.FanOut = f
		t.Run(string(f), func(t *testing.T) { test(t, c) })
	}
}

func TestQuorumIsAMajorityOfTheNodesConfigured(t *testing.T) {
	fanOuts(t, func(t *testing.T, c lock.Config) {
		for n := 1; n <= 7; n++ {
			for dead := 0; dead <= n; dead++ {
				tb := newTable(n)
				tb.ways(slices.Repeat([]way{commandtest.Dead}, dead)...)
				_, l := tb.sit(t, "c1", c)
				_, r := l.Acquire()
				if want := n-dead > n/2; want != (r.Outcome == lock.OK) {
					t.Errorf("%d of %d nodes are dead: %+v", dead, n, r)
				}
			}
		}
	})
}

func TestValidityIsTheTTLWithoutTheTimeTakenAndTheDrift(t *testing.T) {
	for f, want := range map[lock.FanOut]time.Duration{lock.InTurn: 150 * ms, lock.AtOnce: 50 * ms, lock.FirstMajority: 30 * ms} {
		tb := newTable(5)
		for i, n := range tb.nodes {
			n.Way = tb.slow(time.Duration(i+1)*10*ms, 0)
		}
		c := plain()
		c.FanOut = f
		_, l := tb.sit(t, "c1", c)
		start := tb.T
		g, r := l.Acquire()
		if r.Outcome != lock.OK || g.Until != start+988*ms || tb.T-start != want {
			t.Errorf("%s: %+v until %v after %v: want until 988ms, %v", f, r, g.Until-start, tb.T-start, want)
		}
		if l.Remaining(g) != 988*ms-want {
			t.Errorf("%s: %v remain", f, l.Remaining(g))
		}
	}
}

func TestQuorumThatComesTooLateIsNoGrant(t *testing.T) {
	fanOuts(t, func(t *testing.T, c lock.Config) {
		for back, want := range map[time.Duration]lock.Outcome{987 * ms: lock.OK, 988 * ms: lock.Fail, 3 * time.Second: lock.Fail} {
			tb := newTable(3)
			e, l := tb.sit(t, "c1", c)
			e.onPoint[lock.PointQuorum] = func() { tb.T += back }
			_, r := l.Acquire()
			if r.Outcome != want {
				t.Errorf("%v lost after the quorum: %+v", back, r)
			}
			isHeld := slices.ContainsFunc(tb.holders(), func(s string) bool { return s != "" })
			if want == lock.Fail && (!strings.Contains(r.Err, "too late") || isHeld) {
				t.Errorf("%v lost: %+v, nodes keep %q", back, r, tb.holders())
			}
		}
	})
}

func TestWallClockThatStepsBackFoolsTheElapsedTime(t *testing.T) {
	for clock, want := range map[lock.Clock]lock.Outcome{lock.Monotonic: lock.Fail, lock.Wall: lock.OK} {
		tb, c := newTable(3), plain()
		c.Clock = clock
		e, l := tb.sit(t, "c1", c)
		e.onPoint[lock.PointQuorum] = func() { tb.T += 2 * time.Second; e.wall -= 2 * time.Second }
		if _, r := l.Acquire(); r.Outcome != want {
			t.Errorf("%s: %+v", clock, r)
		}
	}
}

func TestFailedAttemptCleansUp(t *testing.T) {
	fanOuts(t, func(t *testing.T, c lock.Config) {
		tb := newTable(5)
		for _, n := range tb.nodes[:3] {
			n.Memory().Set("lock", "somebody", time.Hour, false)
		}
		tb.nodes[3].Way = func(c command.Command, carry func() command.Reply) command.Reply {
			if c.Op == command.SET {
				return commandtest.Mute(c, carry) // it granted, and nobody heard of it
			}
			return carry()
		}
		_, l := tb.sit(t, "c1", c)
		if _, r := l.Acquire(); r.Outcome != lock.Fail || !strings.Contains(r.Err, "1 of 5") {
			t.Errorf("%+v", r)
		}
		if want := []string{"somebody", "somebody", "somebody", "", ""}; !slices.Equal(tb.holders(), want) {
			t.Errorf("nodes keep %q", tb.holders())
		}
	})
}

func TestRelease(t *testing.T) {
	for _, c := range []struct {
		what string
		ways []way
		lose int // nodes where the key is another's by then
		want lock.Outcome
	}{
		{"all answer", nil, 0, lock.OK},
		{"a minority is dead", []way{commandtest.Dead, commandtest.Dead}, 0, lock.OK},
		{"a majority is dead", []way{commandtest.Dead, commandtest.Dead, commandtest.Dead}, 0, lock.Info},
		{"a minority is another's", nil, 2, lock.OK},
		{"a majority is another's", nil, 3, lock.Fail},
		{"some are another's, some are mute", []way{nil, nil, nil, commandtest.Mute}, 2, lock.Info},
	} {
		tb := newTable(5)
		_, l := tb.sit(t, "c1", plain())
		g, _ := l.Acquire()
		for _, n := range tb.nodes[:c.lose] {
			n.Memory().Set("lock", "c2", time.Hour, false)
		}
		tb.ways(c.ways...)
		if r := l.Release(g); r.Outcome != c.want {
			t.Errorf("%s: %+v", c.what, r)
		}
		tb.ways()
		if got := tb.held("c2"); got != c.lose {
			t.Errorf("%s: %d keys of the other are left", c.what, got)
		}
	}
}

func TestRetryAndBackoff(t *testing.T) {
	for _, c := range []struct {
		retry lock.Retry
		want  []time.Duration // slept at least; at most as much more as the jitter
	}{
		{lock.Retry{}, nil},
		{lock.Retry{Attempts: 1, Delay: time.Hour}, nil},
		{lock.Retry{Attempts: 4, Delay: 20 * ms}, []time.Duration{20 * ms, 20 * ms, 20 * ms}},
		{lock.Retry{Attempts: 4, Delay: 20 * ms, Backoff: lock.Linear}, []time.Duration{20 * ms, 40 * ms, 60 * ms}},
		{lock.Retry{Attempts: 2, Delay: 20 * ms, Jitter: 1}, []time.Duration{20 * ms}},
		{lock.Retry{Attempts: 9, Delay: 20 * ms, Jitter: 30 * ms}, slices.Repeat([]time.Duration{20 * ms}, 8)},
	} {
		tb := newTable(3)
		tb.ways(commandtest.Dead, commandtest.Dead)
		cfg := plain()
		cfg.Retry = c.retry
		e, l := tb.sit(t, "c1", cfg)
		l.Acquire()
		different := make(map[time.Duration]bool)
		ok := len(e.slept) == len(c.want)
		for i := range min(len(e.slept), len(c.want)) {
			more := e.slept[i] - c.want[i]
			ok = ok && more >= 0 && more <= c.retry.Jitter
			different[more] = true
		}
		if !ok || c.retry.Jitter > 1 && len(different) < 4 {
			t.Errorf("%+v: slept %v", c.retry, e.slept)
		}
	}
}

func TestSecondAttemptSucceedsOnceTheKeyHasExpired(t *testing.T) {
	tb, c := newTable(3), plain()
	c.Retry = lock.Retry{Attempts: 100, Delay: 100 * ms}
	_, first := tb.sit(t, "c1", c)
	e, second := tb.sit(t, "c2", c)
	first.Acquire()
	if _, r := second.Acquire(); r.Outcome != lock.OK || len(e.slept) != 11 { // the tenth ends in the key's last millisecond
		t.Errorf("%+v after %d waits: want 11", r, len(e.slept))
	}
}

// Quorums that alternate give per-node counters no order; the quorum counter
// does, for grants that do not overlap.
func TestQuorumCounterTokensGrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := plain()
		c.Tokens = lock.QuorumCounter
		c.FanOut = rapid.SampledFrom([]lock.FanOut{lock.InTurn, lock.AtOnce, lock.FirstMajority}).Draw(rt, "fan-out")
		tb := newTable(rapid.SampledFrom([]int{1, 3, 5}).Draw(rt, "nodes"))
		_, l := tb.sit(t, "c1", c)
		var last int64
		for range rapid.IntRange(1, 12).Draw(rt, "attempts") {
			var ways []way
			healthy := 0
			for range tb.nodes {
				w := rapid.SampledFrom([]way{nil, nil, nil, commandtest.Dead, commandtest.Mute}).Draw(rt, "way")
				ways = append(ways, w)
				if w == nil {
					healthy++
				}
			}
			tb.ways(ways...)
			g, r := l.Acquire()
			if (r.Outcome == lock.OK) != (healthy > len(tb.nodes)/2) {
				rt.Fatalf("%d of %d nodes are healthy: %+v", healthy, len(tb.nodes), r)
			}
			if r.Outcome == lock.OK {
				if !g.HasToken || g.Token <= last {
					rt.Fatalf("token %d (%v) after %d", g.Token, g.HasToken, last)
				}
				last = g.Token
			}
			tb.T += 2 * time.Second // whoever kept a key loses it
		}
	})
}

func TestTokenThatCannotBeRaisedIsNoGrant(t *testing.T) {
	tb, c := newTable(3), plain()
	c.Tokens = lock.QuorumCounter
	e, l := tb.sit(t, "c1", c)
	e.onPoint[lock.PointQuorum] = func() { tb.ways(commandtest.Dead, commandtest.Dead) }
	if _, r := l.Acquire(); r.Outcome != lock.Fail {
		t.Errorf("%+v", r)
	}
}

func TestNewRefusesWhatDoesNotFit(t *testing.T) {
	e, _ := newTable(5).sit(t, "c1", plain())
	for want, c := range map[string]lock.Config{
		"no lock algorithm":       {Algorithm: "nonsense"},
		"cannot use 5 nodes":      {Algorithm: "set-nx-px"},
		"has no tokens \"magic\"": {Algorithm: "redlock", Tokens: "magic"},
	} {
		if _, err := lock.New(c, e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}
