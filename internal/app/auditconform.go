package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/app/conform"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
)

// conformance looks whether a program conforms. A check that fails costs what depends on it, and no more.
func conformance(
	ctx context.Context, listener Listener, l *audit.Lock, dir string, asked request.Audit, repeating *trial.Repeating,
) error {
	if l.Program == nil {
		return nil
	}
	listener.tell(Note{l.Label + ": does it conform to the lock protocol?"})
	logs := filepath.Join(dir, "conform")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return fmt.Errorf("failed to make a folder for logs: %w", err)
	}
	var virtual *conform.VirtualTime
	// PostgreSQL runs in real time alone, others in virtual time.
	if asked.World == request.Virtual && l.Ready.Store != program.Postgres || l.Ready.Store.InVirtualTimeAlone() {
		var err error
		if virtual, err = virtualConform(ctx, l.Program.Command, asked.Redis); err != nil {
			return err
		}
	}
	r, err := conform.Run(ctx, conform.Options{
		Command: l.Program.Command, Redis: asked.Redis, Virtual: virtual,
		Key: "lock", TTL: 2 * time.Second, Patience: program.ReadyWithin, Dir: logs,
		Line: func(conform.Line) {}, Begin: func(string) {}, End: func(conform.Check) {},
	})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(r.Checks, func(c conform.Check) bool { return c.Name == conform.SetUpCheck }); i >= 0 &&
		r.Checks[i].Outcome == conform.Failed {
		return &trial.EnvironmentError{Err: fmt.Errorf("%s cannot be set up: %s", l.Label, r.Checks[i].Finding.Seen),
			Hint: shellquote.Join("sim", "conform", l.Command(), "--world", asked.World)}
	}
	for i := range r.Checks {
		takeCheck(l, &r.Checks[i], asked.World)
	}
	takeRepeats(l, r.Checks, repeating)
	if asked.World == request.Virtual { // which has all clocks in its hand
		l.Ready.ClockStays = ""
	}
	muteCells(l, r.Checks)
	l.DeadNode = r.DeadNode
	if r.Count(conform.Failed) == 0 && l.NotConforming == "" {
		return os.RemoveAll(logs)
	}
	return nil
}

// onlyKeys is what a program costs that does not tell the truth about its keys.
const onlyKeys = "What nothing shows but the lock's keys is not held against it"

// takeRepeats notes whether runs of the program repeat. One that carries something from one trial into the next is started afresh for each.
func takeRepeats(l *audit.Lock, checks []conform.Check, repeating *trial.Repeating) {
	came := func(name string) conform.Outcome {
		if i := slices.IndexFunc(checks, func(c conform.Check) bool { return c.Name == name }); i >= 0 {
			return checks[i].Outcome
		}
		return conform.NotRun
	}
	switch repeats := came(conform.RepeatsCheck); {
	case repeats == conform.Failed, came(conform.AgainCheck) == conform.Failed:
		repeating.Differed(l.Program)
	case repeats == conform.Passed:
		repeating.Passed(l.Program)
	}
}

// muteCells has no cell count that rests on what the program does not do as it says.
func muteCells(l *audit.Lock, checks []conform.Check) {
	for i := range checks {
		c := &checks[i]
		at := slices.IndexFunc(l.Conform, func(x card.Cell) bool { return x.ID == cellOf(c) })
		if at >= 0 && (l.NotConforming != "" || l.KeysUnclear != "" && c.AtKeys) {
			l.Conform[at].State = card.Unknown
		}
	}
}

// cellOf is the ID of the cell of a check.
func cellOf(c *conform.Check) string { return cmp.Or(c.Guarantee, card.NoRow) + "/conform-" + c.Name }

// takeCheck has a check count as it must: what the lock does wrong is a broken cell of its row, what the program does wrong
// beside its lock an unknown one of no row. Without the protocol nothing can be judged, and without its keys nothing that only they show.
func takeCheck(l *audit.Lock, c *conform.Check, world string) {
	again := shellquote.Join("sim", "conform", l.Command(), "--world", world)
	cell := card.Cell{ID: cellOf(c), Title: c.Title, State: card.Unknown, Replay: again}
	switch {
	case c.Outcome == conform.NotRun && c.Mutes == conform.Everything:
		l.NotConforming = cmp.Or(l.NotConforming, fmt.Sprintf("%s could not be checked: %s (%s)", c.Name, c.Why, again))
		return
	case c.Outcome == conform.NotRun && c.Mutes == conform.ShownByKeys && l.NotConforming == "":
		l.KeysUnclear = cmp.Or(l.KeysUnclear, c.Why)
		cell.Why = fmt.Sprintf("%s could not be checked: %s (%s). %s.", c.Name, c.Why, again, onlyKeys)
	case c.Outcome != conform.Failed:
		return
	case c.OfLock:
		cell.State = card.Broken
		cell.Why = fmt.Sprintf("The lock fails the check %s (%s): %s (%s).", c.Name, c.Title, c.Finding.Seen, again)
	case c.Mutes == conform.Everything:
		l.NotConforming = cmp.Or(l.NotConforming, fmt.Sprintf("%s: %s (%s)", c.Name, c.Finding.Seen, again))
		return
	case c.Mutes == conform.ShownByKeys:
		l.KeysUnclear = cmp.Or(l.KeysUnclear, c.Finding.Seen)
		cell.Why = fmt.Sprintf("The program fails the check %s (%s): %s (%s). %s.", c.Name, c.Title, c.Finding.Seen, again, onlyKeys)
	default:
		cell.Why = fmt.Sprintf("The program fails the check %s (%s): %s (%s).", c.Name, c.Title, c.Finding.Seen, again)
		switch c.Name {
		case "clocks":
			l.Ready.ClockStays = cmp.Or(l.Ready.ClockStays, "it fails the check clocks: "+c.Finding.Seen)
		case "busy":
			l.Ready.Can = slices.DeleteFunc(slices.Clone(l.Ready.Can), func(a program.Ability) bool { return a == program.KeepsBusy })
		}
	}
	l.Conform = append(l.Conform, cell)
}
