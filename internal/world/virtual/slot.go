package virtual

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// orderedWithin is how long somebody who gives a server an order waits for its answer. A server that gives keys away (MIGRATE) stands still
// meanwhile; redis-cli lets it do so for migrateWithin.
const (
	migrateWithin = time.Minute
	orderedWithin = 2 * migrateWithin
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
	o.done.Wait(orderedWithin)
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
	words := []string{"cluster", "failover"}
	if how != world.PlainFailover {
		words = append(words, how.String())
	}
	_, err := h.order(words...)
	return err
}

// member is a node of a cluster as it sees itself.
type member struct {
	*Host
	id, ip, port string
	primary      bool
	epoch        int64
	// has says that it has the slot.
	has bool
}

// member asks a node of a cluster what it is.
func (h *Host) member(slot int) (m member, err error) {
	answer, err := h.order("cluster", "nodes")
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(fmt.Sprint(answer)) {
		f := strings.Fields(line)
		if len(f) < 8 || !strings.Contains(f[2], "myself") {
			continue
		}
		address, _, _ := strings.Cut(f[1], "@")
		m = member{Host: h, id: f[0], primary: strings.Contains(f[2], "master")}
		m.epoch, _ = strconv.ParseInt(f[6], 10, 64)
		m.ip, m.port, err = net.SplitHostPort(address)
		m.has = slices.ContainsFunc(f[8:], func(s string) bool { return hasSlot(s, slot) })
	}
	return m, err
}

// hasSlot reports that a slot is one of those that a node tells of: 93, or 0-5460.
func hasSlot(told string, slot int) bool {
	first, last, err := command.ParseSlots(told)
	return err == nil && first <= slot && slot <= last
}

// slotMove is how a slot moves from one primary to another.
type slotMove struct {
	w        *World
	slot     string
	from, to member
	keys     world.SlotKeys
}

// MoveSlot implements world.Replicator, with the commands of redis-cli --cluster reshard.
func (w *World) MoveSlot(name string, keys world.SlotKeys) (finish func() error, err error) {
	w.touchAll()
	if w.spec.Cluster == nil || w.servers == nil {
		return nil, errors.New(world.NoModelOfCluster)
	}
	slot := w.spec.LockSlot()
	m := &slotMove{w: w, slot: strconv.Itoa(slot), keys: keys}
	for _, h := range w.nodes {
		if !h.up || h.paused {
			continue
		}
		one, err := h.member(slot)
		if err != nil {
			return nil, err
		}
		if h.name == name {
			m.to = one
		}
		if one.primary && one.has && (m.from.Host == nil || one.epoch > m.from.epoch) {
			m.from = one
		}
	}
	switch {
	case m.to.Host == nil || !m.to.primary:
		return nil, fmt.Errorf("node %s is no primary that answers", name)
	case m.from.Host == nil:
		return nil, errors.New("no primary that answers has the slot")
	case m.from.Host == m.to.Host:
		return nil, fmt.Errorf("node %s has the slot already", name)
	}
	return m.finish, m.open()
}

// open opens the slot.
func (m *slotMove) open() error {
	if m.keys == world.KeysAtomic {
		_, err := m.from.order("cluster", "migrateslots", "slotsrange", m.slot, m.slot, "node", m.to.id)
		return err
	}
	if _, err := m.to.order("cluster", "setslot", m.slot, "importing", m.from.id); err != nil {
		return err
	}
	if _, err := m.from.order("cluster", "setslot", m.slot, "migrating", m.to.id); err != nil {
		return err
	}
	if m.keys == world.KeysFirst {
		return m.moveKeys()
	}
	return nil
}

// moveKeys lets the old primary give its keys of the slot to the new one.
func (m *slotMove) moveKeys() error {
	for {
		answer, err := m.from.order("cluster", "getkeysinslot", m.slot, "10")
		if err != nil {
			return err
		}
		list, _ := answer.([]any)
		if len(list) == 0 {
			return nil
		}
		words := []string{"migrate", m.to.ip, m.to.port, "", "0", strconv.FormatInt(migrateWithin.Milliseconds(), 10), "keys"}
		for _, key := range list {
			words = append(words, fmt.Sprint(key))
		}
		if _, err := m.from.order(words...); err != nil {
			return err
		}
	}
}

// finish gives the slot to the new primary, if both are there yet and no failover came between.
func (m *slotMove) finish() error {
	m.w.touchAll()
	if m.keys == world.KeysAtomic { // the servers end it
		return nil
	}
	slot := m.w.spec.LockSlot()
	for _, one := range []*member{&m.from, &m.to} {
		if !one.up || one.paused {
			return nil
		}
		now, err := one.member(slot)
		if err != nil || !now.primary || one == &m.from && !now.has {
			return err
		}
	}
	if m.keys != world.KeysLeft {
		if err := m.moveKeys(); err != nil {
			return err
		}
	}
	if err := m.assign(m.to.Host); err != nil || m.keys == world.KeysLeft {
		return err
	}
	if err := m.assign(m.from.Host); err != nil {
		return err
	}
	for _, h := range m.w.nodes[:m.w.spec.Cluster.Primaries] {
		if h == m.from.Host || h == m.to.Host || !h.up || h.paused {
			continue
		}
		if err := m.assign(h); err != nil {
			return err
		}
	}
	return nil
}

// assign tells a node who has the slot now. One that is no primary any more hears it from others.
func (m *slotMove) assign(h *Host) error {
	_, err := h.order("cluster", "setslot", m.slot, "node", m.to.id)
	if err == nil || !h.up || h.paused {
		return nil
	}
	if now, why := h.member(m.w.spec.LockSlot()); why == nil && !now.primary {
		return nil
	}
	return err
}
