package virtual

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// node finds a node or the resource.
func (w *World) node(name string) *Host {
	if name == history.ResourceProcess {
		return w.store
	}
	for _, n := range w.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// host finds a node, the resource, or a sentinel that is a server.
func (w *World) host(name string) *Host {
	if h := w.node(name); h != nil {
		return h
	}
	for _, h := range w.watchers {
		if h.name == name {
			return h
		}
	}
	return nil
}

// model is the model of Redis on a node; nil: there is no such node.
func (w *World) model(name string) *redisModel {
	if h := w.node(name); h != nil {
		return h.model()
	}
	return nil
}

// machine is a process that is no client: a node, the resource or a sentinel.
type machine interface {
	runs() bool
	pause()
	resume()
	kill()
	// restart starts it again, which takes a while. started: it is by this call that it runs.
	restart(keep world.Keep) (started bool, err error)
	// bend makes its clock go as told; nil sets it right. wall reads it, in microseconds since 1970.
	bend(f *world.ClockFault)
	wall(at time.Duration) int64
}

// machine finds one; nil: there is none.
func (w *World) machine(name string) machine {
	if n := w.host(name); n != nil {
		return n
	}
	if i := slices.IndexFunc(w.sentinels, func(g *sentinelProcess) bool { return g.name == name }); i >= 0 {
		return w.sentinels[i]
	}
	return nil
}

func unknownTarget(name string) error { return fmt.Errorf("no client or node %q", name) }

// Pause stops a client, a node or the resource.
func (w *World) Pause(target string) error {
	w.touchAll()
	if !w.Alive(target) {
		if w.client(target) == nil && w.machine(target) == nil {
			return unknownTarget(target)
		}
		return fmt.Errorf("failed to stop %s: it is dead", target)
	}
	if c := w.client(target); c != nil {
		c.pause()
		return nil
	}
	w.machine(target).pause()
	return nil
}

// Resume lets it go on.
func (w *World) Resume(target string) error {
	w.touchAll()
	if c := w.client(target); c != nil {
		c.resume()
		return nil
	}
	n := w.machine(target)
	if n == nil {
		return unknownTarget(target)
	}
	n.resume()
	return nil
}

// Cancel cancels the attempt of a client to get the lock.
func (w *World) Cancel(name string) error {
	w.touchAll()
	c := w.thread(name)
	if c == nil {
		return unknownTarget(name)
	}
	return c.cancel()
}

// Alive reports whether the target's process runs.
func (w *World) Alive(target string) bool {
	if c := w.client(target); c != nil {
		return !c.dead
	}
	n := w.machine(target)
	return n != nil && n.runs()
}

// SetClock bends a clock of a node or a client.
func (w *World) SetClock(target string, which world.Which, f world.ClockFault) error {
	w.touchAll()
	if err := which.Check(); err != nil {
		return err
	}
	if n := w.machine(target); n != nil {
		if n == machine(w.store) {
			return fmt.Errorf("the clock of %s cannot be moved", target)
		}
		n.bend(&f)
		return nil
	}
	c := w.client(target)
	if c == nil {
		return unknownTarget(target)
	}
	if which == world.MonotonicClock {
		c.monotonic.set(w.s.now+w.booted, f)
	} else {
		c.wall.set(w.s.now+w.wallZero, f)
	}
	c.clocksSet()
	return nil
}

// NodeTime reads the wall clock of a node's machine.
func (w *World) NodeTime(name string) (time.Duration, error) {
	n := w.machine(name)
	if n == nil {
		return 0, unknownTarget(name)
	}
	return time.Duration(n.wall(w.s.now)) * time.Microsecond, nil
}

// ResetClock sets a clock right.
func (w *World) ResetClock(target string, which world.Which) error {
	w.touchAll()
	if err := which.Check(); err != nil {
		return err
	}
	if n := w.machine(target); n != nil {
		n.bend(nil)
		return nil
	}
	c := w.client(target)
	if c == nil {
		return unknownTarget(target)
	}
	if which == world.MonotonicClock {
		c.monotonic = bend{}
	} else {
		c.wall = bend{}
	}
	c.clocksSet()
	return nil
}

// Kill ends the process of a client, a node or the resource.
func (w *World) Kill(target string) error {
	w.touchAll()
	if c := w.client(target); c != nil {
		c.kill()
		return nil
	}
	n := w.machine(target)
	if n == nil {
		return unknownTarget(target)
	}
	if n.runs() {
		n.kill()
	}
	if w.node(target) != nil {
		w.record(history.Event{Process: target, Type: history.Info, F: history.NodeDown})
	}
	return nil
}

// How long a node or a sentinel of the model, and a client, take to start.
const (
	processStarts = 8 * time.Millisecond
	clientStarts  = 15 * time.Millisecond
)

// Restart starts it again.
func (w *World) Restart(target string, keep world.Keep) error {
	w.touchAll()
	if err := keep.Check(); err != nil {
		return err
	}
	if c := w.client(target); c != nil {
		if c.dead {
			w.Sleep(clientStarts)
		}
		if !c.dead { // another fault that had killed it ended before
			return nil
		}
		return c.start()
	}
	n := w.machine(target)
	if n == nil {
		return unknownTarget(target)
	}
	if n.runs() {
		return nil
	}
	started, err := n.restart(keep)
	if started && w.node(target) != nil {
		w.record(history.Event{Process: target, Type: history.Info,
			F: history.NodeUp, Value: history.Value{Rare: &history.Rare{Detail: keep.String()}}})
	}
	return err
}
