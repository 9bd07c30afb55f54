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
	wall, monotonic, err := p.clocksAhead(ctx)
	if err != nil {
		return err
	}
	const jump, inexact = -time.Hour, 5 * time.Minute
	if err := clock.Set(machine.Bend{Jump: jump, Rate: 1}); err != nil {
		return err
	}
	wallThen, monotonicThen, err := p.clocksAhead(ctx)
	if err != nil {
		return err
	}
	if (wallThen - wall - jump).Abs() > inexact {
		return ErrClockStays
	}
	if (monotonicThen - monotonic).Abs() > inexact {
		return fmt.Errorf("its monotonic clock moved by %v with its wall clock", (monotonicThen - monotonic).Round(time.Second))
	}
	return nil
}

// clocksAhead is how far the program's clocks are ahead of the machine's.
func (p *Program) clocksAhead(ctx context.Context) (wall, monotonic time.Duration, err error) {
	a, err := p.Clocks(ctx)
	if ctx.Err() != nil {
		return 0, 0, context.Cause(ctx)
	}
	if err != nil {
		return 0, 0, err
	}
	if a.WallMS == nil || a.MonotonicMS == nil {
		return 0, 0, errors.New("it does not tell its clocks")
	}
	const ms = float64(time.Millisecond)
	return time.Duration(*a.WallMS*ms) - machine.Wall(), time.Duration(*a.MonotonicMS*ms) - machine.Monotonic(), nil
}
