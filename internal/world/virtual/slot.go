package virtual

import (
	"errors"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/redis/cluster"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// operator gives a server an order past the links: no fault strikes it.
type operator struct {
	in     []byte
	answer resp.Value
	done   world.Signal
	over   bool
}

// push implements farEnd.
func (o *operator) push(b []byte) {
	o.in = append(o.in, b...)
	v, _, err := resp.Parse(o.in)
	if errors.Is(err, resp.ErrShort) || o.over {
		return
	}
	o.answer, o.over = v, true
	o.done.Fire()
}

// hangUp implements farEnd.
func (o *operator) hangUp() { o.done.Fire() }

// order lets the server on a host carry a command out, and returns what it answers. Where the server stands still for it, what comes
// meanwhile waits.
func (h *Host) order(words ...string) (answer any, err error) {
	failed := func(format string, args ...any) (any, error) {
		return nil, fmt.Errorf("node %s did not do %q: "+format, append([]any{h.name, words}, args...)...)
	}
	if !h.up || h.paused {
		return failed("it does not answer")
	}
	o := &operator{done: h.w.NewSignal()}
	life, c := h.life, h.process().accept(&ServerConn{far: o})
	if c == nil {
		return failed("it takes no connection")
	}
	h.busy = true
	c.receive(resp.AppendCommand(nil, words...), h.w.s.now)
	o.done.Wait(cluster.OrderedWithin)
	if h.life == life {
		h.busy = false
		if !h.paused {
			h.serveQueue()
		}
	}
	if !o.over {
		return failed("no answer came")
	}
	c.broke(false)
	answer = o.answer.Plain()
	if why, is := answer.(error); is {
		return failed("%w", why)
	}
	return answer, nil
}

// Failover implements world.Replicator.
func (w *World) Failover(name string, how world.Failover) error {
	w.touchAll()
	h := w.node(name)
	if w.spec.Cluster == nil || w.servers == nil {
		return errors.New(world.NoModelOfCluster)
	}
	if h == nil || h == w.store {
		return fmt.Errorf("no replica %q", name)
	}
	_, err := h.order(how.Command()...)
	return err
}

// operated is a host whose server gets orders.
type operated struct{ *Host }

// Answers implements cluster.Server.
func (o operated) Answers() bool { return o.up && !o.paused }

// Name implements cluster.Server.
func (o operated) Name() string { return o.name }

// Order implements cluster.Server.
func (o operated) Order(words ...string) (answer any, err error) { return o.order(words...) }

// MoveSlot implements world.Replicator.
func (w *World) MoveSlot(name string, keys world.SlotKeys) (finish func() error, err error) {
	w.touchAll()
	if w.spec.Cluster == nil || w.servers == nil {
		return nil, errors.New(world.NoModelOfCluster)
	}
	var servers []cluster.Server
	for _, node := range w.spec.Beside(name) {
		servers = append(servers, operated{w.node(node)})
	}
	m := w.spec.SlotMove(keys, servers)
	return func() error { w.touchAll(); return m.Finish() }, m.Open(name)
}
