package checker_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

const ms = time.Millisecond

// costs is a history by hand: each event at its time.
type costs struct{ h history.History }

func newCosts() *costs {
	return &costs{history.History{Header: history.Header{Workload: "increment",
		Clients: []string{"c1", "c2"}, Nodes: []string{"A", "B", "C"}, Commands: true}}}
}

func (c *costs) at(at time.Duration, process string, t history.Type, f history.F, v history.Value) {
	c.h.Events = append(c.h.Events, history.Event{Index: int32(len(c.h.Events)), Time: at, Process: process, Type: t, F: f, Value: v})
}

// sent is a command; with a negative answer it has none.
func (c *costs) sent(client, name string, left, answered time.Duration) {
	k := &history.Command{Name: name, Node: "A", Connection: 1, Left: int64(left), Opens: name == "PING"}
	at := left
	if answered >= 0 {
		at, k.Answered = answered, history.Some(int64(answered))
	}
	c.at(max(at, c.last()), client, history.Info, history.Sent, history.Value{Rare: &history.Rare{Command: k}})
}

func (c *costs) last() time.Duration {
	if n := len(c.h.Events); n > 0 {
		return c.h.Events[n-1].Time
	}
	return 0
}

func (c *costs) section(client string, ask, grant, release time.Duration) {
	c.at(ask, client, history.Invoke, history.Acquire, history.Value{})
	c.at(grant, client, history.OK, history.Acquire,
		history.Value{Owner: fmt.Sprint(client, ask), Grant: &history.Grant{ValidUntil: history.Some(int64(grant + 10*time.Second))}})
	c.at(release, client, history.Invoke, history.Release, history.Value{})
	c.at(release, client, history.OK, history.Release, history.Value{})
}

