package link

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Message is something sent over a link, as its driver keeps it.
type Message interface {
	// Flow is that of the message's connection.
	Flow() *Flow
	// Place is for the Direction to keep account of the message.
	Place() *Place
	// Size is about how many bytes it has.
	Size() int64
}

// Place says how far a message has got in a Direction. It begins as its zero value, and is
// that again when the message has passed, but for Part and Refusal.
type Place struct {
	// Part is how many bytes of the message pass, where its fate is Ends.
	Part int64
	// Refusal is the error with which the node is to answer, where its fate is Refused.
	Refusal string
	// met is the number of the last disturbance that it has met; it may stand in it.
	met int
	// number is that of the message on its connection.
	number          int
	stands, limited bool
	// base is when it came, and how late latency makes it.
	base time.Duration
}

// Flow is one direction of one connection.
type Flow struct {
	// opened is the number of the latest disturbance when the connection was opened.
	opened int
	// came is the number of its latest message.
	came int
}

// Fate is what becomes of a message.
type Fate uint8

// Fates.
const (
	// Passes: it has passed all disturbances.
	Passes Fate = iota
	// Stands: it stands in a disturbance till a time, or till that ends. Then it is to
	// Pass on.
	Stands
	// Lost: nobody hears of it.
	Lost
	// Breaks: its connection breaks at once, and the message is lost.
	Breaks
	// Ends: its first bytes (Place.Part) pass, and its connection ends behind them.
	Ends
	// Refused: it passes, and the node answers with an error (Place.Refusal) to what it
	// refuses so, and does not carry that out.
	Refused
)

// Never is till when a message stands that only the end of a disturbance lets go.
const Never = time.Duration(math.MaxInt64)

// Direction is one direction of a link.
type Direction[M Message] struct {
	// Rand draws jitter; nil: there is none.
	Rand rand.Source

	begun   int
	inForce []*disturbance[M] // in the order in which they began
}

// disturbance is one in force.
type disturbance[M Message] struct {
	world.Disturbance
	number int
	// only is the one flow that it strikes, from the message after that with this number;
	// nil: all.
	only  *Flow
	after int
	// standing are the messages that stand in it, in the order in which they came.
	standing []standing[M]
	// used is what flows have used up of a limit.
	used map[*Flow]used
}

type standing[M Message] struct {
	m     M
	until time.Duration
}

type used struct {
	// free is when the bandwidth has passed everything on.
	free time.Duration
	// bytes are those that have passed a limit.
	bytes int64
}

// Clear reports that a message passes, having met nothing: Pass would say the same.
func (dir *Direction[M]) Clear(p *Place) bool { return len(dir.inForce) == 0 && p.met == 0 }

// NewFlow is the flow of a connection that is being opened.
func (dir *Direction[M]) NewFlow() Flow { return Flow{opened: dir.begun} }

// CanOpen reports whether a message of so many bytes on a new connection would pass by
// itself, sooner or later.
func (dir *Direction[M]) CanOpen(bytes int64) bool {
	return !slices.ContainsFunc(dir.inForce, func(d *disturbance[M]) bool {
		return d.only == nil && (d.Kind == world.Cut || d.Kind == world.Hold ||
			d.Kind == world.Reset || d.Kind == world.LimitData && d.Bytes < bytes)
	})
}

// Cuts reports that every message is lost that is sent now.
func (dir *Direction[M]) Cuts() bool {
	return slices.ContainsFunc(dir.inForce, func(d *disturbance[M]) bool { return d.only == nil && d.Kind == world.Cut })
}

// Begin puts a disturbance in force. end takes it off again and returns what stood in
// it, which is to Pass on now, and whether all connections break. To call it twice
// does no harm.
func (dir *Direction[M]) Begin(what world.Disturbance) (end func() (freed []M, breaks bool)) {
	return dir.BeginOn(nil, what)
}

// BeginOn puts it in force for one flow and the messages that come there from now on. Where
// breaks is true at its end, the flow's connection breaks.
func (dir *Direction[M]) BeginOn(only *Flow, what world.Disturbance) (end func() (freed []M, breaks bool)) {
	dir.begun++
	d := &disturbance[M]{Disturbance: what, number: dir.begun, only: only}
	if only != nil {
		d.after = only.came
	}
	dir.inForce = append(dir.inForce, d)
	return func() (freed []M, breaks bool) {
		i := slices.Index(dir.inForce, d)
		if i < 0 {
			return nil, false
		}
		dir.inForce = slices.Delete(dir.inForce, i, i+1)
		for _, s := range d.standing {
			s.m.Place().stands = false
			freed = append(freed, s.m)
		}
		return freed, d.Kind == world.Cut
	}
}

