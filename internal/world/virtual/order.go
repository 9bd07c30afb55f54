package virtual

import (
	"slices"
	"time"
)

// Order decides in place of the network in which order messages arrive. Under
// it a message takes no time of its own, and time passes only by Order's leave.
type Order interface {
	// Next says which of the options happens now, by its place; a negative number
	// ends the run. The last option is always TimePasses. before tells what the step before has touched.
	Next(options []Step, before Touched) int
}

// Step is something that can happen: the arrival of a message, or the passing of
// time up to the next timer. A Step of one run is the same as that of another
// where both came about in the same way: it is named by the link, and the place
// of its message among those sent there.
type Step uint64

// TimePasses is the step up to the next timer; where none comes within the lock's
// TTL, up to its end.
const TimePasses Step = 0

// Touched tells what a step has read or changed, with all that followed from it
// at once. Two steps that touched nothing in common can be swapped.
type Touched struct {
	// Clients and Nodes have a bit for each; the resource and the consensus
	// store follow behind the lock's nodes.
	Clients, Nodes uint64
	// Seen: the step began or ended an operation of a client, which the history
	// orders among those of all clients.
	Seen bool
	// All: it touched everything, as time and faults do.
	All bool
}

// Left is a message that was still under way when the run was over.
type Left struct {
	Step    Step
	Touches Touched
}

// Apart reports that two steps touched nothing in common.
func (t Touched) Apart(o Touched) bool {
	return !t.All && !o.All && t.Clients&o.Clients == 0 && t.Nodes&o.Nodes == 0 && (!t.Seen || !o.Seen)
}

// ordered is what a world keeps that is under an Order.
type ordered struct {
	Order
	w *World
	// waiting are the messages under way.
	waiting []pending
	touched Touched
	// steps are the options, choices their places in waiting.
	steps   []Step
	choices []int
	// passing: time passes, up to the next timer that somebody waits for, until at most.
	passing bool
	until   time.Duration
}

// pending is a message under way.
type pending struct {
	event
	step Step
	// client and node are its ends, as bits.
	client, node uint64
	// broken says that the message is the end of a connection.
	broken bool
	// conn is that of a replica, over which it goes in the direction dir; nil: it goes between a
	// client and a node.
	conn *peerConn
	dir  int
}

// neverArrives reports that the message will never arrive.
func (p *pending) neverArrives() bool {
	return p.conn != nil && p.conn.silent || !p.live()
}

// ordersPeerLinks: an Order decides about messages between servers, too. Sentinels and the servers that they watch send
// some for ever; these take their time, as they do without an Order.
func (w *World) ordersPeerLinks() bool { return w.order != nil && w.spec.Sentinel == nil }

// tick is the most that the arrival of a message takes.
const tick = time.Microsecond

// What a message can be.
const (
	isRequest = iota
	isAnswer
	isBreak
)

// takeMessage takes a message over that sets out on a link.
func (o *ordered) takeMessage(l *clientLink, number uint32, what int, e event) {
	o.passing = false
	p := pending{event: e, step: stepOf(l.index, number, what), broken: what == isBreak}
	if what == isRequest {
		p.node = o.nodeBit(l.to)
	} else {
		p.client = o.bit(l.name.From)
	}
	o.waiting = append(o.waiting, p)
}

// takePeerMessage takes over a message between a primary and a replica.
func (o *ordered) takePeerMessage(p *peerConn, dir int, deliver func()) {
	x := p.link
	x.sent[dir]++
	to, _ := x.ends[dir].(*Host)
	o.waiting = append(o.waiting, pending{event: event{f: deliver}, conn: p, dir: dir, node: o.nodeBit(to),
		step: stepOf(o.w.linksUsed+x.index, x.sent[dir], dir)})
}

// stepOf makes a step of a message's link, its place there, and what it is.
func stepOf(link int, number uint32, what int) Step {
	return Step(link+1)<<40 | Step(number)<<2 | Step(what)
}

