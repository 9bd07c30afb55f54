package trial

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// longestEpoch bounds an epoch that does not get on, in real time.
const longestEpoch = 10 * time.Minute

// Live implements explore.Lives.
func (p *VirtualPlace) Live(ctx context.Context, c runner.Config, needs []world.Power) (_ explore.Living, err error) {
	if err = p.Programs.introduce(&c); err != nil {
		return nil, err
	}
	l := &virtualLife{ctx: ctx, place: p}
	var bounded context.Context
	bounded, l.cancel = context.WithCancel(ctx)
	l.bound = time.AfterFunc(longestEpoch, l.cancel)
	c.Open = func(spec world.Spec) (world.World, error) { return p.open(bounded, spec, c.Program != nil) }
	if l.Life, err = runner.Live(c, needs...); err != nil {
		l.cancel()
		return nil, err
	}
	return l, nil
}

// virtualLife is a life with real servers in virtual time.
type virtualLife struct {
	*runner.Life
	ctx    context.Context //nolint:containedctx // that of the soak
	place  *VirtualPlace
	cancel context.CancelFunc
	bound  *time.Timer
}

// Epoch implements explore.Living.
func (l *virtualLife) Epoch(c runner.Config) (out runner.Outcome, err error) {
	if err = l.place.Programs.introduce(&c); err != nil {
		return out, err
	}
	l.bound.Reset(longestEpoch)
	out, err = l.Life.Epoch(c)
	if !l.bound.Stop() && l.ctx.Err() == nil {
		out.Interrupted, err = false, errors.Join(err, machine.TookTooLong(0, "the epoch was not over after %v", longestEpoch))
	}
	return out, err
}

// Close implements explore.Living.
func (l *virtualLife) Close() error {
	l.bound.Stop()
	l.cancel()
	return l.Life.Close()
}

// Live implements explore.Lives. In real time each epoch is a life of its own: the servers stay from one to the next, without what they
// know.
func (p *Place) Live(ctx context.Context, c runner.Config, _ []world.Power) (_ explore.Living, err error) {
	if err := p.emptyFolder(); err != nil {
		return nil, err
	}
	c.World, c.Dir, c.Started = request.Live, p.dir, time.Now()
	if err = p.Programs.introduce(&c); err != nil {
		return nil, err
	}
	l := &liveLife{place: p}
	var limited context.Context
	limited, l.cancel = context.WithTimeout(ctx, longestEpoch)
	l.pace, l.endPace = machine.WatchPace()
	c.Open = func(spec world.Spec) (world.World, error) {
		return live.Open(limited, spec, live.Options{ClientCommand: p.ClientCommand, Kept: &p.kept, Pace: l.pace,
			Options: server.Options{Nodes: server.Process, Redis: p.Redis}})
	}
	if l.Life, err = runner.Live(c); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// liveLife is an epoch in real time.
type liveLife struct {
	*runner.Life
	place   *Place
	cancel  context.CancelFunc
	pace    *machine.Pace
	endPace func()
}

// Epoch implements explore.Living.
func (l *liveLife) Epoch(c runner.Config) (out runner.Outcome, err error) {
	c.World, c.Dir, c.Started = request.Live, l.place.dir, time.Now()
	if err = l.place.Programs.introduce(&c); err != nil {
		return out, err
	}
	out, err = l.Life.Epoch(c)
	tellPace(&out, l.pace, err, &c.Variant.Setup)
	return out, err
}

// Close implements explore.Living.
func (l *liveLife) Close() error {
	defer l.end()
	return l.Life.Close()
}

func (l *liveLife) end() {
	l.cancel()
	l.endPace()
}
