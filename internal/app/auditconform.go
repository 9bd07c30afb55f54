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
	if asked.World == request.Virtual && l.Ready.Store != program.Postgres { // which runs in real time
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
	for i := range r.Checks {
		takeCheck(l, &r.Checks[i], asked.World, repeating)
	}
	if asked.World == request.Virtual { // which has all clocks in its hand
		l.Ready.ClockStays = ""
	}
	for i := range l.Conform {
		if l.NotConforming != "" {
			l.Conform[i].State = card.Unknown
		}
	}
	if r.Count(conform.Failed) == 0 && l.NotConforming == "" {
		return os.RemoveAll(logs)
	}
	return nil
}

// takeCheck has a check count as it must: what the lock does wrong is a broken cell of its row, what the program does wrong
// beside its lock an unknown one of no row. Without the protocol nothing can be judged.
func takeCheck(l *audit.Lock, c *conform.Check, world string, repeating *trial.Repeating) {
	again := shellquote.Join("sim", "conform", l.Command(), "--world", world)
	if c.Name == conform.RepeatsCheck && c.Outcome == conform.Passed {
		repeating.Passed(l.Program)
	} else if c.Name == conform.RepeatsCheck && c.Outcome == conform.Failed {
		repeating.Differed(l.Program)
	}
	if c.Outcome != conform.Failed {
		if c.Outcome == conform.NotRun && c.Protocol {
			l.NotConforming = cmp.Or(l.NotConforming, fmt.Sprintf("%s could not be checked: %s (%s)", c.Name, c.Why, again))
		}
		return
	}
	cell := card.Cell{ID: cmp.Or(c.Guarantee, card.NoRow) + "/conform-" + c.Name, Title: c.Title}
	switch {
	case c.OfLock:
		cell.State = card.Broken
		cell.Why = fmt.Sprintf("The lock fails the check %s (%s): %s (%s).", c.Name, c.Title, c.Finding.Seen, again)
	case c.Protocol:
		l.NotConforming = cmp.Or(l.NotConforming, fmt.Sprintf("%s: %s (%s)", c.Name, c.Finding.Seen, again))
		return
	default:
		cell.State = card.Unknown
		cell.Why = fmt.Sprintf("The program fails the check %s (%s): %s (%s).", c.Name, c.Title, c.Finding.Seen, again)
		switch c.Name {
		case "clocks":
			l.Ready.ClockStays = cmp.Or(l.Ready.ClockStays, "it fails the check clocks: "+c.Finding.Seen)
		case "busy":
			l.Ready.Can = slices.DeleteFunc(slices.Clone(l.Ready.Can), func(a program.Ability) bool { return a == program.KeepsBusy })
		}
	}
	cell.Replay = again
	l.Conform = append(l.Conform, cell)
}
