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
	for name, c := range map[string]struct {
		check conform.Check
		cell  string
		state card.State
		// mutes: nothing is held against the program.
		mutes, keys, clockStays bool
	}{
		"the lock": {check: conform.Check{Name: "lost", OfLock: true, Guarantee: "told-when-lost"},
			cell: "told-when-lost/conform-lost", state: card.Broken},
		"the lock, in no row": {check: conform.Check{Name: "nothing-left", OfLock: true},
			cell: "conform/conform-nothing-left", state: card.Broken},
		"the program": {check: conform.Check{Name: "end-of-input"}, cell: "conform/conform-end-of-input", state: card.Unknown},
		"its clock": {check: conform.Check{Name: "clocks"},
			cell: "conform/conform-clocks", state: card.Unknown, clockStays: true},
		"the protocol": {check: conform.Check{Name: "messages", Mutes: conform.Everything}, mutes: true},
		"its keys": {check: conform.Check{Name: "keys", Mutes: conform.ShownByKeys},
			cell: "conform/conform-keys", state: card.Unknown, keys: true},
	} {
		l := &audit.Lock{StandIn: &scenario.StandIn{Program: &lock.Program{Command: []string{"mine"}}}}
		c.check.Outcome, c.check.Finding = conform.Failed, &conform.Finding{Seen: "so it was"}
		takeCheck(l, &c.check, request.Virtual)
		if (l.NotConforming != "") != c.mutes || (l.KeysUnclear != "") != c.keys || (l.Ready.ClockStays != "") != c.clockStays {
			t.Errorf("%s: not conforming %q, keys unclear %q, clock stays %q", name, l.NotConforming, l.KeysUnclear, l.Ready.ClockStays)
		}
		has := slices.ContainsFunc(l.Conform, func(x card.Cell) bool { return x.ID == c.cell && x.State == c.state })
		if has != (c.cell != "") {
			t.Errorf("%s: %+v", name, l.Conform)
		}
	}
	l := &audit.Lock{StandIn: &scenario.StandIn{Program: &lock.Program{Command: []string{"mine"}}}}
	takeCheck(l, &conform.Check{Name: "extend", OfLock: true, Outcome: conform.NotRun, Why: "too slow"}, request.Live)
	if l.NotConforming != "" || len(l.Conform) > 0 {
		t.Errorf("what could not be checked of the lock costs %q, %+v", l.NotConforming, l.Conform)
	}
	takeCheck(l, &conform.Check{Name: "nodes", Mutes: conform.Everything, Outcome: conform.NotRun, Why: "too slow"}, request.Live)
	if l.NotConforming == "" {
		t.Error("whether the protocol is spoken could not be checked, and that costs nothing")
	}
	repeating := &trial.Repeating{}
	for i, outcome := range []conform.Outcome{conform.Passed, conform.Failed, conform.NotRun, conform.NotApplicable} {
		l := &audit.Lock{StandIn: &scenario.StandIn{Program: &lock.Program{Command: []string{"mine"}}}}
		l.Program.Command[0] = strconv.Itoa(i)
		check := conform.Check{Name: "repeats", Outcome: outcome, Finding: &conform.Finding{Seen: "so it was"}}
		takeCheck(l, &check, request.Virtual)
		takeRepeats(l, []conform.Check{check}, repeating)
		if repeating.Repeats(l.Program) != (outcome == conform.Passed) || (len(l.Conform) > 0) != (outcome == conform.Failed) {
			t.Errorf("repeats %s: its runs repeat: %v, and %+v", outcome, repeating.Repeats(l.Program), l.Conform)
		}
	}
}

// What rests on the lock's keys is unknown where the program names others, and nothing else is. A program that carries something from one
// trial into the next is started afresh for each.
func TestWhatRestsOnKeys(t *testing.T) {
	l := &audit.Lock{StandIn: &scenario.StandIn{Program: &lock.Program{Command: []string{"mine"}}}}
	checks := []conform.Check{
		{Name: "keys", Mutes: conform.ShownByKeys}, {Name: "second-client", OfLock: true, Guarantee: "exclusive"},
		{Name: "lost", OfLock: true, Guarantee: "told-when-lost", AtKeys: true},
		{Name: conform.AgainCheck}, {Name: conform.RepeatsCheck, Outcome: conform.Passed},
	}
	for i := range checks {
		if checks[i].Outcome == "" {
			checks[i].Outcome, checks[i].Finding = conform.Failed, &conform.Finding{Seen: "so it was"}
		}
		takeCheck(l, &checks[i], request.Virtual)
	}
	muteCells(l, checks)
	for i, want := range []card.State{card.Unknown, card.Broken, card.Unknown, card.Unknown} {
		if l.Conform[i].State != want {
			t.Errorf("%s is %s, want %s", l.Conform[i].ID, l.Conform[i].State, want)
		}
	}
	repeating := &trial.Repeating{}
	if takeRepeats(l, checks, repeating); repeating.Repeats(l.Program) {
		t.Error("what goes on from one trial to the next costs nothing")
	}
}
