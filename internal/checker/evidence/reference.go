package evidence

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/linear"
)

// Reference asks porcupine alone what Check decides by all ways. most bounds the operations of one part, and mostUnknown those of unknown
// outcome among them: above them it is unknown at once, so that the answer does not depend on how fast the machine is.
func Reference(ctx context.Context, r io.Reader, o Options, most, mostUnknown int) (checker.Verdict, error) {
	b, _, err := build(r, o)
	if err != nil {
		return 0, err
	}
	if b.notUnderstood() != "" {
		return checker.Unknown, nil
	}
	deadline := time.Now().Add(b.o.Timeout)
	verdict, operations := checker.Holds, 0
	for _, key := range slices.Sorted(maps.Keys(b.parts)) {
		p := b.parts[key]
		operations += len(p.h.Ops)
		q, why := b.question(p)
		if why != "" {
			verdict = checker.Unknown
			continue
		}
		h := q.problem.History
		unknown := 0
		for i := range h.Ops {
			if h.Ops[i].Optional() {
				unknown++
			}
		}
		if len(h.Ops) > most || unknown > mostUnknown {
			verdict = checker.Unknown
			continue
		}
		switch linear.Reference(ctx, q.problem.Model, h, b.bounds(deadline)).Outcome {
		case linear.Illegal:
			return checker.Violated, nil
		case linear.Undecided:
			verdict = checker.Unknown
		}
	}
	if operations == 0 || b.m.timed && b.strange["extend"] > 0 {
		return checker.Unknown, nil
	}
	return verdict, nil
}
