package virtual

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// toxic is a disturbance of one direction of one link.
type toxic struct {
	world.Disturbance
	l      *link
	dir    int
	number int
	// delayed are the messages that stand here, in the order in which they came.
	delayed []*call
	// free is when the bandwidth has passed everything on.
	free map[*connection]time.Duration
}

// Links are all links of the world, in a fixed order.
func (w *World) Links() []world.Link {
	list := make([]world.Link, 0, len(w.links)+len(w.followers))
	for _, l := range w.links {
		list = append(list, l.name)
	}
	for _, f := range w.followers {
		list = append(list, f.name)
	}
	return list
}

// Disturb puts a disturbance on links.
func (w *World) Disturb(links []world.Link, d world.Disturbance) (func() error, error) {
	w.touchAll()
	if err := d.Check(); err != nil {
		return nil, err
	}
	var lifts []func()
	lift := func() error {
		w.touchAll()
		for _, l := range lifts {
			l()
		}
		lifts = nil
		return nil
	}
	for _, name := range links {
		if f := w.followerOn(name); f != nil {
			lifts = append(lifts, f.disturb(d)...)
			continue
		}
		l := w.link(name)
		if l == nil {
			_ = lift()
			return nil, fmt.Errorf("no link from %s to %s", name.From, name.To)
		}
		if d.Direction != world.Answers {
			lifts = append(lifts, l.disturb(d, requests))
		}
		if d.Direction != world.Requests {
			lifts = append(lifts, l.disturb(d, answers))
		}
	}
	return lift, nil
}

func (w *World) link(name world.Link) *link {
	for _, l := range w.links {
		if l.name == name {
			return l
		}
	}
	return nil
}

func (l *link) disturb(d world.Disturbance, dir int) (lift func()) {
	l.w.toxicNumber++
	t := &toxic{Disturbance: d, l: l, dir: dir, number: l.w.toxicNumber}
	if d.Kind == world.Bandwidth {
		t.free = make(map[*connection]time.Duration)
	}
	l.ways[dir].toxics, l.disturbed = append(l.ways[dir].toxics, t), true
	return t.lift
}

// lift takes the disturbance off. What it held back goes on at once; a cut
// closes the connections that went silent.
func (t *toxic) lift() {
	w := &t.l.ways[t.dir]
	w.toxics = slices.DeleteFunc(w.toxics, func(o *toxic) bool { return o == t })
	for _, k := range t.delayed {
		k.way++
		k.advance()
	}
	t.delayed = nil
	if t.Kind == world.Cut {
		t.l.breakAll()
	}
}

// pass lets a message through; false: it stands here, or is lost.
func (t *toxic) pass(k *call) bool {
	switch t.Kind {
	case world.Latency:
		late := t.Latency
		if t.Jitter > 0 && t.l.w.order == nil {
			late += time.Duration(int64(t.l.rand.Uint64()>>1)%int64(2*t.Jitter)) - t.Jitter
		}
		k.base += max(late, 0)
		return t.delay(k, late)
	case world.Bandwidth:
		// Of several the slowest counts: each begins when the message came.
		t.free[k.conn] = max(t.free[k.conn], k.base) + time.Duration(k.size()*int64(time.Second)/max(t.Rate, 1))
		return t.delay(k, t.free[k.conn]-t.l.w.s.now)
	case world.Cut:
		k.lost()
		return false
	case world.Hold:
		t.delayed = append(t.delayed, k)
		return false
	case world.Stall:
		if k.conn.since >= t.number {
			return true
		}
		t.delayed = append(t.delayed, k)
		return false
	case world.Reset:
		t.end(k)
		return false
	case world.LimitData:
		return t.count(k)
	case world.SlowClose: // messages pass; breakAll looks for it
	}
	return true
}

// delay keeps a message for a while. It goes on with the disturbances behind.
func (t *toxic) delay(k *call, late time.Duration) bool {
	if late <= 0 {
		return true
	}
	t.delayed = append(t.delayed, k)
	way := k.way
	t.l.w.s.after(late, func() {
		if k.way != way {
			return // it went on when the disturbance was lifted
		}
		t.delayed = slices.DeleteFunc(t.delayed, func(o *call) bool { return o == k })
		k.advance()
	})
	return false
}

// end breaks the connection of a call.
func (t *toxic) end(k *call) {
	t.l.breakLater(k, t.l.draw())
	k.lost()
}

// count lets bytes through until there have been too many on the connection.
func (t *toxic) count(k *call) bool {
	i := slices.IndexFunc(k.conn.passed, func(p passed) bool { return p.t == t })
	if i < 0 {
		i = len(k.conn.passed)
		k.conn.passed = append(k.conn.passed, passed{t: t})
	}
	p := &k.conn.passed[i]
	p.n += k.size()
	if p.n > t.Bytes { // it ends in the middle of the message
		t.end(k)
		return false
	}
	if p.n == t.Bytes { // and here right behind it
		t.l.breakLater(k, 2*t.l.draw())
	}
	return true
}
