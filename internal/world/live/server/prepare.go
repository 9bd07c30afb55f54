package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
)

// Prepare makes sure that a world can be built by these options, and that the
// place where its nodes will run can do what is demanded; what it cannot is
// refused by name. It fetches an image that is missing and removes what killed
// runs have left.
func Prepare(ctx context.Context, o Options, demands []world.Demand) error {
	for i, d := range demands {
		if d.Power == world.PostgresPower {
			if err := refuse(demands[i:i+1], func(d world.Demand) error { return Available(d.Power) }); err != nil {
				return err
			}
		}
	}
	demands = slices.DeleteFunc(slices.Clone(demands), func(d world.Demand) bool { return d.Power == world.PostgresPower })
	if o.Nodes == Docker {
		return prepareDocker(ctx, o, demands)
	}
	if o.Nodes == External {
		return prepareExisting(ctx, o.Existing, demands)
	}
	return refuse(demands, func(d world.Demand) error { return Available(d.Power) })
}

// Available says why processes on this machine lack a power; nil: they have it.
func Available(p world.Power) error {
	var err error
	switch p {
	case world.NodeClockPower:
		_, err = machine.FindFaketime()
	case world.PostgresPower:
		_, err = postgres.FindPostgres()
	case world.PausePower, world.ClientClockPower, world.CrashPower,
		world.PowerCutPower, world.TearPower, world.FlipPower, world.ReplicaPower, world.SentinelPower, world.MessagePower, world.MemoryPower,
		world.LatencyPower, world.BandwidthPower, world.CutPower, world.HoldPower, world.StallPower, world.ResetPower,
		world.SlowClosePower, world.LimitDataPower, world.RefusePower: // they take nothing but Linux
	}
	return err
}

func prepareDocker(ctx context.Context, o Options, demands []world.Demand) error {
	image, err := docker.Find(ctx, o.Image)
	if err != nil {
		return err
	}
	return refuse(demands, func(d world.Demand) error {
		if d.Power == world.NodeClockPower && image.Preload == "" {
			return noFaketimeIn(image.Name)
		}
		return nil
	})
}

// refuse collects what cannot be met, and who asks for it.
func refuse(demands []world.Demand, why func(world.Demand) error) error {
	var errs []error
	for _, d := range demands {
		if err := why(d); err != nil {
			errs = append(errs, fmt.Errorf("%s is not possible: %w", d.By, err))
		}
	}
	return errors.Join(errs...)
}