// Pass takes a message on from where it stands. It returns till when it stands then,
// where it does. A message whose connection is no more may be left where it is.
func (dir *Direction[M]) Pass(m M, now time.Duration) (Fate, time.Duration) {
	p := m.Place()
	stood := p.stands
	p.stands = false
	if p.number == 0 {
		m.Flow().came++
		p.number = m.Flow().came
	}
	for _, d := range dir.inForce {
		if stood && d.number == p.met {
			d.letGo(m)
		}
		if d.number <= p.met || !d.strikes(m.Flow()) || p.number <= d.after {
			continue
		}
		if p.met == 0 {
			p.base = now
		}
		p.met = d.number
		if fate, until := d.fateOf(m, p, dir.Rand, now); fate != Passes {
			p.stands = fate == Stands
			return fate, until
		}
	}
	fate := Passes
	if p.Refusal != "" {
		fate = Refused
	}
	if p.limited {
		if fate = Ends; p.Refusal != "" {
			p.Part = 0 // it is not carried out, and nobody can be answered
		}
	}
	*p = Place{Part: p.Part, Refusal: p.Refusal}
	return fate, 0
}

// stalls reports that it is one that lets nothing pass on connections as old as this.
func (d *disturbance[M]) stalls(f *Flow) bool { return d.Kind == world.Stall && f.opened < d.number }

// Stalls reports that nothing passes on a connection, because it was open when some disturbance began.
func (dir *Direction[M]) Stalls(f *Flow) bool {
	return slices.ContainsFunc(dir.inForce, func(d *disturbance[M]) bool { return d.strikes(f) && d.stalls(f) })
}

func (d *disturbance[M]) strikes(f *Flow) bool { return d.only == nil || d.only == f }

// fateOf is what a disturbance does to a message.
func (d *disturbance[M]) fateOf(m M, p *Place, r rand.Source, now time.Duration) (Fate, time.Duration) {
	switch d.Kind {
	case world.Latency:
		late := d.Latency
		if d.Jitter > 0 && r != nil {
			late += time.Duration(int64(r.Uint64()>>1)%int64(2*d.Jitter)) - d.Jitter
		}
		p.base += max(late, 0)
		return d.delay(m, now+late, now)
	case world.Bandwidth:
		// Of several the slowest counts: each begins when the message came.
		free := d.addUse(m, func(u *used) {
			u.free = max(u.free, p.base) + time.Duration(p.size(m)*int64(time.Second)/max(d.Rate, 1))
		}).free
		return d.delay(m, free, now)
	case world.Cut:
		return Lost, 0
	case world.Hold:
		return d.holdBack(m, Never)
	case world.Stall:
		if d.stalls(m.Flow()) {
			return d.holdBack(m, Never)
		}
	case world.Reset:
		return Breaks, 0
	case world.LimitData:
		size := p.size(m)
		if over := d.addUse(m, func(u *used) { u.bytes += size }).bytes - d.Bytes; over >= 0 {
			p.limited, p.Part = true, max(size-over, 0)
		}
	case world.SlowClose: // messages pass; EndDelay looks for it
	case world.Refuse:
		if p.Refusal == "" {
			p.Refusal = d.Error
		}
	}
	return Passes, 0
}

// size is how many bytes of a message pass.
func (p *Place) size(m Message) int64 {
	if p.limited {
		return p.Part
	}
	return m.Size()
}

// addUse keeps account of what a message's connection has used up.
func (d *disturbance[M]) addUse(m M, add func(*used)) used {
	if d.used == nil {
		d.used = make(map[*Flow]used)
	}
	u := d.used[m.Flow()]
	add(&u)
	d.used[m.Flow()] = u
	return u
}

// delay keeps a message back till a time, and till those before it have gone on.
func (d *disturbance[M]) delay(m M, until, now time.Duration) (Fate, time.Duration) {
	for _, s := range slices.Backward(d.standing) {
		if s.m.Flow() == m.Flow() {
			return d.holdBack(m, max(until, s.until))
		}
	}
	if until <= now {
		return Passes, 0
	}
	return d.holdBack(m, until)
}

func (d *disturbance[M]) holdBack(m M, until time.Duration) (Fate, time.Duration) {
	d.standing = append(d.standing, standing[M]{m, until})
	return Stands, until
}

func (d *disturbance[M]) letGo(m M) {
	d.standing = slices.DeleteFunc(d.standing, func(s standing[M]) bool { return s.m.Place() == m.Place() })
}

// EndDelay is how long the end of a connection is kept back; Never: till a disturbance
// ends.
func (dir *Direction[M]) EndDelay(f *Flow) (late time.Duration) {
	for _, d := range dir.inForce {
		if !d.strikes(f) {
			continue
		}
		if d.Kind == world.Hold || d.stalls(f) {
			return Never
		}
		if d.Kind == world.SlowClose {
			late = max(late, d.Delay)
		}
	}
	return late
}

// Close forgets a flow whose connection is no more, with what stands there.
func (dir *Direction[M]) Close(f *Flow) {
	for _, d := range dir.inForce {
		d.standing = slices.DeleteFunc(d.standing, func(s standing[M]) bool { return s.m.Flow() == f })
		delete(d.used, f)
	}
}
