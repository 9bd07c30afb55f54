//go:build linux && amd64

package guests

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// Available is why no program can run in virtual time here; nil: they can.
func Available() error { return supervisor.Available() }

// Version of the supervisor and this package, which histories depend on.
const Version = "7"

// wall is the time of day at which runs of programs begin: 2026-01-01, as everywhere with guests. Those of built-in locks begin as with
// models.
const wall = 1_767_225_600 * time.Second

// wallOf is the time of day at which the servers of a run are started.
func wallOf(spec *world.Spec, o *Options) time.Duration {
	if o.Programs {
		return wall
	}
	return virtual.Begins(spec) - virtual.NodesStartBefore
}

// Open opens a virtual world in which real programs take part. All of them are started for it, and end with it.
func Open(ctx context.Context, spec world.Spec, o Options) (world.World, error) {
	if why := Refusal(&spec, o); why != "" {
		return nil, errors.New(why)
	}
	m, err := newMachines(wallOf(&spec, &o))
	if err != nil {
		return nil, err
	}
	return open(ctx, spec, o, m, nil)
}

// open opens a world on machines. keeper is who keeps them afterwards; nil: nobody does.
func open(ctx context.Context, spec world.Spec, o Options, m *machines, keeper *Keeper) (world.World, error) {
	g := &guests{machines: m, keeper: keeper, ctx: ctx, o: o, spec: spec, conns: make(map[*supervisor.Conn]*line),
		given:   make(map[string]command.Key),
		clients: make(map[string]*lockProgram), wall: wallOf(&spec, &o)}
	m.arrange(&spec)
	m.sup.Rewind(spec.Seed, g, ctx.Done())
	e := &virtual.Engine{Guests: g, Wall: g.wall, FromReady: true, Step: supervisor.Step}
	if o.Programs {
		e.Locks = g
	}
	if o.Server != "" {
		e.Servers = g
	}
	w, err := e.Open(ctx, spec)
	if why := errors.Join(g.unknown(), ctx.Err()); why != nil { // whatever else went wrong, came of that
		err = why
	}
	if g.world = w; err != nil {
		g.failed = true
		return nil, errors.Join(err, w.Close(), g.close())
	}
	return &guestWorld{World: w, g: g}, nil
}

// guestWorld is the virtual world with its guests.
type guestWorld struct {
	*virtual.World
	g *guests
	// told: it was said that the run tells nothing.
	told bool
}

// unknown is why the run tells nothing, or is not whole, once.
func (w *guestWorld) unknown() error {
	err := w.g.unknown()
	if err == nil {
		err = errors.Join(w.g.failures...)
	}
	if err == nil || w.told {
		return nil
	}
	w.told = true
	return err
}

// Start begins the run's time, when all guests are ready.
func (w *guestWorld) Start(h world.Hooks) error {
	w.g.recorder = h.Record
	err := w.World.Start(h)
	if why := errors.Join(w.unknown(), w.g.ctx.Err()); why != nil {
		return why
	}
	return err
}

// Redraw lets what programs draw from now on depend on another seed, too.
func (w *guestWorld) Redraw(seed uint64) {
	w.World.Redraw(seed)
	w.g.sup.Seed = seed
	for _, s := range w.g.servers {
		if s.running != nil && !s.running.HasEnded() {
			s.running.Reseed()
		}
	}
	for _, p := range w.g.clients {
		if p.running != nil && !p.running.HasEnded() {
			p.running.Reseed()
		}
	}
}

// Flush says, too, whether the run tells anything.
func (w *guestWorld) Flush() error {
	if err := w.unknown(); err != nil {
		return err
	}
	return w.World.Flush()
}

// Versions names the programs as well.
func (w *guestWorld) Versions() map[string]string {
	all := w.World.Versions()
	all["virtual-programs"] = Version
	maps.Copy(all, w.g.Versions())
	return all
}

// Close ends the programs. It says that the run tells nothing where that has stopped it.
func (w *guestWorld) Close() error {
	w.g.record = nil
	unknown := w.unknown()
	w.g.failed = w.g.failed || w.g.over() || len(w.g.failures) > 0
	w.g.part()
	err := errors.Join(unknown, w.World.Close(), w.g.close())
	if k := w.g.keeper; k != nil && k.closed != nil {
		k.closed()
	}
	return err
}

