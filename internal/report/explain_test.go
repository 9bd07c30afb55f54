package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

// paused is a history in which a pause decides.
func paused() *history.History {
	h := &history.History{}
	add := func(at time.Duration, process string, typ history.Type, f history.F, v history.Value) {
		h.Events = append(h.Events, history.Event{Index: int32(len(h.Events)), Time: at, Process: process, Type: typ, F: f, Value: v})
	}
	fault := history.Value{Rare: &history.Rare{Fault: "pause", ID: 1, Target: "c1"}}
	add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	add(time.Millisecond, "A", history.Info, history.KeySet, history.Value{Owner: "x"})
	add(2*time.Millisecond, "c1", history.OK, history.Acquire, history.Value{Owner: "x"})
	add(100*time.Millisecond, history.NemesisProcess, history.Info, history.FaultBegin, fault)
	add(900*time.Millisecond, "A", history.Info, history.KeyExpired, history.Value{Owner: "x"})
	add(950*time.Millisecond, "c2", history.OK, history.Acquire, history.Value{Owner: "y"})
	add(time.Second, history.NemesisProcess, history.Info, history.FaultEnd, fault)
	return h
}

// explanation is one of that history: last and end are how many of 100 reruns violate the property from each event on.
func explanation(last, end [7]int, certain, noReturn int) *report.Explanation {
	x := &report.Explanation{Version: 1, Scenario: "s", Variant: "v", Property: checker.ExclusiveBelief, Seed: 1, Events: 7, Reruns: 1400,
		Planned: *report.RerunsOf(100, 100, 40), Seen: report.TurningPoint{Event: 6}}
	for i := range last {
		p := report.TurningPoint{Event: i, Last: report.RerunsOf(100, 100, last[i]), End: report.RerunsOf(100, 100, end[i])}
		x.Points = append(x.Points, p)
	}
	if certain >= 0 {
		x.Certain = &x.Points[certain]
	}
	if noReturn >= 0 {
		x.NoReturn = &x.Points[noReturn]
	}
	x.Describe(paused())
	return x
}

// What an explanation says: when it was certain, what happened then, and how many reruns that rests on.
func TestWriteExplanation(t *testing.T) {
	for name, c := range map[string]struct {
		x     *report.Explanation
		lead  string
		shows []string
	}{
		"a pause": {explanation([7]int{3: 100, 4: 100, 5: 100, 6: 100}, [7]int{4: 97, 5: 96, 6: 100}, 3, 4),
			"From 0.100 s on (the pause of c1 begins) it was certain unless the faults end; " +
				"from 0.900 s on (c1's key on A expires) nothing helped any more.",
			[]string{"0.100 s   event 3    the pause of c1 begins", "100 of 100 reruns violate exclusive-belief; one event",
				"0.900 s   event 4    c1's key on A expires", "Point of no return: even if all faults end at this moment, 97 of 100",
				"at each later event at least 96 of 100", "1.000 s   event 6    the pause of c1 ends", "40 of 100 runs violate it"}},
		"at once": {explanation([7]int{3: 100, 4: 100, 5: 100, 6: 100}, [7]int{3: 100, 4: 100, 5: 100, 6: 100}, 3, 3),
			"The point of no return is at 0.100 s: the pause of c1 begins.", []string{"Ending the faults does not help."}},
		"no fault": {explanation([7]int{100, 100, 100, 100, 100, 100, 100}, [7]int{100, 100, 100, 100, 100, 100, 100}, 0, 0),
			"The lock violates exclusive-belief without any fault: it was certain from the beginning.", []string{"No fault is needed"}},
		"chance to the end": {explanation([7]int{30, 30, 40, 50, 50, 60, 100}, [7]int{30, 30, 40, 50, 50, 60, 100}, 6, 6),
			"Nothing was certain before 1.000 s, when the violation was seen.",
			[]string{"Nothing was certain before: from here on 100 of 100", "earlier 60 of 100"}},
	} {
		if got := c.x.Lead(); got != c.lead {
			t.Errorf("%s: %s", name, got)
		}
		var text bytes.Buffer
		if err := report.WriteExplanation(&text, c.x, terminal.Options{Width: 120}); err != nil {
			t.Fatal(err)
		}
		for _, s := range c.shows {
			if !strings.Contains(text.String(), s) {
				t.Errorf("%s: without %q:\n%s", name, s, text.String())
			}
		}
	}
}

// A file that somebody has changed, or that is of another run, is not believed; its words are not shown.
func TestReadExplanation(t *testing.T) {
	write := func(change func(*report.Explanation)) *bytes.Buffer {
		x := explanation([7]int{3: 100, 4: 100, 5: 100, 6: 100}, [7]int{4: 100, 5: 100, 6: 100}, 3, 4)
		change(x)
		var text bytes.Buffer
		if err := report.WriteIndented(&text, "an explanation", x); err != nil {
			t.Fatal(err)
		}
		return &text
	}
	x, err := report.ReadExplanation(write(func(x *report.Explanation) { x.NoReturn.What, x.NoReturn.At = "evil", 1<<60 }), paused())
	if err != nil || x.NoReturn.What != "c1's key on A expires" || x.NoReturn.At != int64(900*time.Millisecond) {
		t.Errorf("got %+v, %v", x, err)
	}
	for name, change := range map[string]func(*report.Explanation){
		"another version":      func(x *report.Explanation) { x.Version = 2 },
		"another run":          func(x *report.Explanation) { x.Events = 8 },
		"no such event":        func(x *report.Explanation) { x.Seen.Event = 7 },
		"no points":            func(x *report.Explanation) { x.Points = nil },
		"points out of order":  func(x *report.Explanation) { x.Points[2].Event = 5 },
		"no reruns":            func(x *report.Explanation) { x.Points[2].End = nil },
		"more than there were": func(x *report.Explanation) { x.Points[2].Last.Violated = 101 },
		"less than none":       func(x *report.Explanation) { x.Planned.Violated = -1 },
		"certain nowhere":      func(x *report.Explanation) { x.Certain = &report.TurningPoint{Event: 99} },
	} {
		if _, err := report.ReadExplanation(write(change), paused()); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
