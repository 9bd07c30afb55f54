package locktest

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// twice makes each run twice, and counts how many repeat: do the same at the same times.
type twice struct {
	*engine
	runs, repeat uint64
}

// Run implements explore.Place.
func (w *twice) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	again := c
	again.Reuse = nil
	first, err := w.engine.Run(ctx, again)
	if err != nil {
		return first, err
	}
	second, err := w.engine.Run(ctx, c)
	if err == nil {
		w.runs++
		if slices.EqualFunc(first.History.Events, second.History.Events, sameEvent) {
			w.repeat++
		}
	}
	return second, err
}

// sameEvent compares what happened and when, but for names that libraries draw.
func sameEvent(a, b history.Event) bool {
	return a.Time == b.Time && a.Process == b.Process && a.Type == b.Type && a.F == b.F && a.Value.Number == b.Value.Number
}

func (w *twice) String() string {
	return fmt.Sprintf("%d of %s repeat", w.repeat, words.Count(w.runs, "run"))
}
