package reporttest

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// All are the fixtures by name, save the long one.
func All() map[string]*report.Result {
	return map[string]*report.Result{
		"gc-pause": GCPause(), "unexpected": Unexpected(), "undecided": Undecided(), "interrupted": Interrupted(),
		"failed": Failed(), "hostile": Hostile(), "clock-jump": ClockJump(), "empty": Empty(), "brief": Brief(), "program": Program(),
		"hostile-program": HostileProgram(), "imported": Imported(), "cost": Cost(),
	}
}

// Unexpected is the gc-pause run with a fence that lets a late write through.
func Unexpected() *report.Result {
	r := GCPause()
	r.Scenario, r.Met = "leaky-fence", false
	r.Title = "A fence that lets a late write through"
	bad := gcPauseVariant("fenced", false)
	bad.Settings = []string{"fencing.tokens: quorum-counter", "fencing.check: false"}
	bad.Met = false
	bad.Properties[2].Met, bad.Properties[2].Expected = true, checker.Violated
	bad.Properties[3].Met, bad.Properties[3].Expected = false, checker.Holds
	r.Variants[1] = bad
	return r
}

// Undecided is a run whose only fault never fired.
func Undecided() *report.Result {
	s := newScript("default", []string{"c1", "c2"}, fiveNodes)
	s.phase(0, history.PhaseSafety)
	s.set(2*ms, "o1", time.Second, fiveNodes...)
	s.op("c1", history.Acquire, 1*ms, 4*ms, history.Value{Owner: "o1"},
		history.Value{Owner: "o1", Grant: &history.Grant{ValidUntil: history.Some(int64(994 * ms)), Nodes: fiveNodes}})
	s.op("c1", history.Release, 30*ms, 31*ms, history.Value{Owner: "o1"}, history.Value{Owner: "o1"})
	s.gone(history.KeyDeleted, 30*ms+300*us, "o1", fiveNodes...)
	s.phase(40*ms, history.PhaseDone)
	r := frame("no-contention", "One client, nobody to contend with")
	r.Undecided = true
	r.Variants = []report.Variant{{Name: "default", Undecided: true, WallMS: 40, History: s.history(),
		Properties: []report.PropertyResult{{Name: checker.LinearizableResource, Verdict: checker.Unknown, Expected: checker.Holds,
			Why: "fault 1 never fired, so nothing was put to the test", Effort: checker.Effort{Operations: 1, Of: "sections"}}},
		Faults: []report.FaultResult{{ID: 1, Fault: "pause", Target: "c1", When: "at before-write of c1", Planned: 2 * time.Second}}}}
	return r
}

// Interrupted is the gc-pause run, stopped while the client was paused.
func Interrupted() *report.Result {
	h := gcPauseHistory("unfenced", false)
	cut := find(h, "c2", history.OK, history.Acquire, 0) + 1
	h.Events, h.Truncated = h.Events[:cut], true
	r := frame("gc-pause", "A client stalls past its lease, then writes")
	r.Interrupted, r.Undecided = true, true
	r.Variants = []report.Variant{{Name: "unfenced", Interrupted: true, Undecided: true, WallMS: 1212, History: h,
		Properties: []report.PropertyResult{{Name: checker.LinearizableResource, Verdict: checker.Unknown, Expected: checker.Violated,
			Why: "the run was stopped before its end"}},
		Faults: []report.FaultResult{{ID: 1, Fault: "pause", Target: "c1", When: "at before-write of c1", Planned: 2 * time.Second,
			Fired: 1, Events: []int{find(h, "nemesis", history.Info, history.FaultBegin, 0)}}}}}
	return r
}

// Program is the gc-pause run with somebody's lock program, which tells no tokens.
func Program() *report.Result {
	r := GCPause()
	r.Replay += " --lock 'python3 my_lock.py'"
	r.Facts = append([]string{"my-lock 1.2"}, r.Facts...)
	l := &report.Lock{Name: "my-lock", Version: "1.2",
		Homepage: "https://example.com/my-lock", Class: "quorum", Promise: "told by the lock", InPlace: true}
	r.Variants[0].Lock = l
	for i := range r.Variants[0].Properties {
		p := &r.Variants[0].Properties[i]
		if p.Verdict == checker.Violated {
			p.Expected, p.ByDesign = 0, p.Name != checker.ExclusiveBelief
		}
	}
	r.Variants[1] = report.Variant{Name: "fenced", Settings: r.Variants[1].Settings,
		Lock: l, NotApplicable: "fencing tokens are wanted, and it tells none"}
	return r
}