func (c *costs) done() checker.Cost {
	c.at(c.last(), history.RunProcess, history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
	return checker.CostOf(&c.h)
}

func TestCostOfAcquires(t *testing.T) {
	t.Parallel()
	c := newCosts()
	for i := range 100 {
		at := time.Duration(i) * 100 * ms
		took := time.Duration(i+1) * 100 * time.Microsecond
		c.sent("c1", "SET", at+took/10, at+took/5)
		c.sent("c1", "SET", at+took/10, at+took/4)
		c.sent("c1", "SET", at+took/5, at+took/2)
		c.sent("c1", "PING", at+took/2, at+took*3/4)
		if i == 7 {
			c.sent("c1", "EVAL", at+took/2, -1)
		}
		c.section("c1", at, at+took, at+50*ms)
		c.sent("c1", "DEL", at+50*ms, at+51*ms)
	}
	sortByTime(&c.h)
	cost := c.done()
	if cost.Acquires != 100 || *cost.Commands != (checker.Spread{Median: 3, Min: 3, Max: 4}) ||
		*cost.RoundTrips != (checker.Spread{Median: 2, Min: 2, Max: 3}) ||
		*cost.P50 != 5*ms || *cost.P99 != 9900*time.Microsecond {
		t.Errorf("%+v %+v %+v %v %v", cost, cost.Commands, cost.RoundTrips, cost.P50, cost.P99)
	}
	if cost.Waiting != nil || !strings.Contains(cost.Why(checker.WaitingFigure), "needs 1.00 s") ||
		cost.Holding == nil || cost.Holding.Commands != 0 {
		t.Errorf("%+v %+v", cost.Waiting, cost.Holding)
	}
}

// sortByTime puts the events in the order of a history.
func sortByTime(h *history.History) {
	for i := range h.Events { // by insertion: it keeps the order of those at one time
		for j := i; j > 0 && h.Events[j-1].Time > h.Events[j].Time; j-- {
			h.Events[j-1], h.Events[j] = h.Events[j], h.Events[j-1]
		}
	}
	for i := range h.Events {
		h.Events[i].Index = int32(i)
	}
}

func TestCostOfWaitingAndHolding(t *testing.T) {
	t.Parallel()
	c := newCosts()
	c.section("c1", 0, 10*ms, 3010*ms)
	c.section("c2", 20*ms, 3020*ms, 3030*ms)
	for i := range 30 { // c2's wait is 2.99 s, and it sends one command more after it
		at := time.Duration(20+100*i) * ms
		c.sent("c2", "SET", at, at+ms)
	}
	c.sent("c2", "SET", 3012*ms, 3013*ms)
	c.sent("c1", "EVALSHA", 1000*ms, 1001*ms)
	c.sent("c1", "EVALSHA", 2000*ms, -1)
	c.sent("c1", "EVALSHA", 3010*ms, 3011*ms) // the release
	sortByTime(&c.h)
	cost := c.done()
	if want := (checker.Rate{Commands: 30, Time: 2990 * ms}); cost.Waiting == nil || *cost.Waiting != want {
		t.Errorf("waiting %+v, want %+v", cost.Waiting, want)
	}
	if want := (checker.Rate{Commands: 2, Time: 3010 * ms}); cost.Holding == nil || *cost.Holding != want {
		t.Errorf("holding %+v, want %+v", cost.Holding, want)
	}
	// c2 came after c1's request, and while c1 held: c1 alone was not disturbed.
	if cost.Acquires != 1 || *cost.P50 != 10*ms || cost.P99 != nil || !strings.Contains(cost.Why(checker.P99Figure), "needs 100") {
		t.Errorf("%+v", cost)
	}
}

// TestCostIsUnknown: what cannot be told is no figure, and never a small one.
func TestCostIsUnknown(t *testing.T) {
	t.Parallel()
	all := []checker.Figure{checker.CommandsFigure, checker.RoundTripsFigure, checker.WaitingFigure, checker.HoldingFigure}
	unread := func(process string, v history.UnreadCommand) func(*costs) {
		return func(c *costs) {
			c.at(c.last(), process, history.Info, history.Unread, history.Value{Rare: &history.Rare{Unread: &v}})
		}
	}
	for name, one := range map[string]struct {
		spoil  func(*costs)
		lacks  []checker.Figure
		reason string
	}{
		"all is known":       {func(*costs) {}, nil, ""},
		"not recorded":       {func(c *costs) { c.h.Header.Commands = false }, all, "did not record"},
		"too many":           {unread(history.RunProcess, history.UnreadCommand{}), all, "not recorded"},
		"unreadable":         {unread("c1", history.UnreadCommand{Node: "A"}), all, "between c1 and node A"},
		"answers unreadable": {unread("c1", history.UnreadCommand{Node: "A", Answers: true}), all[1:2], "between c1 and node A"},
		"elsewhere": {func(c *costs) {
			for i := range c.h.Events {
				if k := c.h.Events[i].Value.Command(); k != nil {
					k.Opens = true
				}
			}
		}, all, "elsewhere"},
		"a stranger": {func(c *costs) {
			c.at(c.last(), "A", history.Info, history.KeyUnclear, history.Value{Key: "lock", Rare: &history.Rare{Stranger: true}})
		}, all, "no client's link"},
	} {
		c := newCosts()
		c.section("c1", 0, 10*ms, 3010*ms)
		c.section("c2", 20*ms, 3020*ms, 3030*ms)
		c.sent("c1", "SET", ms, 2*ms)
		c.sent("c2", "SET", 21*ms, 22*ms)
		sortByTime(&c.h)
		one.spoil(c)
		cost := c.done()
		known := map[checker.Figure]bool{checker.CommandsFigure: cost.Commands != nil, checker.RoundTripsFigure: cost.RoundTrips != nil,
			checker.WaitingFigure: cost.Waiting != nil, checker.HoldingFigure: cost.Holding != nil}
		want := map[checker.Figure]bool{}
		for _, f := range all {
			want[f] = true
		}
		for _, f := range one.lacks {
			want[f] = false
			if cost.Why(f) == "" || !strings.Contains(cost.Why(f), one.reason) {
				t.Errorf("%s: %s: %q", name, f, cost.Why(f))
			}
		}
		if !reflect.DeepEqual(known, want) {
			t.Errorf("%s: known are %v", name, known)
		}
	}
	c := newCosts()
	c.section("c1", 0, 10*ms, 3010*ms)
	c.sent("c1", "SET", ms, 2*ms)
	sortByTime(&c.h)
	if cost := checker.CostOf(&c.h); cost.Commands != nil || !strings.Contains(cost.Why(checker.HoldingFigure), "end") {
		t.Errorf("of a run that did not end: %+v", cost)
	}
}

// TestCostLeavesOutWhatIsDisturbed: an acquire of whose lock somebody else has something, or
// that a fault struck, is none of those that are measured.
func TestCostLeavesOutWhatIsDisturbed(t *testing.T) {
	t.Parallel()
	fault := func(c *costs, from, to time.Duration) {
		c.at(from, history.NemesisProcess, history.Info, history.FaultBegin,
			history.Value{Rare: &history.Rare{Fault: "pause", ID: 1, Target: "c1"}})
		c.at(to, history.NemesisProcess, history.Info, history.FaultEnd, history.Value{Rare: &history.Rare{Fault: "pause", ID: 1, Target: "c1"}})
	}
	for name, one := range map[string]struct {
		make func(*costs)
		want int
	}{
		"two apart":       {func(c *costs) { c.section("c1", 0, ms, 2*ms); c.section("c2", 3*ms, 4*ms, 5*ms) }, 2},
		"asked meanwhile": {func(c *costs) { c.section("c1", 0, 3*ms, 4*ms); c.section("c2", ms, 5*ms, 6*ms) }, 0},
		"never answered meanwhile": {func(c *costs) {
			c.section("c1", 3*ms, 4*ms, 5*ms)
			c.at(ms, "c2", history.Invoke, history.Acquire, history.Value{})
		}, 0},
		"a lease in force": {func(c *costs) {
			c.at(0, "c1", history.Invoke, history.Acquire, history.Value{})
			c.at(ms, "c1", history.OK, history.Acquire, history.Value{Grant: &history.Grant{ValidUntil: history.Some(int64(20 * ms))}})
			c.section("c1", 10*ms, 11*ms, 12*ms)
			c.section("c1", 30*ms, 31*ms, 32*ms)
		}, 2}, // the first and the last
		"a fault":            {func(c *costs) { c.section("c1", 2*ms, 6*ms, 7*ms); fault(c, 3*ms, 4*ms) }, 0},
		"a fault around it":  {func(c *costs) { c.section("c1", 2*ms, 3*ms, 7*ms); fault(c, ms, 4*ms) }, 0},
		"a fault that ended": {func(c *costs) { c.section("c1", 5*ms, 6*ms, 7*ms); fault(c, ms, 4*ms) }, 1},
	} {
		c := newCosts()
		one.make(c)
		sortByTime(&c.h)
		if got := c.done().Acquires; got != one.want {
			t.Errorf("%s: %d acquires, want %d", name, got, one.want)
		}
	}
}

// TestRoundTrips: the longest chain, as a search through all chains finds it.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		c := newCosts()
		var list [][2]time.Duration
		for range random.IntN(9) + 1 {
			left := time.Duration(random.IntN(40)) * ms
			one := [2]time.Duration{left, left + time.Duration(random.IntN(12)+1)*ms}
			if random.IntN(6) == 0 {
				one[1] = -1
			}
			list = append(list, one)
			c.sent("c1", "SET", one[0], one[1])
		}
		c.section("c1", 0, 100*ms, 200*ms)
		sortByTime(&c.h)
		if got, want := c.done().RoundTrips.Max, longestChain(list, 0); got != want {
			t.Fatalf("%v: %d round trips, want %d", list, got, want)
		}
	}
}

func longestChain(list [][2]time.Duration, from time.Duration) (n int) {
	for _, one := range list {
		switch {
		case one[0] < from:
		case one[1] < 0:
			n = max(n, 1)
		default:
			n = max(n, 1+longestChain(list, one[1]))
		}
	}
	return n
}
