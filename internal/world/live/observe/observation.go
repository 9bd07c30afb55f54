// Package observe sees what servers do: it reads their MONITOR streams, replays what
// befalls the lock's key, and records effects on the resource.
package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/resource"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Observation sees what happens on the nodes of a run, and records it.
type Observation struct {
	// Ctx ends the run.
	Ctx context.Context
	// Key is the lock's, Shown what the history calls it.
	Key, Shown string
	Resource   resource.Config
	// Record takes what is seen.
	Record func(history.Event)
	// Strangers is nil where the lock is ours.
	Strangers *Strangers
	// Stop ends the run.
	Stop func()
	// Background are the questions to nodes that are under way.
	Background *sync.WaitGroup

	mu       sync.Mutex // guards what follows
	err      error
	monitors map[string]*monitor
	// found are the keys that patterns fitted on nodes that have died since.
	found map[string][]string
}

// fail ends the run for a reason.
func (o *Observation) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		o.Stop()
	}
}

// Err is why a run was ended; nil: it was not.
func (o *Observation) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Observe opens the MONITOR stream of a node, to follow the lock's key there, or the
// resource's log, or both. offset is what to subtract from the node's wall clock to get
// run time.
func (o *Observation) Observe(n *server.Node, key, log bool, offset func() (time.Duration, time.Duration)) error {
	see, end := func(monitored) {}, func() {}
	var watch *nodeWatch
	if key {
		var err error
		if watch, err = o.nodeWatch(n); err != nil {
			return err
		}
		see, end = watch.see, watch.end
	}
	if log {
		follow, effects := see, watchLog(o.Resource, offset, o.Record)
		see = func(c monitored) { follow(c); effects(c) }
	}
	m, err := openMonitor(n.Server.Door(), see, end)
	if err != nil {
		return err
	}
	m.watch = watch
	o.mu.Lock()
	if o.monitors == nil {
		o.monitors = make(map[string]*monitor)
	}
	o.monitors[n.Name] = m
	o.mu.Unlock()
	if watch == nil {
		return nil
	}
	return watch.Start(o.Ctx)
}

// Forget closes a node's stream, after what it has shown has been seen.
func (o *Observation) Forget(name string) {
	o.mu.Lock()
	m := o.monitors[name]
	delete(o.monitors, name)
	o.mu.Unlock()
	if m == nil {
		return
	}
	select {
	case <-m.ended:
	case <-time.After(FlushWithin): // a server that somebody else killed may leave its connections open
	}
	m.Close()
	if m.watch != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.found == nil {
			o.found = make(map[string][]string)
		}
		o.found[name] = nil
		for _, k := range m.watch.all() {
			o.found[name] = append(o.found[name], k.replay.Name)
		}
	}
}

// Flush waits until a node's monitor has shown everything. It can be done once
// in the life of a server.
func (o *Observation) Flush(ctx context.Context, n *server.Node) error {
	const mark = "flush"
	o.mu.Lock()
	m := o.monitors[n.Name]
	o.mu.Unlock()
	if m == nil || n.Server.Dead() {
		return nil
	}
	for {
		if err := n.Admin.Echo(ctx, mark).Err(); err != nil {
			return fmt.Errorf("failed to flush the observation of node %s: %w", n.Name, err)
		}
		select {
		case <-m.flushed:
			if m.watch == nil || !m.watch.settle(ctx) {
				return nil
			}
		case <-m.ended:
			return fmt.Errorf("the observation of node %s ended early", n.Name)
		case <-ctx.Done():
			return fmt.Errorf("the observation of node %s %w", n.Name, context.Cause(ctx))
		}
	}
}

// FlushWithin is how long an observation may lag behind.
const FlushWithin = 5 * time.Second

// Close ends the streams.
func (o *Observation) Close() {
	for _, m := range o.monitors {
		m.Close()
	}
}