// part is called when the run is over, before its clients end.
func (g *guests) part() {
	g.parting = true
	for _, p := range g.clients {
		p.stays = g.keeper != nil && !g.failed && p.mayStay()
	}
}

// guests are the programs of a run.
type guests struct {
	*machines
	// keeper keeps the machines for the next run; nil: nobody does.
	keeper *Keeper
	ctx    context.Context //nolint:containedctx // of a run
	o      Options
	spec   world.Spec
	world  *virtual.World
	// wall is the time of day at which the machines' time began.
	wall time.Duration
	// inbox is what programs want of the world.
	inbox []func()
	// began is the supervisor's time at which the run's time began.
	began time.Duration
	// begun: it has.
	begun bool
	// together: the sentinels, or the nodes of a cluster, have found each other. apart is what waits for that.
	together bool
	apart    []func()
	conns    map[*supervisor.Conn]*line
	// doubt is why the run tells nothing, beside what the supervisor says.
	doubt   string
	ready   func(error)
	clients map[string]*lockProgram
	// failures are lock programs that ended by themselves, or broke the protocol.
	failures []error
	servers  []*server
	closed   bool
	// failed: what is left on the machines is not to be used again. parting: the run is over, and they may be; stirred: a lock program
	// has said or asked for something since.
	failed, parting, stirred bool
	// ports counts those of connections that the world opens.
	ports int

	// record is recorder from when the run's time begins until the run is over, and else nil.
	record, recorder recorder
	// given are the keys that servers have given away, by the bytes in which they went.
	given map[string]command.Key
}

var (
	_ virtual.Guests  = (*guests)(nil)
	_ virtual.Locks   = (*guests)(nil)
	_ virtual.Servers = (*guests)(nil)
)

// unknown is why the run tells nothing; nil: it does.
func (g *guests) unknown() error {
	why := g.sup.Doubt()
	if why == "" {
		why = g.doubt
	}
	if why == "" {
		return nil
	}
	return &world.Unknown{Why: why}
}

// Unknown implements virtual.Locks.
func (g *guests) Unknown(what string) {
	if g.doubt == "" {
		g.doubt = what
	}
}

// want puts a wish to the world. It is done when all programs wait.
func (g *guests) want(do func()) { g.inbox = append(g.inbox, do) }

// now is the run time.
func (g *guests) now() time.Duration { return g.sup.Now() - g.began }

// Await implements virtual.Guests. Where a run tells nothing, or is to end, the programs stand from then on.
func (g *guests) Await(until time.Duration) time.Duration {
	if len(g.inbox) > 0 {
		return g.now()
	}
	if !g.over() {
		end := never
		if until < never-g.began {
			end = until + g.began
		}
		g.sup.Run(end)
		g.observeOwn()
	}
	if !g.over() {
		return g.now()
	}
	if g.world != nil && !g.world.Stopped() {
		g.want(g.world.Stop)
	}
	return until
}

// over reports that nothing more is to happen.
func (g *guests) over() bool { return g.ctx.Err() != nil || g.unknown() != nil }

const never = time.Duration(1<<63 - 1)

// Grant implements virtual.Guests.
func (g *guests) Grant() bool {
	list := g.inbox
	g.inbox = nil
	for _, do := range list {
		do()
	}
	return len(list) > 0
}

// Begin implements virtual.Guests: the run's time begins now.
func (g *guests) Begin() { g.began, g.begun, g.record = g.sup.Now(), true, g.recorder }

// settle lets programs run until all of them wait, at this very time.
func (g *guests) settle() { g.sup.Run(g.sup.Now()) }

// hostAt finds the name of a host by its address; empty: there is none.
func (g *guests) hostAt(ip [4]byte) string {
	for _, name := range slices.Sorted(maps.Keys(g.hosts)) {
		if g.hosts[name].IP == ip {
			return name
		}
	}
	return ""
}

// log opens the log of a program.
func (g *guests) log(name string) (*os.File, error) {
	if g.o.Dir == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return os.OpenFile(filepath.Join(g.o.Dir, name+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}

// close ends what nobody keeps.
func (g *guests) close() error {
	if g.closed {
		return nil
	}
	g.closed = true
	var err error
	if g.keeper == nil {
		err = g.end()
	} else {
		err = g.keeper.take(g)
	}
	for _, s := range g.servers {
		s.close()
		_ = s.file.Close()
	}
	for _, p := range g.clients {
		_ = p.file.Close()
	}
	return err
}
