package reporttest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// Long is a run of n operations (rounded to whole sections of four) by twenty
// clients, with one overlap in its second half.
func Long(n int) *report.Result {
	r := frame("long-run", "A long run with one bad moment")
	r.World, r.Nodes, r.Met = "virtual", "", false
	r.Facts = []string{"5 nodes", "ttl 1s", "20 clients"}
	for _, name := range []string{"unfenced", "fenced"} {
		h, bad := longHistory(name, n/4)
		first, second := h.Events[bad[0]], h.Events[bad[1]]
		r.Variants = append(r.Variants, report.Variant{Name: name, WallMS: 900, History: h,
			Properties: []report.PropertyResult{{
				Name: checker.ExclusiveBelief, Verdict: checker.Violated, Expected: checker.Holds, Events: bad,
				Why: "2 holders at once for 5 ms", Method: "zones",
				Effort: checker.Effort{Operations: n, Chances: n / 4, Of: "contended grants", Faults: 1},
				Counterexample: &checker.Counterexample{From: n, Impossible: bad[1],
					Overlap: &checker.Interval{From: second.Time, To: second.Time + 5*ms},
					Operations: []checker.CounterOp{
						{Client: first.Process, Op: "holds the lock", Events: bad[:1], From: first.Time, To: second.Time + 5*ms},
						{Client: second.Process, Op: "holds the lock", Events: bad[1:], From: second.Time, To: second.Time + 9*ms}},
					Story: []checker.Sentence{
						{At: first.Time, Event: bad[0], Text: first.Process + " got the lock"},
						{At: second.Time, Event: bad[1], Text: second.Process + " got it too"}},
				}}}})
	}
	return r
}

func longHistory(name string, sections int) (*history.History, []int) {
	rnd := rand.New(rand.NewPCG(7, 7))
	var clients []string
	for i := range 20 {
		clients = append(clients, fmt.Sprintf("c%d", i+1))
	}
	s := newScript(name, clients, fiveNodes)
	s.header.Scenario, s.header.World = "long-run", "virtual"
	s.phase(0, history.PhaseSafety)
	at, held := 5*ms, time.Duration(0)
	for i := range sections {
		c, owner := clients[(i*7)%len(clients)], fmt.Sprintf("o%d", i)
		think := time.Duration(2+rnd.IntN(6)) * ms
		if i == sections*2/3 {
			at = held - 5*ms // before the last holder let go
		}
		s.op(c, history.Acquire, at-time.Duration(rnd.IntN(4000))*us, at+time.Millisecond, history.Value{Owner: owner},
			history.Value{Owner: owner, Grant: &history.Grant{ValidUntil: history.Some(int64(at + 990*ms)), Nodes: fiveNodes}})
		s.set(at, owner, time.Second, fiveNodes...)
		s.op(c, history.Read, at+2*ms, at+2*ms+300*us, history.Value{Section: i + 1},
			history.Value{Section: i + 1, Number: history.Some(int64(i))})
		s.op(c, history.Write, at+think, at+think+300*us, history.Value{Section: i + 1, Number: history.Some(int64(i + 1))},
			history.Value{Section: i + 1})
		s.effect(at+think+100*us, c, history.Write, int64(i+1), history.Int{}, history.Int{}, true)
		held = at + think + 2*ms
		if i == sections*2/3-1 {
			held += 6 * ms
		}
		s.op(c, history.Release, held, held+500*us, history.Value{Owner: owner}, history.Value{Owner: owner})
		s.gone(history.KeyDeleted, held+100*us, owner, fiveNodes...)
		at = held + time.Duration(1+rnd.IntN(3))*ms
	}
	s.phase(at+5*ms, history.PhaseDone)
	h := s.history()
	second := -1
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.Acquire && e.Type == history.OK && e.Value.Owner == fmt.Sprintf("o%d", sections*2/3) {
			second = i
		}
	}
	first := second - 1
	for ; h.Events[first].F != history.Acquire || h.Events[first].Type != history.OK; first-- {
	}
	return h, []int{first, second}
}
