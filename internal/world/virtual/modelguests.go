package virtual

import (
	"math"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// serveGuests gets the node ready for guests.
func (n *redisModel) serveGuests() {
	n.memory.Flushed = func(all bool) { n.disk.flushed(n, all) }
	if n.redis == nil {
		n.redis = newRedis(&n.memory, func(what string) { n.w.locks.Unknown(what) })
		return
	}
	n.memory.Listener = n.redis
	n.redis.Restart()
}

// serveBatch carries out the commands of a batch; false: the answer comes later.
func (n *redisModel) serveBatch(k *call) bool {
	b, g := k.batch, k.batch.conn
	if b.dial {
		g.server = n.redis.Open(g.push)
		return true
	}
	if g.busy {
		g.backlog = append(g.backlog, k)
		return false
	}
	if b.closes {
		if g.server != nil {
			g.server.Close()
		}
		return false
	}
	for b.done < len(b.commands) {
		words := b.commands[b.done]
		b.done++
		if instead, why := k.meetRefusal(b.done - 1); why != "" {
			_, _ = g.server.Do(nil, instead)
			b.out, b.refused = resp.AppendLine(b.out, resp.Error, why), append(b.refused, b.done-1)
			continue
		}
		var late time.Duration
		n.watch.sent = &sentCommand{k.left, words}
		n.accountWrites(k.link, k.conn, func() { b.out, late = g.server.Do(b.out, words) })
		n.watch.sent = nil
		if late > 0 {
			n.serveLater(k, late)
			return false
		}
	}
	if g.server.Closed() {
		g.breakLater(2 * k.link.drawDelay()) // behind the answer
	}
	n.expireLater()
	return true
}

// serveLater goes on with a batch, and what came behind it, in a while.
func (n *redisModel) serveLater(k *call, late time.Duration) {
	g, life := k.batch.conn, n.life
	g.busy = true
	if late == redisForever {
		return
	}
	n.w.s.after(late, func() {
		if n.life != life || !n.up {
			return
		}
		g.busy = false
		backlog := g.backlog
		g.backlog = nil
		for _, next := range append([]*call{k}, backlog...) {
			if n.arrive(next) {
				next.answer()
			}
		}
	})
}

// expireLater lets the node look for expired keys when the next is due: Redis does so by
// itself. Libraries wait to be told, and it is a write, of which one in a second is synced at once.
func (n *redisModel) expireLater() {
	if n.expiryScheduled {
		return
	}
	first := int64(math.MaxInt64)
	for i := range n.memory.Items {
		if at := n.memory.Items[i].Expires; at != 0 {
			first = min(first, at)
		}
	}
	if first == math.MaxInt64 {
		return
	}
	n.expiryScheduled = true
	life := n.life
	wait := max(time.Duration(first+1)*time.Millisecond-time.Duration(n.memory.Now)*time.Microsecond, time.Millisecond)
	n.w.s.after(wait, func() {
		if n.life != life {
			return
		}
		n.expiryScheduled = false
		if n.up && !n.paused {
			n.seeClock()
			n.disk.catchUp(n, n.memory.Now)
			n.sweep()
		}
		n.expireLater()
	})
}