// Cost is a run that measured what the lock costs: all of it, a part, and nothing.
func Cost() *report.Result {
	r := frame("cost-acquire", "What an acquire costs that nobody disturbs")
	r.Met = true
	p50, p99 := 812*us, 2140*us
	session := "no client sent a command to a node over its links: the lock is kept elsewhere"
	for name, c := range map[string]checker.Cost{
		"all": {Acquires: 1200, Commands: &checker.Spread{Median: 5, Min: 5, Max: 5},
			RoundTrips: &checker.Spread{Median: 1, Min: 1, Max: 3}, P50: &p50, P99: &p99,
			Waiting: &checker.Rate{Commands: 97, Time: 3 * time.Second}, Holding: &checker.Rate{Commands: 5500, Time: 3 * time.Second}},
		"few": {Acquires: 1, Commands: &checker.Spread{Median: 1, Min: 1, Max: 1},
			RoundTrips: &checker.Spread{Median: 1, Min: 1, Max: 1}, P50: &p50,
			Unmeasured: []checker.Unmeasured{{Figure: checker.P99Figure, Why: "1 acquire measured, and a p99 needs 100"},
				{Figure: checker.WaitingFigure, Why: "a rate needs 1.00 s"}, {Figure: checker.HoldingFigure, Why: "a rate needs 1.00 s"}}},
		"session": {Acquires: 300, P50: &p50, P99: &p99, Unmeasured: []checker.Unmeasured{{Figure: checker.CommandsFigure, Why: session},
			{Figure: checker.RoundTripsFigure, Why: session}, {Figure: checker.WaitingFigure, Why: session},
			{Figure: checker.HoldingFigure, Why: session}}},
	} {
		r.Variants = append(r.Variants, report.Variant{Name: name, Met: true, Cost: &c})
	}
	slices.SortFunc(r.Variants, func(a, b report.Variant) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// HostileProgram is a run with lock programs that attack the reader.
func HostileProgram() *report.Result {
	r := Program()
	r.Variants[0].Lock = &report.Lock{Name: BreakOut, Version: BreakTerm, Homepage: "javascript:alert(5)", Class: BreakAttr, Promise: BreakMD}
	r.Variants[1].Lock = &report.Lock{Name: BreakCSS, Class: BreakMD}
	r.Variants[1].NotApplicable = BreakOut + BreakTerm + BreakMD
	return r
}

// Failed is a run that could not be carried out.
func Failed() *report.Result {
	r := frame("gc-pause", "A client stalls past its lease, then writes")
	r.Error = "no redis-server was found on the PATH"
	r.WallMS = 3
	return r
}

// Empty is a run in which nothing happened.
func Empty() *report.Result {
	r := frame("empty", "")
	r.Met = true
	r.Variants = []report.Variant{{Name: "default", Met: true, History: &history.History{}}, {Name: "without-history", Met: true}}
	return r
}

// frame is a result without variants.
func frame(name, title string) *report.Result {
	return &report.Result{
		Version: report.ResultVersion, Scenario: name, Title: title, World: "live", Nodes: "process", Seed: 42,
		Started: "2026-11-20T20:45:01Z", WallMS: 1250, Facts: []string{"5 nodes", "ttl 1s", "2 clients"},
		Versions: map[string]string{"sim": "0.1.0", "go": "go1.26.8"},
		Replay:   "sim run scenarios/" + name + ".yaml --seed 42", ScenarioText: "name: " + name + "\n",
	}
}

// Texts that want to leave their place.
const (
	BreakOut  = `</script><img src=x onerror=alert(1)>`
	BreakAttr = `" onmouseover="alert(2)" x='`
	BreakCSS  = `</style><script>alert(3)</script>`
	BreakTerm = "\x1b[2J\x1b]0;owned\a\u009b31m\u202egnp.exe\x7f\r\n::error::owned"
	BreakMD   = "|pipe| `tick` [x](javascript:alert(4)) <b>bold</b> %0A"
)

// Hostile is a result in which every text that others may write attacks its
// reader.
func Hostile() *report.Result {
	h := gcPauseHistory("x", true)
	rename := map[string]string{"c1": BreakOut, "c2": BreakAttr, "A": BreakCSS, "B": BreakTerm, "C": BreakMD}
	named := func(s string) string {
		if to, ok := rename[s]; ok {
			return to
		}
		return s
	}
	for i := range h.Events {
		e := &h.Events[i]
		e.Process, e.Value.Client = named(e.Process), named(e.Value.Client)
		e.Value.OwnExtra().Point += BreakOut
		rare := e.Value.OwnRare()
		rare.Target, rare.Detail, rare.Fault = named(rare.Target), rare.Detail+BreakOut, rare.Fault+BreakAttr
		if e.Value.Owner != "" {
			e.Value.Owner += BreakOut
		}
		e.Error = history.SomeText(BreakTerm)
	}
	h.Header.Clients = []string{BreakOut, BreakAttr}
	h.Header.Nodes = []string{BreakCSS, BreakTerm, BreakMD, "D", "E"}
	h.Header.Scenario = BreakOut
	r := frame(BreakOut+BreakTerm, BreakOut+BreakAttr)
	r.Source, r.Story, r.Facts = BreakCSS, BreakOut, []string{BreakTerm, BreakOut}
	r.Guarantee, r.Tags = BreakAttr, []string{BreakOut, BreakTerm}
	r.Versions = map[string]string{BreakOut: BreakTerm}
	r.Replay, r.ScenarioText, r.ScenarioDigest = "sim run '"+BreakOut+"' "+BreakTerm, BreakOut+BreakCSS+BreakTerm, BreakAttr
	r.Error = BreakTerm
	v := gcPauseVariant("x", true)
	v.Name, v.History, v.Error, v.Settings = BreakOut+BreakTerm+BreakMD, h, BreakOut, []string{BreakCSS}
	v.Met = false
	for i := range v.Properties {
		p := &v.Properties[i]
		p.Why += BreakOut + BreakTerm + BreakMD
		p.Name += checker.Property(BreakOut)
		p.Method, p.Effort.Of = BreakOut, BreakAttr
		if c := p.Counterexample; c != nil {
			p.Met, p.Expected = false, checker.Holds
			c.Assumption = BreakOut
			for j := range c.Story {
				c.Story[j].Text += BreakOut + BreakTerm
			}
			for j := range c.Operations {
				o := &c.Operations[j]
				o.Client, o.Op, o.Believed, o.True = BreakOut, BreakCSS, BreakAttr, BreakTerm
			}
		}
	}
	v.Faults[0].Fault, v.Faults[0].Target, v.Faults[0].When = BreakOut, BreakAttr, BreakCSS
	v.Lock = &report.Lock{Name: BreakOut, Version: BreakTerm, Homepage: "javascript:alert(5)", Class: BreakAttr, Promise: BreakMD}
	r.Variants = []report.Variant{v}
	return r
}

// Brief is the gc-pause run with a second client whose section takes but a few
// milliseconds, as real ones do: nearly all of it happens on two pixels.
func Brief() *report.Result {
	r := GCPause()
	r.Scenario = "gc-pause-brief"
	for i := range r.Variants {
		v := &r.Variants[i]
		for j := range v.History.Events {
			e := &v.History.Events[j]
			if late := e.Time >= 2030*ms && e.Time < 2040*ms; late && e.F != history.Phase {
				e.Time -= 813 * ms
			}
		}
		s := script{header: v.History.Header, events: v.History.Events}
		v.History = s.history()
		for j := range v.Properties {
			if c := v.Properties[j].Counterexample; c != nil && v.Properties[j].Name == checker.ExclusiveBelief {
				c.Overlap.To = 1217 * ms
				v.Properties[j].Why = "2 holders at once for 7 ms"
			}
		}
	}
	return r
}

// Imported is a check of another tool's history: what is known of it is its operations.
func Imported() *report.Result {
	h := &history.History{}
	add := func(ms int, process string, kind history.Type, f history.F, number int64) {
		h.Events = append(h.Events, history.Event{Index: int32(len(h.Events)), Time: time.Duration(ms) * time.Millisecond, Process: process,
			Type: kind, F: f, Value: history.Value{Number: history.Some(number)}})
	}
	add(100, "0", history.Invoke, history.Write, 1)
	add(150, "0", history.OK, history.Write, 1)
	add(152, "10", history.Invoke, history.Write, 3)
	add(200, BreakOut, history.Invoke, history.Read, 2)
	add(290, BreakOut, history.OK, history.Read, 2)
	add(300, "10", history.Info, history.Write, 3)
	add(310, "2", history.Invoke, "add", 4)
	add(360, "2", history.Fail, "add", 4)
	c := &checker.Counterexample{From: 4, Impossible: -1, Assumption: "that every operation has a place in one order",
		Operations: []checker.CounterOp{{Client: BreakOut,
			Op: "read 2", From: 200 * time.Millisecond, To: 290 * time.Millisecond, True: "line 4 to 5", Events: []int{3, 4}}},
		Story: []checker.Sentence{{At: 200 * time.Millisecond, Event: 3, Text: "read 2"}}}
	return &report.Result{
		Version: report.ResultVersion, Scenario: "theirs.edn",
		Title: "The history theirs.edn", Facts: []string{"checked on 20 November 2026, 20:45:01 UTC"},
		Versions: map[string]string{"sim": "0.1.0"}, Replay: "sim check theirs.edn --model register", Checked: "theirs.edn", Imported: true,
		Variants: []report.Variant{{Name: "history", History: h,
			Properties: []report.PropertyResult{{Name: "linearizable as register", Verdict: checker.Violated,
				Expected: checker.Holds, Why: "nobody wrote 2",
				Effort: checker.Effort{Operations: 4, Chances: 4, Of: "operations"}, Counterexample: c}}}},
	}
}