func (o *ordered) nodeBit(n *Host) uint64 {
	return 1 << slices.Index(append(slices.Clone(o.w.nodes), o.w.store, o.w.consensus), n)
}

// isNext reports that the i-th message under way can be the next to arrive: what
// goes over a replication link arrives in the order in which it was sent.
func (o *ordered) isNext(i int) bool {
	p := &o.waiting[i]
	return p.conn == nil || !slices.ContainsFunc(o.waiting[:i], func(q pending) bool {
		return q.conn != nil && q.conn.link == p.conn.link && q.dir == p.dir
	})
}

func (o *ordered) bit(client string) uint64 { return 1 << slices.Index(o.w.spec.Clients, client) }

// doNextStep lets the next step happen; false: it is time that passes, up to the next
// timer.
func (o *ordered) doNextStep() bool {
	s := &o.w.s
	o.waiting = slices.DeleteFunc(o.waiting, func(p pending) bool { return p.neverArrives() })
	o.steps, o.choices = o.steps[:0], o.choices[:0]
	for i := range o.waiting {
		if o.isNext(i) {
			o.steps, o.choices = append(o.steps, o.waiting[i].step), append(o.choices, i)
		}
	}
	next, due := s.due()
	if !due && len(o.waiting) == 0 || o.passing && o.letTimePass(next, due) {
		return false
	}
	o.steps = append(o.steps, TimePasses)
	at := o.Next(o.steps, o.touched)
	o.touched = Touched{}
	if at < 0 {
		s.halt()
		return true
	}
	if at < len(o.choices) {
		at = o.choices[at]
		p := o.waiting[at]
		o.waiting = slices.Delete(o.waiting, at, at+1)
		o.touched = Touched{Clients: p.client, Nodes: p.node}
		s.now += tick
		if due {
			s.now = min(s.now, max(next, s.now-tick)) // no timer is overtaken
		}
		if p.broken {
			s.wake(p.co, p.epoch, byBreak)
		} else {
			p.happen(s)
		}
		return true
	}
	o.touched = Touched{All: true}
	if o.w.spec.Sentinel != nil {
		o.until = s.now + o.w.spec.Lock.Span()
		return !o.letTimePass(next, due)
	}
	if ttl := o.w.spec.Lock.Span(); len(o.waiting) > 0 && (!due || next > s.now+ttl) {
		s.now += ttl
		return true
	}
	return false
}

// letTimePass lets time pass up to the next timer where that belongs to the step, and with it those that sentinels and servers
// have for ever; false: the step is over.
func (o *ordered) letTimePass(next time.Duration, due bool) bool {
	s := &o.w.s
	if len(o.waiting) > 0 && (!due || next > o.until) {
		s.now, o.passing = o.until, false
		return false
	}
	o.passing = !s.isAwaited(next)
	return true
}

// isAwaited reports that somebody goes on with the event that is next.
func (s *scheduler) isAwaited(next time.Duration) bool {
	return s.timeouts.n > 0 && s.timeouts.first().at == next || s.events.n() > 0 && s.events.first().at == next && s.events.first().co != nil
}

// touch notes that a client did something; seen, that the history tells of it.
func (w *World) touch(client string, seen bool) {
	if w.order != nil {
		w.order.touched.Clients |= w.order.bit(client)
		w.order.touched.Seen = w.order.touched.Seen || seen
	}
}

// touchAll notes that a fault struck or ended.
func (w *World) touchAll() {
	if w.order != nil {
		w.order.touched.All = true
	}
}

// due is when the next timer is due; false: there is none.
func (s *scheduler) due() (time.Duration, bool) {
	for s.timeouts.n > 0 && !s.timeouts.first().live() {
		s.timeouts.drop()
	}
	for s.events.n() > 0 && !s.events.first().live() {
		s.events.pop()
	}
	switch {
	case s.timeouts.n == 0 && s.events.n() == 0:
		return 0, false
	case s.timeouts.n == 0:
		return s.events.first().at, true
	case s.events.n() == 0:
		return s.timeouts.first().at, true
	}
	return min(s.timeouts.first().at, s.events.first().at), true
}
