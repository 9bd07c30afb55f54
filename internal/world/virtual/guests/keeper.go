//go:build linux && amd64

package guests

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Keeper opens one world after the other, and keeps what it can from one run to the next: the servers, as they were when they had just
// started, and lock programs that can be set up again. A run should not show that; docs/internals/virtual-programs.md has what may differ.
//
// It is for one run at a time. Runs may be of different goroutines: each is bound to its thread from Open to the Close of its world.
type Keeper struct {
	ctx context.Context //nolint:containedctx // of all runs
	o   Options
	// machines are there between two runs, if something is kept; fits is what runs have that can be made on them.
	machines *machines
	fits     string
	// closed is called when a world that it has opened is closed, which is done once; nil: nobody cares.
	closed func()
	// err is why something could not be given back.
	err error
	// left counts the servers that were left for another run, ended those that were not; waited and stopped are of lock programs;
	// of those that waited, again were started anew.
	left, ended, waited, stopped, again int
	// why is why a lock program that says that it can be set up again was not, the last time.
	why string
}

// NotAgain is why a lock program was not set up again although it says that it can be; empty: it was.
func (k *Keeper) NotAgain() string {
	if k.why == "" && k.waited == 0 {
		return "it was left in doubt, as after an answer that did not come"
	}
	return k.why
}

// NewKeeper makes a keeper that keeps nothing yet. What it has started ends with it (Close).
func NewKeeper(ctx context.Context, o Options) *Keeper { return &Keeper{ctx: ctx, o: o} }

// Open opens a world as the function Open does. The world before it must have been closed.
func (k *Keeper) Open(ctx context.Context, spec world.Spec) (world.World, error) {
	if err := k.ctx.Err(); err != nil {
		return nil, err
	}
	if why := Refusal(&spec, k.o); why != "" {
		return nil, errors.New(why)
	}
	fits := fitting(&spec, &k.o)
	if fits != k.fits {
		k.discard()
	}
	m := k.machines
	k.machines, k.fits = nil, fits
	var err error
	if m == nil {
		m, err = newMachines(wallOf(&spec, &k.o))
	} else if err = m.sup.Bind(); err != nil {
		err = errors.Join(err, m.end())
	}
	if err != nil {
		return nil, err
	}
	return open(ctx, spec, k.o, m, k)
}

// fitting is what must be the same of two runs that are made on the same machines.
func fitting(spec *world.Spec, o *Options) string {
	var programs []lock.Program
	for _, one := range spec.Lock.All() {
		if one.Program != nil {
			programs = append(programs, *one.Program)
		}
	}
	return fmt.Sprint(spec.Clients, spec.PerProcess, spec.LockStore, programs, spec.Lock.Differing(), o.Server, o.Stores, o.Programs,
		wallOf(spec, o))
}

// take takes what a run leaves. What cannot be used again ends.
func (k *Keeper) take(g *guests) error {
	if g.failed || g.over() {
		return g.end()
	}
	var left []*server
	for _, s := range g.servers {
		if s.leave() == nil {
			left = append(left, s)
			k.left++
		} else if s.running != nil {
			k.ended++
			s.host.Resume()
			s.running.Kill()
		}
	}
	g.park(left)
	g.keepPrograms()
	if g.over() {
		return g.end()
	}
	g.sup.Unbind()
	k.machines = g.machines
	return nil
}

// discard ends what is kept.
func (k *Keeper) discard() {
	if m := k.machines; m != nil {
		k.machines = nil
		k.err = errors.Join(k.err, m.end())
	}
}

// Close ends all that is kept.
func (k *Keeper) Close() error {
	k.discard()
	return k.err
}
