package reporttest

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

var fiveNodes = []string{"A", "B", "C", "D", "E"}

const gcPauseScenario = `# yaml-language-server: $schema=../docs/scenario.schema.json
name: gc-pause
title: A client stalls past its lease, then writes
source: "Kleppmann 2016"
nodes: {count: 5, persistence: none}
lock:
  algorithm: redlock
  ttl: 1s
  node_timeout: 50ms
resource: {kind: register}
workload: {kind: increment, clients: 2, sections: 1}
faults:
  - on: {client: c1, point: before-write}
    pause: {client: c1, for: 2s}
variants:
  unfenced: {fencing: {tokens: none}}
  fenced:   {fencing: {tokens: quorum-counter}}
expect:
  unfenced: {exclusive-belief: violated, exclusive-lease: holds, no-late-effect: violated, linearizable-resource: violated}
  fenced:   {exclusive-belief: violated, exclusive-lease: holds, no-late-effect: holds, linearizable-resource: holds}
`

// GCPause is the run the project is about: a client stalls past its lease and
// writes, once without and once with fencing tokens. Every verdict is expected.
func GCPause() *report.Result {
	unfenced, fenced := gcPauseVariant("unfenced", false), gcPauseVariant("fenced", true)
	return &report.Result{
		Version: report.ResultVersion, Scenario: "gc-pause",
		Title:  "A client stalls past its lease, then writes",
		Source: "Kleppmann 2016, “How to do distributed locking”",
		Story: "A client gets the lock and stops dead before its write, as a garbage collector would make it. Its lease runs out, " +
			"a second client gets the lock and does its work, and then the first one wakes up and writes as if nothing had happened.",
		Guarantee: "paused-holder", Tags: []string{"kleppmann"},
		World: "live", Nodes: "process", Seed: 42, Met: true,
		Started: "2026-11-20T20:45:01Z", WallMS: 2411,
		Versions:       map[string]string{"sim": "0.1.0", "go": "go1.26.8", "redis": "7.0.15", "toxiproxy": "2.12.0"},
		Replay:         "sim run scenarios/gc-pause.yaml --seed 42",
		Facts:          []string{"5 nodes", "ttl 1s", "2 clients"},
		Variants:       []report.Variant{unfenced, fenced},
		ScenarioText:   gcPauseScenario,
		ScenarioDigest: "5e0c8e6b1d3f4a7c9b2e6f8a0c1d3e5f7a9b0c2d4e6f8a1b3c5d7e9f0a2b4c6d",
	}
}

// gcPauseHistory acts it out: c1 is granted the lock at 4 ms and paused before
// its write; c2 gets the lock, reads, writes and releases; c1 wakes and writes.
func gcPauseHistory(name string, fenced bool) *history.History {
	s := newScript(name, []string{"c1", "c2"}, fiveNodes)
	token := func(n int64) history.Int {
		if fenced {
			return history.Some(n)
		}
		return history.Int{}
	}
	const first, second = "c1-9f2ac41d", "c2-07be33a8"
	s.phase(0, history.PhaseSafety)
	s.set(1800*us, first, time.Second, fiveNodes...)
	s.op("c1", history.Acquire, 1200*us, 4*ms, history.Value{Owner: first}, history.Value{
		Owner: first, Token: token(1), Grant: &history.Grant{Validity: history.Some(int64(990 * ms)),
			ValidUntil: history.Some(int64(994 * ms)), Nodes: fiveNodes},
	})
	s.op("c1", history.Read, 4400*us, 4900*us, history.Value{Section: 1, Token: token(1)}, history.Value{Section: 1, Number: history.Some(0)})
	s.effect(4600*us, "c1", history.Read, 0, token(1), history.Int{}, true)
	s.observe(5200*us, "c1", history.Point, history.Value{Extra: &history.Extra{Point: "before-write"}, Section: 1})
	s.fault(1, "pause", "c1", 5600*us, 2006*ms, 2*time.Second, "SIGSTOP, stopped after 0.2 ms")

	s.add(30*ms, "c2", history.Invoke, history.Acquire, history.Value{Owner: second})
	s.gone(history.KeyExpired, 1002*ms, first, fiveNodes...)
	s.set(1207*ms, second, time.Second, fiveNodes...)
	s.add(1210*ms, "c2", history.OK, history.Acquire, history.Value{
		Owner: second, Token: token(2), Grant: &history.Grant{Validity: history.Some(int64(990 * ms)),
			ValidUntil: history.Some(int64(2200 * ms)), Nodes: fiveNodes},
	})
	s.op("c2", history.Read, 1211*ms, 1212*ms, history.Value{Section: 1, Token: token(2)}, history.Value{Section: 1, Number: history.Some(0)})
	s.effect(1211*ms+500*us, "c2", history.Read, 0, token(2), token(1), true)
	s.op("c2", history.Write, 1214*ms, 1215*ms, history.Value{Section: 1, Number: history.Some(1), Token: token(2)},
		history.Value{Section: 1, Number: history.Some(1)})
	s.effect(1214*ms+400*us, "c2", history.Write, 1, token(2), token(2), true)
	s.op("c2", history.Release, 2030*ms, 2032*ms, history.Value{Owner: second}, history.Value{Owner: second})
	s.gone(history.KeyDeleted, 2030*ms+600*us, second, fiveNodes...)

	s.add(2010*ms, "c1", history.Invoke, history.Write, history.Value{Section: 1, Number: history.Some(1), Token: token(1)})
	s.effect(2010*ms+400*us, "c1", history.Write, 1, token(1), token(2), !fenced)
	if fenced {
		s.events = append(s.events, history.Event{
			Time: 2011 * ms, Process: "c1", Type: history.Fail, F: history.Write,
			Value: history.Value{Section: 1, Number: history.Some(1), Token: token(1)}, Error: history.SomeText("refused: token 1 after 2"),
		})
	} else {
		s.add(2011*ms, "c1", history.OK, history.Write, history.Value{Section: 1, Number: history.Some(1)})
	}
	s.add(2013*ms, "c1", history.Invoke, history.Release, history.Value{Owner: first})
	s.events = append(s.events, history.Event{
		Time: 2014 * ms, Process: "c1", Type: history.Fail, F: history.Release,
		Value: history.Value{Owner: first}, Error: history.SomeText("not ours any more"),
	})
	s.phase(2050*ms, history.PhaseHealing)
	s.phase(2120*ms, history.PhaseDone)
	return s.history()
}

