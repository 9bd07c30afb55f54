package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Pause stops a client, a node or the resource.
func (w *World) Pause(target string) error {
	if n := w.servers.Named(target); n != nil {
		return n.Pause()
	}
	p, err := w.party(target)
	if err != nil {
		return err
	}
	return p.Stop()
}

// Freeze implements world.Freezer.
func (w *World) Freeze(client string) error { return w.Pause(client) }

// Resume lets it go on.
func (w *World) Resume(target string) error {
	if n := w.servers.Named(target); n != nil {
		return n.Resume()
	}
	p, err := w.party(target)
	if err != nil {
		return err
	}
	return p.Resume()
}

// Cancel cancels the attempt of a client to get the lock.
func (w *World) Cancel(name string) error {
	c := w.clients.Named(name)
	if c == nil {
		return fmt.Errorf("no client %q", name)
	}
	return c.Cancel(name)
}

// Alive reports whether the target's process runs.
func (w *World) Alive(target string) bool {
	p, err := w.party(target)
	return err == nil && !p.Dead()
}

func (w *World) party(target string) (server.Party, error) {
	if c := w.clients.Named(target); c != nil {
		return c, nil
	}
	if n := w.servers.Named(target); n != nil {
		return n.Server, nil
	}
	return nil, fmt.Errorf("no client or node %q", target)
}

// Links are all links, in the order in which they were opened.
func (w *World) Links() []world.Link {
	return w.links.All()
}

// Disturb puts a disturbance on links.
func (w *World) Disturb(links []world.Link, d world.Disturbance) (func() error, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	return w.links.Disturb(links, d)
}

// SetClock bends a clock of a node or a client.
func (w *World) SetClock(target string, which world.Which, f world.ClockFault) error {
	if err := which.Check(); err != nil {
		return err
	}
	if n := w.servers.Named(target); n != nil {
		if n.Clock == nil {
			return fmt.Errorf("the clock of %s cannot be moved", target)
		}
		return n.Clock.Set(machine.Bend(f))
	}
	return w.clients.MoveClock(target, client.ClockMessage{Which: which.String(), Jump: f.Jump, Rate: f.Rate})
}

// ResetClock sets a clock right.
func (w *World) ResetClock(target string, which world.Which) error {
	if err := which.Check(); err != nil {
		return err
	}
	if n := w.servers.Named(target); n != nil && n.Clock != nil {
		return n.Clock.Reset()
	}
	return w.clients.MoveClock(target, client.ClockMessage{Which: which.String(), Reset: true})
}

// NodeTime reads the wall clock of a node's machine.
func (w *World) NodeTime(name string) (time.Duration, error) {
	n := w.servers.Named(name)
	if n == nil {
		return 0, fmt.Errorf("no node %q", name)
	}
	now := machine.Wall()
	if n.Clock != nil {
		now += n.Clock.Ahead()
	}
	return now, nil
}

// Kill ends the process of a client, a node or the resource.
func (w *World) Kill(target string) error {
	defer w.changeLife(target)()
	p, err := w.party(target)
	if err != nil {
		return err
	}
	if n := w.servers.Named(target); n != nil {
		// What it has answered is on record before it dies; one that stands still
		// has nothing to show.
		ctx, cancel := context.WithTimeout(w.ctx, lastShownWithin)
		_ = w.observation.Flush(ctx, n)
		cancel()
	}
	if err := p.Kill(); err != nil {
		return err
	}
	n := w.servers.Named(target)
	if n == nil {
		return nil
	}
	w.observation.Forget(target)
	n.Stop()
	if !n.IsSentinel() {
		w.record(history.Event{Process: target, Type: history.Info, F: history.NodeDown})
	}
	return nil
}

// changeLife waits until nobody else ends the life of a client or a node, or begins another one: faults that kill the
// same one may overlap. Who is killed a second time is dead, and who is started a second time lives.
func (w *World) changeLife(target string) (done func()) {
	m, _ := w.lives.LoadOrStore(target, &sync.Mutex{})
	m.(*sync.Mutex).Lock()
	return m.(*sync.Mutex).Unlock
}

// lastShownWithin bounds how long a server that is about to be killed may take to
// show what it has done.
const lastShownWithin = 100 * time.Millisecond

// Restart starts it again. A node keeps its port.
func (w *World) Restart(target string, keep world.Keep) error {
	if err := keep.Check(); err != nil {
		return err
	}
	defer w.changeLife(target)()
	if w.clients.Named(target) != nil {
		return w.clients.Restart(target)
	}
	n := w.servers.Named(target)
	if n == nil {
		return fmt.Errorf("no client or node %q", target)
	}
	if !n.Server.Dead() {
		return nil
	}
	// Nobody asks it for anything before it is observed.
	wait := slices.DeleteFunc(w.links.All(), func(l world.Link) bool { return l.To != target && l.To != world.Primary })
	open, err := w.links.Disturb(wait, world.Disturbance{Kind: world.Hold, Direction: world.Requests})
	if err != nil {
		return err
	}
	defer func() { _ = open() }()
	if err := n.Restart(w.ctx, keep); err != nil {
		return err
	}
	if n.IsSentinel() {
		// Nobody listened yet when it began to watch.
		w.recordSentinel(history.Event{Process: target, Type: history.Info,
			F: history.Sentinel, Value: history.Value{Rare: &history.Rare{Detail: "+monitor"}}})
		return w.listen(n)
	}
	if lost := w.spec.Resource.Volatile(); n == w.servers.Store && len(lost) > 0 {
		if err := n.Admin.Del(w.ctx, lost...).Err(); err != nil {
			return fmt.Errorf("failed to let the resource forget: %w", err)
		}
	}
	if err := w.observe(n); err != nil {
		return err
	}
	w.record(history.Event{Process: target, Type: history.Info,
		F: history.NodeUp, Value: history.Value{Rare: &history.Rare{Detail: keep.String()}}})
	return nil
}

// Promote makes a replica the primary, leads the clients there and lets the
// other replicas follow it, as Sentinel does.
func (w *World) Promote(name string) error {
	n := w.servers.Nodes[name]
	if n == nil || !w.spec.Replicated {
		return fmt.Errorf("no replica %q", name)
	}
	if w.spec.Cluster != nil { // whose nodes tell the rest themselves
		return n.FailOver(w.ctx, world.Takeover)
	}
	if err := n.Admin.Do(w.ctx, "replicaof", "no", "one").Err(); err != nil {
		return fmt.Errorf("failed to promote node %s: %w", name, err)
	}
	w.links.Lead(world.Primary, n.Endpoint(world.Primary).Dial)
	if err := w.followNew(n); err != nil {
		return err
	}
	w.record(history.Event{Process: name, Type: history.Info, F: history.NodePromoted})
	return nil
}
