package reporttest

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// ClockJump is a run in which the clocks of two nodes jump ahead and one node
// restarts, so that a second client finds a majority free while the first
// still stands inside its promise.
func ClockJump() *report.Result {
	s := newScript("default", []string{"c1", "c2", "c3"}, fiveNodes)
	s.header.TTL = int64(10 * time.Second)
	const first, second = "c1-aa", "c2-bb"
	s.phase(0, history.PhaseSafety)
	s.set(11*ms, first, 10*time.Second, "A", "B", "C")
	s.op("c1", history.Acquire, 10*ms, 14*ms, history.Value{Owner: first}, history.Value{Owner: first,
		Grant: &history.Grant{ValidUntil: history.Some(int64(9910 * ms)), Nodes: []string{"A", "B", "C"}}})
	s.observe(20*ms, "c1", history.Point, history.Value{Extra: &history.Extra{Point: "before-write"}})
	s.fault(1, "clock-jump", "C", 1500*ms, 1501*ms, 0, "ahead by 20 s")
	s.observe(1501*ms, "C", history.KeyExpired, history.Value{Key: "lock", Owner: first})
	s.observe(2201*ms, "E", history.NodeDown, history.Value{})
	s.observe(2449*ms, "E", history.NodeUp, history.Value{Rare: &history.Rare{Detail: "nothing"}})
	s.events = append(s.events, history.Event{Time: 2500 * ms, Process: history.NemesisProcess, Type: history.Info, F: history.FaultFailed,
		Value: history.Value{Rare: &history.Rare{Fault: "pause", ID: 4, Target: "c3"}}, Error: history.SomeText("c3 never was at before-write")})
	s.fault(2, "restart", "E", 2200*ms, 2450*ms, 250*ms, "without its data")
	s.fault(3, "partition", "c3", 500*ms, 4200*ms, 3700*ms, "reaches no node")
	s.add(600*ms, "c3", history.Invoke, history.Acquire, history.Value{Owner: "c3-cc"})
	s.events = append(s.events, history.Event{Time: 900 * ms, Process: "c3", Type: history.Fail, F: history.Acquire,
		Value: history.Value{Owner: "c3-cc"}, Error: history.SomeText("0 of 5 nodes")})
	s.set(3001*ms, second, 10*time.Second, "C", "D", "E")
	s.op("c2", history.Acquire, 3*time.Second, 3004*ms, history.Value{Owner: second}, history.Value{Owner: second,
		Grant: &history.Grant{ValidUntil: history.Some(int64(12900 * ms)), Nodes: []string{"C", "D", "E"}}})
	s.op("c2", history.Read, 3300*ms, 3302*ms, history.Value{Section: 1}, history.Value{Section: 1, Number: history.Some(0)})
	s.effect(3301*ms, "c2", history.Read, 0, history.Int{}, history.Int{}, true)
	s.op("c2", history.Write, 3800*ms, 3803*ms, history.Value{Section: 1, Number: history.Some(1)},
		history.Value{Section: 1, Number: history.Some(1)})
	s.effect(3801*ms, "c2", history.Write, 1, history.Int{}, history.Int{}, true)
	s.op("c2", history.Release, 4*time.Second, 4003*ms, history.Value{Owner: second}, history.Value{Owner: second})
	s.gone(history.KeyDeleted, 4001*ms, second, "C", "D", "E")
	s.op("c1", history.Release, 5*time.Second, 5003*ms, history.Value{Owner: first}, history.Value{Owner: first})
	s.gone(history.KeyDeleted, 5001*ms, first, "A", "B")
	s.phase(5200*ms, history.PhaseHealing)
	s.phase(5300*ms, history.PhaseDone)
	h := s.history()

	granted, again := find(h, "c1", history.OK, history.Acquire, 0), find(h, "c2", history.OK, history.Acquire, 0)
	jump := find(h, "nemesis", history.Info, history.FaultBegin, 1)
	example := &checker.Counterexample{
		Operations: []checker.CounterOp{
			{Client: "c1", Op: "holds the lock", Events: []int{granted}, From: 14 * ms, To: 5 * time.Second,
				Believed: "holds the lock until 9.910 s", True: "a majority was free from 1.501 s on"},
			{Client: "c2", Op: "holds the lock", Events: []int{again}, From: 3004 * ms, To: 4 * time.Second,
				Believed: "holds the lock", True: "3 of 5 nodes had its key"},
		},
		From: 3, Impossible: again, Overlap: &checker.Interval{From: 3004 * ms, To: 4 * time.Second},
		Story: []checker.Sentence{
			{At: 14 * ms, Event: granted, Text: "c1 got the lock on A, B and C, valid until 9.910 s"},
			{At: 1500 * ms, Event: jump, Text: "the clock of C jumped ahead by 20 s, and its key expired"},
			{At: 3004 * ms, Event: again, Text: "c2 got the lock on C, D and E, while c1 was still inside its promise"},
		},
		Assumption: "that the clocks of the nodes run at about the same pace",
	}
	r := frame("clock-jump", "A node's clock jumps, and the lease ends early")
	r.Met, r.Facts = true, []string{"5 nodes", "ttl 10s", "3 clients"}
	r.Variants = []report.Variant{{Name: "default", Met: true, WallMS: 5300, History: h,
		Properties: []report.PropertyResult{
			{Name: checker.ExclusiveLease, Verdict: checker.Violated, Expected: checker.Violated, Met: true,
				Why: "2 holders inside their promises for 996 ms", Events: []int{granted, again},
				Effort: checker.Effort{Operations: 7, Chances: 1, Of: "contended grants", Faults: 3}, Method: "zones", Counterexample: example},
			{Name: checker.LinearizableResource, Verdict: checker.Holds, Expected: checker.Holds, Met: true,
				Why: "1 section; one order explains it", Effort: checker.Effort{Operations: 7, Chances: 1, Of: "sections", Faults: 3},
				Method: "porcupine"},
		},
		Faults: []report.FaultResult{
			{ID: 1, Fault: "clock-jump", Target: "C", When: "at 1.5 s", Fired: 1, Took: ms, Events: []int{jump}},
			{ID: 2, Fault: "restart", Target: "E", When: "at 2.2 s", Planned: 250 * ms, Fired: 1, Took: 250 * ms},
			{ID: 3, Fault: "partition", Target: "c3", When: "at 0.5 s", Planned: 3700 * ms, Fired: 1, Took: 3700 * ms},
			{ID: 4, Fault: "pause", Target: "c3", When: "at before-write of c3", Planned: time.Second},
		}}}
	return r
}