func gcPauseVariant(name string, fenced bool) report.Variant {
	h := gcPauseHistory(name, fenced)
	effort := func(chances int, of string) checker.Effort {
		return checker.Effort{Operations: 8, Chances: chances, Of: of, Faults: 1}
	}
	granted, again := find(h, "c1", history.OK, history.Acquire, 0), find(h, "c2", history.OK, history.Acquire, 0)
	v := report.Variant{Name: name, Met: true, WallMS: 2120, History: h,
		Settings: []string{"fencing.tokens: none"},
		Faults: []report.FaultResult{{ID: 1, Fault: "pause", Target: "c1", When: "at before-write of c1",
			Planned: 2 * time.Second, Fired: 1, Took: 2000400 * us,
			Events: []int{find(h, "nemesis", history.Info, history.FaultBegin, 0), find(h, "nemesis", history.Info, history.FaultEnd, 0)}}},
		Properties: []report.PropertyResult{
			{Name: checker.ExclusiveBelief, Verdict: checker.Violated, Expected: checker.Violated, Met: true,
				Why: "2 holders at once for 803 ms", Events: []int{granted, again}, Effort: effort(1, "contended grants"),
				Method: "zones", Counterexample: beliefExample(h, granted, again)},
			{Name: checker.ExclusiveLease, Verdict: checker.Holds, Expected: checker.Holds, Met: true,
				Why: "no two promises overlapped (2 grants, 1 contended)", Effort: effort(1, "contended grants"), Method: "zones"},
		}}
	if fenced {
		v.Settings = []string{"fencing.tokens: quorum-counter"}
		v.Properties = append(v.Properties,
			report.PropertyResult{Name: checker.NoLateEffect, Verdict: checker.Holds, Expected: checker.Holds, Met: true,
				Why: "the late write with token 1 was refused after token 2", Effort: effort(1, "late writes"), Method: "scan"},
			report.PropertyResult{Name: checker.LinearizableResource, Verdict: checker.Holds, Expected: checker.Holds, Met: true,
				Why: "2 sections, 1 of them refused; one order explains them", Effort: effort(2, "sections"), Method: "porcupine"},
			report.PropertyResult{Name: checker.OrderedTokens, Verdict: checker.Holds,
				Met: true, Why: "2 grants, tokens 1 and 2", Effort: effort(1, "grant pairs"), Method: "scan"})
		return v
	}
	late := find(h, "resource", history.Info, history.Effect, 3)
	v.Properties = append(v.Properties,
		report.PropertyResult{Name: checker.NoLateEffect, Verdict: checker.Violated, Expected: checker.Violated, Met: true,
			Why: "c1 wrote 1.016 s after its promise had ended", Events: []int{granted, late}, Effort: effort(1, "late writes"),
			Method: "scan", Counterexample: lateExample(granted, late)},
		report.PropertyResult{Name: checker.LinearizableResource, Verdict: checker.Violated, Expected: checker.Violated, Met: true,
			Why: "c1 and c2 both read 0; one update is lost", Events: []int{granted, again, late}, Effort: effort(2, "sections"),
			Method: "porcupine", Counterexample: lostUpdate(h)})
	return v
}

