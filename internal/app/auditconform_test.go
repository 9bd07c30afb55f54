package app

import (
	"slices"
	"strconv"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/app/conform"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// A check that fails costs what depends on it, and no more.
func TestWhatAFailedCheckCosts(t *testing.T) {
	repeating := &trial.Repeating{}
	for name, c := range map[string]struct {
		check conform.Check
		cell  string
		state card.State
		// mutes: nothing is held against the program.
		mutes, clockStays bool
	}{
		"the lock": {check: conform.Check{Name: "lost", OfLock: true, Guarantee: "told-when-lost"},
			cell: "told-when-lost/conform-lost", state: card.Broken},
		"the lock, in no row": {check: conform.Check{Name: "nothing-left", OfLock: true},
			cell: "conform/conform-nothing-left", state: card.Broken},
		"the program": {check: conform.Check{Name: "end-of-input"}, cell: "conform/conform-end-of-input", state: card.Unknown},
		"its clock": {check: conform.Check{Name: "clocks"},
			cell: "conform/conform-clocks", state: card.Unknown, clockStays: true},
		"the protocol": {check: conform.Check{Name: "keys", Protocol: true}, mutes: true},
	} {
		l := &audit.Lock{StandIn: &scenario.StandIn{Program: &lock.Program{Command: []string{"mine"}}}}
		c.check.Outcome, c.check.Finding = conform.Failed, &conform.Finding{Seen: "so it was"}
		takeCheck(l, &c.check, request.Virtual, repeating)
		if (l.NotConforming != "") != c.mutes || (l.Ready.ClockStays != "") != c.clockStays {
			t.Errorf("%s: not conforming %q, clock stays %q", name, l.NotConforming, l.Ready.ClockStays)
		}
		has := slices.ContainsFunc(l.Conform, func(x card.Cell) bool { return x.ID == c.cell && x.State == c.state })
		if has != (c.cell != "") {
			t.Errorf("%s: %+v", name, l.Conform)
		}
	}
	l := &audit.Lock{StandIn: &scenario.StandIn{Program: &lock.Program{Command: []string{"mine"}}}}
	takeCheck(l, &conform.Check{Name: "extend", OfLock: true, Outcome: conform.NotRun, Why: "too slow"}, request.Live, repeating)
	if l.NotConforming != "" || len(l.Conform) > 0 {
		t.Errorf("what could not be checked of the lock costs %q, %+v", l.NotConforming, l.Conform)
	}
	takeCheck(l, &conform.Check{Name: "keys", Protocol: true, Outcome: conform.NotRun, Why: "too slow"}, request.Live, repeating)
	if l.NotConforming == "" {
		t.Error("whether the protocol is spoken could not be checked, and that costs nothing")
	}
	for i, outcome := range []conform.Outcome{conform.Passed, conform.Failed, conform.NotRun, conform.NotApplicable} {
		l := &audit.Lock{StandIn: &scenario.StandIn{Program: &lock.Program{Command: []string{"mine"}}}}
		l.Program.Command[0] = strconv.Itoa(i)
		takeCheck(l, &conform.Check{Name: "repeats", Outcome: outcome, Finding: &conform.Finding{Seen: "so it was"}}, request.Virtual, repeating)
		if repeating.Repeats(l.Program) != (outcome == conform.Passed) || (len(l.Conform) > 0) != (outcome == conform.Failed) {
			t.Errorf("repeats %s: its runs repeat: %v, and %+v", outcome, repeating.Repeats(l.Program), l.Conform)
		}
	}
}
