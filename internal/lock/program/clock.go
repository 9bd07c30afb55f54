package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// LibcClock is what a program says that reads its clocks by libc, so that they can be moved.
const LibcClock = "libc"

// ErrClockStays says that a program's clock does not follow.
var ErrClockStays = errors.New("its clock does not follow when it is moved")

// ErrContained says that a program's clock cannot be moved where it is.
var ErrContained = errors.New("it runs in a container")

// MovesClock starts a program once more, and moves its wall clock: nil, if the program then tells
// the time so moved, and its monotonic clock goes on as before.
func MovesClock(ctx context.Context, o Options) error {
	if _, contained := Image(o.Command); contained {
		return ErrContained
	}
	dir, err := machine.Scratch()
	if err != nil {
		return err
	}
	defer func() { _ = machine.Discard(dir) }()
	clock, err := machine.NewFaketimeHere(dir)
	if err != nil {
		return err
	}
	o.Env = slices.Concat(o.Env, clock.Variables())
	p, err := Start(ctx, o)
	if err != nil {
		return fmt.Errorf("with libfaketime it does not start: %w", err)
	}
	defer p.Close()
	silent := fmt.Errorf("it does not answer %q within %v", ClocksType, ReadyWithin)
	ctx, cancel := context.WithTimeoutCause(ctx, ReadyWithin, silent)
	defer cancel()
	before, err := p.clocksAhead(ctx)
	if err != nil {
		return err
	}
	if err := clock.Set(machine.Bend{Jump: ClockJump, Rate: 1}); err != nil {
		return err
	}
	then, err := p.clocksAhead(ctx)
	if err != nil {
		return err
	}
	return before.Followed(then)
}

// clocksAhead is how far the program's clocks are ahead of the machine's.
func (p *Program) clocksAhead(ctx context.Context) (Ahead, error) {
	a, err := p.Clocks(ctx)
	if ctx.Err() != nil {
		return Ahead{}, context.Cause(ctx)
	}
	if err != nil {
		return Ahead{}, err
	}
	return a.Ahead(machine.Wall(), machine.Monotonic())
}

// ClockJump is by how much a wall clock is moved to see whether a program follows.
const ClockJump = -time.Hour

// Ahead is how far a program's clocks are ahead of others.
type Ahead struct{ Wall, Monotonic time.Duration }

// Ahead is how far the clocks that it tells are ahead.
func (a *Answer) Ahead(wall, monotonic time.Duration) (Ahead, error) {
	if a.WallMS == nil || a.MonotonicMS == nil {
		return Ahead{}, errors.New("it does not tell its clocks")
	}
	const ms = float64(time.Millisecond)
	return Ahead{time.Duration(*a.WallMS*ms) - wall, time.Duration(*a.MonotonicMS*ms) - monotonic}, nil
}

// Followed is what is wrong with how far they are ahead after the wall clock was moved by ClockJump; nil: nothing.
func (a Ahead) Followed(then Ahead) error {
	const inexact = 5 * time.Minute
	if (then.Wall - a.Wall - ClockJump).Abs() > inexact {
		return ErrClockStays
	}
	if moved := then.Monotonic - a.Monotonic; moved.Abs() > inexact {
		return fmt.Errorf("its monotonic clock moved by %v with its wall clock", moved.Round(time.Second))
	}
	return nil
}
