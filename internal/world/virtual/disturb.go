package virtual

import (
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// disturbed is a link that can be disturbed.
type disturbed interface {
	// disturb puts a disturbance on a direction.
	disturb(d world.Disturbance, dir int) (lift func())
}

// Links are all links of the world, in a fixed order.
func (w *World) Links() []world.Link {
	list := make([]world.Link, 0, len(w.links)+len(w.peerLinks))
	for _, l := range w.links {
		list = append(list, l.name)
	}
	for _, x := range w.peerLinks {
		list = append(list, x.name)
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
		l := w.disturbed(name)
		if l == nil {
			_ = lift()
			return nil, fmt.Errorf("no link from %s to %s", name.From, name.To)
		}
		if c, is := l.(*clientLink); is && d.Closes > 0 {
			lifts = append(lifts, c.closeInTime(d.Closes))
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

// disturbed finds a link; nil: there is none.
func (w *World) disturbed(name world.Link) disturbed {
	for _, x := range w.peerLinks {
		if x.name == name {
			return x
		}
	}
	if l := w.link(name); l != nil {
		return l
	}
	return nil
}

func (w *World) link(name world.Link) *clientLink {
	for _, l := range w.links {
		if l.name == name {
			return l
		}
	}
	return nil
}

func (l *clientLink) disturb(d world.Disturbance, dir int) (lift func()) {
	return l.liftFunc(l.directions[dir].Begin(d), l.breakAll)
}

// closeInTime closes, in a while, the connections that carry nothing then because of a stall; stop: not any more.
func (l *clientLink) closeInTime(d time.Duration) (stop func()) {
	stopped := false
	l.w.s.after(d, func() {
		if !stopped {
			l.closeStalled()
		}
	})
	return func() { stopped = true }
}

// liftFunc ends a disturbance, and breaks what it is to break then.
func (l *clientLink) liftFunc(end func() (freed []*call, breaks bool), breaking func()) func() {
	return func() {
		freed, breaks := end()
		for _, k := range freed {
			k.transit++
			k.advance()
		}
		if breaks {
			breaking()
		}
	}
}
