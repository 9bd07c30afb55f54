//go:build linux && amd64

package guests

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Keepers are keepers for runs of several goroutines, each with machines of one kind: a run takes one that fits and that no other run has.
type Keepers struct {
	ctx context.Context //nolint:containedctx // of all runs

	mu sync.Mutex
	// idle are those that no run has, the one that was used last at the end.
	idle []*Keeper
	err  error
}

// mostIdle bounds how many keepers wait for another run. Each has up to a dozen processes.
const mostIdle = 12

// NewKeepers makes keepers that keep nothing yet. What they have started ends with them (Close).
func NewKeepers(ctx context.Context) *Keepers { return &Keepers{ctx: ctx} }

// Open opens a world as the function Open does.
func (k *Keepers) Open(ctx context.Context, spec world.Spec, o Options) (world.World, error) {
	mine := k.take(fitting(&spec, &o))
	mine.o = o
	w, err := mine.Open(ctx, spec)
	if err != nil { // it has nothing worth keeping
		return nil, errors.Join(err, mine.Close())
	}
	return w, nil
}

// take takes the keeper that was used last of those that fit, or makes one.
func (k *Keepers) take(fits string) *Keeper {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, other := range slices.Backward(k.idle) {
		if other.fits == fits {
			k.idle = slices.Delete(k.idle, i, i+1)
			return other
		}
	}
	mine := NewKeeper(k.ctx, Options{})
	mine.fits, mine.closed = fits, func() { k.give(mine) }
	return mine
}

// give takes a keeper back. The one that was not used for longest ends if there are too many.
func (k *Keepers) give(mine *Keeper) {
	k.mu.Lock()
	k.idle = append(k.idle, mine)
	var over []*Keeper
	if n := len(k.idle) - mostIdle; n > 0 {
		over = slices.Clone(k.idle[:n])
		k.idle = slices.Delete(k.idle, 0, n)
	}
	k.mu.Unlock()
	k.end(over)
}

func (k *Keepers) end(list []*Keeper) {
	for _, one := range list {
		if err := one.Close(); err != nil {
			k.mu.Lock()
			k.err = errors.Join(k.err, err)
			k.mu.Unlock()
		}
	}
}

// Close ends all that is kept, when no run is under way any more.
func (k *Keepers) Close() error {
	k.end(k.idle)
	k.idle = nil
	return k.err
}
