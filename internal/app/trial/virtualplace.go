package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// VirtualPlace is where a search makes runs with real servers in virtual time, and with lock programs, one after the other.
type VirtualPlace struct {
	// Server is the program of the servers.
	Server string
	// Programs are the lock programs that may be started.
	Programs *Programs
	// Kept has servers and programs that stay from run to run, as far as that does not show; nil: all are started afresh for each.
	Kept *Kept
}

// Run makes a run.
func (p *VirtualPlace) Run(ctx context.Context, c runner.Config) (out runner.Outcome, err error) {
	c.World = request.Virtual
	if err = p.Programs.introduce(&c); err != nil {
		return out, err
	}
	limited, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	c.Open = func(spec world.Spec) (world.World, error) { return p.open(limited, spec, c.Program != nil) }
	out, err = runner.Run(c)
	if limited.Err() != nil && ctx.Err() == nil {
		out.Interrupted, err = false, errors.Join(err, machine.TookTooLong(0, "the run was not over after %v", longestRun))
	}
	return out, err
}

func (p *VirtualPlace) open(ctx context.Context, spec world.Spec, programs bool) (world.World, error) {
	o := guests.Options{Server: p.Server, Programs: programs}
	if p.Kept == nil {
		return guests.Open(ctx, spec, o)
	}
	return p.Kept.Open(ctx, spec, o)
}

// Refusal is why runs of a variant cannot be made here; empty: they can.
func (p *VirtualPlace) Refusal(v *scenario.Variant) string {
	program := v.Setup.Lock.Program
	spec := runner.Spec(runner.Config{Variant: *v, Program: p.Programs.Of(program), Programs: p.Programs.ofClients(&v.Setup)})
	return guests.Refusal(&spec, guests.Options{Server: p.Server, Programs: program != nil})
}

// Close does nothing: what is kept is for other places, too, and ends with Kept.
func (p *VirtualPlace) Close() {}

// introduce says in a run what its lock programs say of themselves.
func (p *Programs) introduce(c *runner.Config) error {
	for _, one := range c.Variant.Setup.Lock.All() {
		if one.Program != nil && p.Of(one.Program) == nil {
			return fmt.Errorf("the lock program %q has not been greeted", one.Program.Command)
		}
	}
	c.Program, c.Programs = p.Of(c.Variant.Setup.Lock.Program), p.ofClients(&c.Variant.Setup)
	return nil
}

// ofClients are the lock programs of clients that have another one than the others, as they describe themselves.
func (p *Programs) ofClients(s *scenario.Setup) map[string]*program.Ready {
	list := make(map[string]*program.Ready)
	for client, d := range s.Lock.Clients {
		if d.Program != nil {
			list[client] = p.Of(d.Program)
		}
	}
	return list
}
