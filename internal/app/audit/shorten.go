package audit

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// shorten looks for the shortest scenario that shows the violation of a cell, and keeps it as a
// file. Each candidate is run once: what does not show at once is not shorter.
func (a *audit) shorten(ctx context.Context, k *asked) {
	l, q, cell := k.lock, k.question, k.cell
	v := q.variant(cell.Variant)
	property := checker.Property(cell.Property)
	setup := v.Setup
	setup.Faults.List = slices.Clone(setup.Faults.List)
	runs := 0
	still := func() bool {
		text, err := a.write(l, q, cell, &setup, property)
		if err != nil || ctx.Err() != nil {
			return false
		}
		s, err := scenario.Parse(cell.ID, []byte(text))
		if err != nil {
			return false
		}
		runs++
		a.Phase(l.Label, q.id, "shorter", fmt.Sprintf("run %d", runs))
		t, err := a.run(ctx, k, s, a.Trial.Seed, nil)
		return err == nil && l.shows(t.Result, property)
	}
	if setup.Faults.Mix == nil {
		explore.Reduce(&setup, still)
	}
	text, err := a.write(l, q, cell, &setup, property)
	if err != nil {
		return // a random mix has no short form; the cell's run can be made again
	}
	path := filepath.Join(a.Trial.Out, l.Label, strings.ReplaceAll(cell.ID, "/", "-")+".yaml")
	if err := machine.WriteFile(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		a.fail(err)
		return
	}
	cell.Scenario = l.Label + "/" + filepath.Base(path)
}

// write writes the scenario of a cell. It demands the property of any lock in its place.
func (a *audit) write(l *Lock, q *question, cell *card.Cell, setup *scenario.Setup, property checker.Property) (string, error) {
	head := scenario.Head{
		Name: strings.ReplaceAll(cell.ID, "/", "-"), Title: q.title, Guarantee: q.guarantee,
		Source: "the audit of " + l.Label + ", " + cell.ID,
		Story: fmt.Sprintf("%s\nThis is the shortest scenario that showed it, with %s.\nRun it with --lock %s",
			cell.Why, words.Count(len(setup.Faults.List), "fault"), shellquote.Join(l.Command())),
	}
	return scenario.Encode([]string{"Nothing is expected of the lock that stands here: it is about the one in its place."},
		head, setup, setup.ExpectAlone(property, 0),
		scenario.PropertyDemand{Property: property, Holds: true})
}
