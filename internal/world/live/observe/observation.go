// Package observe sees what servers do: it reads their MONITOR streams, replays what
// befalls the lock's key, and records effects on the resource.
package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Observation sees what happens on the nodes of a run, and records it.
type Observation struct {
	// Ctx ends the run.
	Ctx context.Context
	// Key is the lock's, Shown what the history calls it.
	Key, Shown string
	// Others are further keys of the lock, which clients have that differ.
	Others   []string
	Resource resource.Config
	// Record takes what is seen.
	Record func(history.Event)
	// Left is when a command that a stream shows left its client over the connection of a name, in the run's time. since is when the
	// stream began, by the machine's monotonic clock. Nil: no link tells.
	Left func(name string, words []string, since time.Duration) (at time.Duration, known bool)
	// Strangers is nil where the lock is ours.
	Strangers *Strangers
	// Payload is command.Replay's; nil: no key goes from node to node.
	Payload func(payload string) (k command.Key, known bool)
	// Replicated: nodes follow one another.
	Replicated bool
	// Evicts: the servers may evict keys, as those of others do.
	Evicts bool
	// Reopens: servers close streams while they live, when their role changes, and each is opened again.
	Reopens bool
	// Reopened is told when a stream is open, or open again. served: the server may have served clients since the last stream
	// ended. settled waits until it has all that its role gives it, and reports whether that may have changed keys unseen.
	Reopened func(*server.Node) (served bool, settled func() bool)
	// Stop ends the run.
	Stop func()
	// Background are the questions to nodes that are under way.
	Background *sync.WaitGroup

	mu       sync.Mutex // guards what follows
	closed   bool
	err      error
	monitors map[string]*stream
	// names are those of the keys that patterns fitted on nodes whose stream has ended.
	names map[string][]string
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
	see, marked, end := func(monitored) {}, func() {}, func() {}
	var watch *nodeWatch
	if key {
		var err error
		if watch, err = o.nodeWatch(n); err != nil {
			return err
		}
		see, marked, end = watch.see, watch.keys.marked, watch.keys.end
	}
	if log {
		follow, effects := see, watchLog(o.Resource, offset, o.Record)
		see = func(c monitored) { follow(c); effects(c) }
	}
	m, err := openMonitor(n.Server.Door(), see, marked, end)
	if err != nil {
		return err
	}
	m.watch, m.followed = watch, make(chan struct{})
	if watch != nil {
		if keys, ok := watch.keys.(*journalReader); ok {
			keys.monitor = m
		}
	}
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		m.Close()
		return context.Cause(o.Ctx)
	}
	if o.monitors == nil {
		o.monitors = make(map[string]*stream)
	}
	before := o.monitors[n.Name]
	o.monitors[n.Name] = m
	o.mu.Unlock()
	if o.Reopens {
		o.Background.Go(func() { o.follow(n, m, func() error { return o.Observe(n, key, log, offset) }) })
	}
	if watch == nil {
		return nil
	}
	if o.Reopens {
		served, settled := o.Reopened(n)
		keys, replayed := watch.keys.(*replayReader)
		if !replayed {
			return watch.keys.start(o.Ctx)
		}
		if before != nil && served {
			keys.recordLost()
		} else if before != nil {
			keys.goOn(before.watch.keys.(*replayReader))
		}
		o.Background.Go(func() {
			if settled() {
				keys.goOn(keys)
			}
		})
	}
	return watch.keys.start(o.Ctx)
}

// reader is what follows the keys of a node.
func (o *Observation) reader(w *nodeWatch) keyReader {
	if w.n.Journal() == nil {
		return newReplayReader(w)
	}
	var before *journalReader
	if m := o.monitor(w.n.Name); m != nil && m.watch != nil {
		before, _ = m.watch.keys.(*journalReader)
	}
	return newJournalReader(w, before)
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
	o.keepNames(name, m)
}

// Flush waits until a node's monitor has shown everything, and what was asked is answered. It can be done once
// in the life of a server.
func (o *Observation) Flush(ctx context.Context, n *server.Node) error {
	for {
		m, err := o.awaitShown(ctx, n)
		if err != nil || m == nil || m.watch == nil || !m.watch.keys.settle(ctx) {
			return err
		}
	}
}

// AwaitShown returns once a node's monitor has shown all that the node had carried out when it was called.
func (o *Observation) AwaitShown(ctx context.Context, n *server.Node) error {
	_, err := o.awaitShown(ctx, n)
	return err
}

// awaitShown returns the monitor that has shown all, or nil if nobody observes the node.
func (o *Observation) awaitShown(ctx context.Context, n *server.Node) (*stream, error) {
	for {
		m := o.monitor(n.Name)
		if m == nil || n.Server.Dead() {
			return nil, nil
		}
		mark, shown := m.mark()
		err := n.Admin.Echo(ctx, mark).Err()
		if err != nil && !o.Reopens {
			return nil, fmt.Errorf("failed to flush the observation of node %s: %w", n.Name, err)
		}
		var again <-chan time.Time // the server may have closed the connection over which it was asked
		if err != nil {
			again = time.After(askAgain)
		}
		select {
		case <-shown:
			return m, nil
		case <-again:
		case <-m.ended:
			if !o.Reopens {
				return nil, endedEarly(n.Name)
			}
			select {
			case <-m.followed:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the observation of node %s %w", n.Name, context.Cause(ctx))
		}
	}
}

func endedEarly(node string) error { return fmt.Errorf("the observation of node %s ended early", node) }

// askAgain is how long is waited for a server that has closed a connection.
const askAgain = 2 * time.Millisecond

// follow opens the stream of a node again when the server has closed it, as it does when a sentinel makes it a primary
// or a replica. What was done to the keys in the meantime is not known, and is asked for.
func (o *Observation) follow(n *server.Node, m *stream, observe func() error) {
	defer close(m.followed)
	defer m.Close()
	select {
	case <-m.ended:
	case <-o.Ctx.Done():
		return
	}
	for o.Ctx.Err() == nil && o.monitor(n.Name) == m && !n.Server.Dead() {
		o.keepNames(n.Name, m)
		if observe() == nil {
			return
		}
		time.Sleep(askAgain)
	}
}

// keepNames keeps the names of the keys that a monitor came to follow.
func (o *Observation) keepNames(node string, m *stream) {
	if m.watch == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.names == nil {
		o.names = make(map[string][]string)
	}
	o.names[node] = m.watch.keys.names()
}

func (o *Observation) monitor(node string) *stream {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.monitors[node]
}

// FlushWithin is how long an observation may lag behind.
const FlushWithin = 5 * time.Second

// Close ends the streams.
func (o *Observation) Close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	for _, m := range o.monitors {
		m.Close()
	}
}
