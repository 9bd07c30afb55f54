package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Place is where a search makes runs among real servers in real time, one after the other. The servers stay from
// run to run; clients and lock programs are new in each.
type Place struct {
	// ClientCommand starts a client process.
	ClientCommand []string
	// Redis is the program of the servers, as server.FindRedis takes it; empty: the machine's.
	Redis string
	// Programs are the lock programs that may be started.
	Programs *Programs

	kept live.Kept
	// dir has the logs of the run.
	dir string
}

// longestRun bounds a run that does not get on, in real time.
const longestRun = time.Minute

// Run makes a run.
func (p *Place) Run(ctx context.Context, c runner.Config) (out runner.Outcome, err error) {
	if err := p.emptyFolder(); err != nil {
		return out, err
	}
	c.World, c.Dir, c.Started = request.Live, p.dir, time.Now()
	if err = p.Programs.introduce(&c); err != nil {
		return out, err
	}
	limited, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	pace, end := machine.WatchPace()
	defer end()
	c.Open = func(spec world.Spec) (world.World, error) {
		return live.Open(limited, spec,
			live.Options{ClientCommand: p.ClientCommand, Kept: &p.kept, Pace: pace, Options: server.Options{Nodes: server.Process, Redis: p.Redis}})
	}
	out, err = runner.Run(c)
	if out.Interrupted && ctx.Err() == nil {
		out.Interrupted, err = false, errors.Join(err, machine.TookTooLong(0, "the run was not over after %v", longestRun))
	}
	tellPace(&out, pace, err, &c.Variant.Setup)
	return out, err
}

// emptyFolder leaves the logs of the servers in the folder alone.
func (p *Place) emptyFolder() (err error) {
	if p.dir == "" {
		p.dir, err = machine.Scratch()
		return err
	}
	logs, err := filepath.Glob(filepath.Join(p.dir, "client-*.log"))
	for _, log := range logs {
		err = errors.Join(err, os.Truncate(log, 0)) // whoever rests still writes to it
	}
	return err
}

// Close ends the servers.
func (p *Place) Close() {
	_ = p.kept.Close()
	_ = machine.Discard(p.dir)
}