func beliefExample(h *history.History, granted, again int) *checker.Counterexample {
	end := find(h, "c1", history.Invoke, history.Release, 0)
	return &checker.Counterexample{
		Operations: []checker.CounterOp{
			{Client: "c1", Op: "holds the lock", Events: []int{granted, end}, From: 4 * ms, To: 2013 * ms,
				Believed: "holds the lock until it releases it, at 2.013 s", True: "its keys were gone from 1.002 s on"},
			{Client: "c2", Op: "holds the lock", Events: []int{again}, From: 1210 * ms, To: 2030 * ms,
				Believed: "holds the lock", True: "its keys were on 5 of 5 nodes"},
		},
		From: 2, Impossible: again, Overlap: &checker.Interval{From: 1210 * ms, To: 2013 * ms},
		Story: []checker.Sentence{
			{At: 4 * ms, Event: granted, Text: "c1 got the lock on 5 of 5 nodes, valid until 0.994 s"},
			{At: 5600 * us, Event: find(h, "nemesis", history.Info, history.FaultBegin, 0), Decisive: true,
				Text: "c1 was paused for 2 s, before its write"},
			{At: 1002 * ms, Event: find(h, "A", history.Info, history.KeyExpired, 0), Text: "the keys of c1 expired; c1 did not notice"},
			{At: 1210 * ms, Event: again, Text: "c2 got the lock on 5 of 5 nodes; now two clients hold it"},
			{At: 2013 * ms, Event: end, Text: "c1 let go, 803 ms after c2 had got the lock"},
		},
		Assumption: "that a client notices the end of its lease before it acts again",
	}
}

func lateExample(granted, late int) *checker.Counterexample {
	return &checker.Counterexample{
		Operations: []checker.CounterOp{
			{Client: "c1", Op: "holds the lock", Events: []int{granted}, From: 4 * ms, To: 994 * ms,
				Believed: "may write until 0.994 s", True: "it wrote at 2.010 s"},
			{Client: "c1", Op: "writes 1", Events: []int{late}, From: 2010 * ms, To: 2011 * ms,
				Believed: "inside its lease", True: "1.016 s after its end"},
		},
		From: 4, Impossible: late,
		Story: []checker.Sentence{
			{At: 4 * ms, Event: granted, Text: "c1 was promised the lock until 0.994 s"},
			{At: 2010*ms + 400*us, Event: late, Text: "the resource applied a write of c1, 1.016 s too late"},
		},
		Assumption: "that a client writes only while its lease lasts",
	}
}

func lostUpdate(h *history.History) *checker.Counterexample {
	at := func(p string, t history.Type, f history.F) int { return find(h, p, t, f, 0) }
	return &checker.Counterexample{
		Operations: []checker.CounterOp{
			{Client: "c1", Op: "reads 0 and writes 1", Events: []int{at("c1", history.Invoke, history.Read), at("c1", history.OK, history.Write)},
				From: 4400 * us, To: 2011 * ms, Believed: "alone with the resource", True: "c2 wrote in between, at 1.214 s"},
			{Client: "c2", Op: "reads 0 and writes 1", Events: []int{at("c2", history.Invoke, history.Read), at("c2", history.OK, history.Write)},
				From: 1211 * ms, To: 1215 * ms, Believed: "alone with the resource", True: "c1 had read 0 and was still to write"},
		},
		From: 2, Impossible: at("c1", history.OK, history.Write), Overlap: &checker.Interval{From: 1211 * ms, To: 1215 * ms},
		Story: []checker.Sentence{
			{At: 4 * ms, Event: at("c1", history.OK, history.Acquire), Text: "c1 got the lock on 5 of 5 nodes, valid until 0.994 s"},
			{At: 4900 * us, Event: at("c1", history.OK, history.Read), Text: "c1 read 0"},
			{At: 5600 * us, Event: at("nemesis", history.Info, history.FaultBegin), Text: "c1 was paused for 2 s, before its write", Decisive: true},
			{At: 1002 * ms, Event: at("A", history.Info, history.KeyExpired), Text: "the keys of c1 expired; c1 did not notice"},
			{At: 1210 * ms, Event: at("c2", history.OK, history.Acquire),
				Text: "c2 got the lock on 5 of 5 nodes; now two clients believe they hold it"},
			{At: 1215 * ms, Event: at("c2", history.OK, history.Write), Text: "c2 read 0 and wrote 1"},
			{At: 2011 * ms, Event: at("c1", history.OK, history.Write), Text: "c1 woke up and wrote 1: the update of c2 is lost"},
		},
		Assumption: "that the process which holds the lock never stops for longer than the lease",
	}
}
