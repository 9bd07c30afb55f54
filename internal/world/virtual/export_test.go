package virtual

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	redis "github.com/redlock-sim/redlock-sim/internal/redis/node"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Direct is a connection to a node without a network between: what is sent is there in the same instant.
type Direct struct {
	h *Host
	// conn and redis are its end at a model, line that at a server.
	conn  connection
	redis *redisConn
	line  *ServerConn
	// in are bytes that have come.
	in []byte
	// asked is a command of the model's that has no answer yet; expected is how many answers its last words give.
	asked    *call
	expected int
	broken   bool
}

// Direct opens a connection. The model answers in bytes as that server. Unknown is told of what the model does not know.
func (w *World) Direct(node string, as command.Server, unknown func(what string)) *Direct {
	h := w.node(node)
	d := &Direct{h: h}
	d.conn.call.link = &clientLink{w: w, to: h, delay: leastDelay}
	if p := h.process(); p != nil {
		d.line = p.accept(&ServerConn{far: d})
		return d
	}
	n := h.model()
	if n.redis == nil {
		n.redis = redis.New(&n.memory, redis.Config{Scripts: warmed, Server: as, Unknown: unknown})
		n.memory.Flushed = func(all bool) { n.disk.flushed(n, all) }
	}
	d.redis = n.redis.Open(func(b []byte) { d.in = append(d.in, b...) })
	return d
}

func (d *Direct) push(b []byte) { d.in = append(d.in, b...) }
func (d *Direct) hangUp()       { d.broken = true }

// Send sends a command in bytes.
func (d *Direct) Send(words ...string) {
	if d.line != nil {
		d.line.receive(resp.AppendCommand(nil, words...), d.h.w.s.now)
		return
	}
	n := d.h.model()
	n.seeClock()
	n.disk.catchUp(n, n.memory.Now)
	n.accountWrites(nil, &d.conn, func() { d.in, _ = d.redis.Do(d.in, words) })
	n.expireLater()
}

// Ask sends a command as built-in locks do.
func (d *Direct) Ask(c command.Command) {
	k := &call{link: d.conn.call.link, conn: &d.conn, cmd: c, source: true, clientDone: true}
	d.asked = k
	if d.line == nil {
		if d.h.model().serve(k) {
			k.abandon()
		}
		return
	}
	if why := c.Refusal(); why != "" {
		k.reply = command.RefusedReply(why)
		k.abandon()
		return
	}
	list := k.commandWords()
	d.expected = len(list)
	for _, words := range list {
		d.line.receive(resp.AppendCommand(nil, words...), d.h.w.s.now)
	}
}

// Take returns what has come: the answer to a command of Ask as text, else bytes. waits: it is not there yet.
func (d *Direct) Take() (got string, waits bool) {
	k := d.asked
	if k == nil {
		b := d.in
		d.in = nil
		return string(b), false
	}
	for d.line != nil && d.expected > 0 {
		v, n, err := resp.Parse(d.in)
		if errors.Is(err, resp.ErrShort) {
			return "", true
		}
		if err != nil {
			return fmt.Sprintf("%v: %q", err, d.in), false
		}
		d.in = d.in[n:]
		if d.expected--; d.expected == 0 {
			k.take(v)
			k.abandon()
		}
	}
	if k.transit == 0 {
		return "", true
	}
	d.asked = nil
	return shown(k.reply), false
}

// shown is a reply as text, without where in a script its error came up.
func shown(r command.Reply) string {
	var body []string
	for _, one := range r.Body() {
		body = append(body, shown(one))
	}
	why, _, _ := strings.Cut(r.Err(), " script: ")
	return fmt.Sprintf("%v nil %v %d %q %q %q %s", r.Outcome, r.Nil, r.Int, r.Str(), r.List(), why, body)
}

// Broken says that the node has closed the connection.
func (d *Direct) Broken() bool { return d.broken || d.redis != nil && d.redis.Closed() }

// WallZero is the time of day at the time 0.
func (w *World) WallZero() time.Duration { return w.wallZero }

// SetWallZero changes it, before anything has happened.
func (w *World) SetWallZero(at time.Duration) {
	w.wallZero = at
	for i, h := range w.nodes {
		n := h.model()
		n.seeClock()
		n.disk.started(n, int64((at-NodesStartBefore+w.startPhase(i))/time.Microsecond), world.KeepNothing)
	}
}

// NextExpiry is the first instant at which a key of the model's node has run out, by the run's time; 0: there is none.
func (w *World) NextExpiry(node string) (at time.Duration, key string) {
	n := w.node(node).model()
	n.seeClock()
	rate := n.clock.rate()
	for i := range n.memory.Items {
		it := &n.memory.Items[i]
		if it.Expires == 0 || rate == 0 {
			continue
		}
		left := time.Duration(it.Expires+1)*time.Millisecond - time.Duration(n.memory.Now)*time.Microsecond
		left = (time.Duration(float64(left)/rate) + time.Microsecond - 1).Truncate(time.Microsecond) // servers know nothing shorter
		if due := w.s.now + left; at == 0 || due < at {
			at, key = due, it.Key
		}
	}
	return at, key
}
