package virtual

import (
	"errors"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

// keeper is a service whose memory can be ruled, as its operator and its machine do.
type keeper interface {
	// wipe removes all keys, evict those that have a TTL.
	wipe() error
	evict() error
	// limit lets it refuse what takes memory, or no more.
	limit(full bool) error
}

// rule does something to the memory of a node that runs.
func (w *World) rule(node string, do func(keeper) error) error {
	w.touchAll()
	h := w.node(node)
	switch {
	case h == nil:
		return unknownTarget(node)
	case !h.up || h.paused:
		return fmt.Errorf("node %s does not run", node)
	}
	return do(h.service)
}

// Reaches reports that a node runs.
func (w *World) Reaches(node string) bool {
	return w.rule(node, func(keeper) error { return nil }) == nil
}

// Wipe removes all keys of a node.
func (w *World) Wipe(node string) error { return w.rule(node, keeper.wipe) }

// Evict removes the keys of a node that have a TTL.
func (w *World) Evict(node string) error { return w.rule(node, keeper.evict) }

// Fill lets a node refuse what takes memory.
func (w *World) Fill(node string) (empty func() error, err error) {
	if err := w.rule(node, func(k keeper) error { return k.limit(true) }); err != nil {
		return nil, err
	}
	h, life := w.node(node), w.node(node).life
	return func() (err error) {
		w.touchAll()
		h.runOrDefer(func() {
			if h.life == life { // one that was started again has no limit
				err = h.service.limit(false)
			}
		})
		return err
	}, nil
}

// wipe implements keeper. FLUSHALL is a write: a replica refuses it.
func (n *redisModel) wipe() error {
	if why := n.refusal(); why != "" {
		return fmt.Errorf("node %s answered FLUSHALL: %s", n.name, why)
	}
	log := &n.disk.log
	log.begin(n.memory.Items)
	log.single = true
	n.remove(func(*model.Item) bool { return true })
	log.single = false
	n.disk.flushed(n, true)
	return nil
}

// evict implements keeper. A replica evicts nothing.
func (n *redisModel) evict() error {
	if !n.memory.Follows {
		n.remove(func(it *model.Item) bool { return it.Expires != 0 && !it.OfField })
	}
	return nil
}

// remove removes keys, for which no client has asked.
func (n *redisModel) remove(which func(*model.Item) bool) {
	n.seeClock()
	n.disk.catchUp(n, n.memory.Now)
	var keys []string
	for i := range n.memory.Items {
		if it := &n.memory.Items[i]; which(it) {
			keys = append(keys, it.Key)
		}
	}
	n.memory.Refuse = "" // no client asks
	n.atOnce(func() {
		var reply command.Reply
		for _, key := range keys {
			c := command.Del(key)
			n.execute(&c, nil, &connection{}, false, &reply)
		}
	})
}

// limit implements keeper. A replica does what its primary tells it, whatever memory it has.
func (n *redisModel) limit(full bool) error {
	if full && n.redis != nil {
		return errors.New("a model that serves guests does not lack memory")
	}
	n.memory.Full = full
	return nil
}

// wipe implements keeper.
func (p *serverProcess) wipe() error { return p.server.Wipe() }

// evict implements keeper.
func (p *serverProcess) evict() error { return p.server.Evict() }

// limit implements keeper.
func (p *serverProcess) limit(full bool) error { return p.server.Limit(full) }
