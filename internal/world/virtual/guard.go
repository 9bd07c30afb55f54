package virtual

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// guard is a sentinel's process on a machine of its own.
type guard struct {
	w     *World
	name  string
	clock nodeClock
	rand  *rand.Rand

	up, paused bool
	// rules are those of the process; the file outlives it. life counts the processes.
	rules *sentinel.Sentinel
	life  int
	// pipes are its connections by the rules' numbers; settled says that new ones have to be dialled.
	pipes   map[int]*pipe
	settled bool
	// overdue: the timer fired while it stood still; deferred is what else came meanwhile.
	overdue  bool
	deferred []func()
	// listeners are the connections of clients that want to be told of a switch.
	listeners []listener
}

// listener is a client's subscription at a sentinel.
type listener struct {
	p        *pipe
	switched func(primary *node)
}

// watchOver makes the sentinels, with the links that they need.
func (w *World) watchOver() {
	w.guards = nil
	for _, name := range w.spec.Sentinel.Names {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		w.guards = append(w.guards, &guard{w: w, name: name, rand: rand.New(rand.NewPCG(w.spec.Seed, h.Sum64()))})
	}
	for _, from := range w.guards {
		for _, n := range w.nodes {
			w.newWire(from.name, n.name, [2]endpoint{requests: n, answers: from})
		}
		for _, to := range w.guards {
			if from != to {
				w.newWire(from.name, to.name, [2]endpoint{requests: to, answers: from})
			}
		}
	}
	kept := sentinel.Kept{Primary: w.nodes[0].name}
	for _, n := range w.nodes[1:] {
		kept.Replicas = append(kept.Replicas, n.name)
	}
	for _, g := range w.guards {
		g.start(kept)
		g.rules.Settle(func(server string) sentinel.Info { return w.node(server).info() })
		g.settled = true
	}
}

// start starts the process with what its file says.
func (g *guard) start(kept sentinel.Kept) {
	s := g.w.spec.Sentinel
	others := slices.DeleteFunc(slices.Clone(s.Names), func(name string) bool { return name == g.name })
	g.up, g.pipes, g.listeners = true, make(map[int]*pipe), nil
	g.rules = sentinel.New(sentinel.Config{
		Settings: sentinel.Settings{Quorum: s.Quorum, DownAfter: s.DownAfter, FailoverTimeout: s.FailoverTimeout},
		Name:     g.name, Others: others, Kept: kept, Rand: g.rand.IntN, Do: g.do, Tell: g.tell,
	}, g.now())
	g.timerLater(time.Duration(g.rand.Int64N(int64(100 * time.Millisecond))))
}

// now is the time on the sentinel's clock.
func (g *guard) now() time.Duration { return time.Duration(g.wall(g.w.s.now)) * time.Microsecond }

// wall is the sentinel's clock at a run time, in microseconds since 1970.
func (g *guard) wall(at time.Duration) int64 {
	return int64((g.w.wallZero + at + g.clock.off(at)) / time.Microsecond)
}

func (g *guard) bend(f *world.ClockFault) {
	if f == nil {
		g.clock = nodeClock{}
	} else {
		g.clock.set(g.w.s.now, *f)
	}
}

func (g *guard) timerLater(d time.Duration) {
	life := g.life
	g.w.s.after(d, func() {
		switch {
		case g.life != life:
		case g.paused:
			g.overdue = true
		default:
			g.timer()
		}
	})
}

func (g *guard) timer() { g.timerLater(g.rules.Timer(g.now())) }

// tell records an event, and tells clients of a switch.
func (g *guard) tell(e sentinel.Event) {
	v := history.Value{Rare: &history.Rare{Detail: e.Word, Target: e.Target}}
	if e.Epoch > 0 {
		v.Rare.Epoch = history.Some(int64(e.Epoch))
	}
	told := history.Event{Process: g.name, Type: history.Info, F: history.Sentinel, Value: v}
	g.w.record(told)
	if hook := g.w.hooks.Sentinel; hook != nil {
		g.w.Go(func() { hook(told) })
	}
	if e.Word != sentinel.SwitchMaster {
		return
	}
	g.listeners = slices.DeleteFunc(g.listeners, func(l listener) bool { return l.p.gone })
	to := g.w.node(e.Target)
	for _, l := range g.listeners {
		l.p.tell(func() { l.switched(to) })
	}
}

// do carries out what the rules want.
func (g *guard) do(a sentinel.Action) {
	switch a.Verb {
	case sentinel.Open:
		g.open(a)
	case sentinel.Close:
		g.pipes[a.Conn].close()
		delete(g.pipes, a.Conn)
	case sentinel.Ping, sentinel.AskInfo, sentinel.Publish, sentinel.AskDown, sentinel.ReplicaOf:
		p := g.pipes[a.Conn]
		p.ask(func() {
			answer := p.serve(a)
			p.tell(func() { g.rules.Answered(g.now(), a.Conn, answer) })
		})
	}
}

func (g *guard) open(a sentinel.Action) {
	x, life := g.w.wire(g.name, a.To), g.life
	dial := x.dial
	if !g.settled {
		dial = x.connected
	}
	p := dial(func() {
		if g.life == life {
			delete(g.pipes, a.Conn)
			g.rules.Broke(a.Conn)
		}
	})
	g.pipes[a.Conn] = p
	if !a.PubSub {
		return
	}
	p.heard = func(h *sentinel.Hello) { g.rules.Heard(g.now(), a.Conn, h) }
	n := g.w.node(a.To)
	subscribe := func() {
		n.role.subscribers = append(n.role.subscribers, p)
		p.tell(func() { p.heard(nil) })
	}
	if g.settled {
		p.ask(subscribe)
	} else {
		subscribe()
	}
}

// serve lets a server or a sentinel carry out what a sentinel asks it over the connection.
func (p *pipe) serve(a sentinel.Action) sentinel.Answer {
	answer := sentinel.Answer{To: a.Verb}
	n, _ := p.on.ends[requests].(*node)
	if n == nil {
		p.on.ends[requests].(*guard).serve(a, &answer)
		return answer
	}
	switch a.Verb {
	case sentinel.AskInfo:
		answer.Info = n.info()
	case sentinel.Publish:
		n.publish(a.Hello)
	case sentinel.ReplicaOf:
		n.replicaOf(n.w.node(a.Primary), p)
	case sentinel.Open, sentinel.Close, sentinel.Ping, sentinel.AskDown:
	}
	return answer
}

func (g *guard) serve(a sentinel.Action, answer *sentinel.Answer) {
	switch a.Verb {
	case sentinel.Publish:
		g.rules.Greeted(g.now(), a.Hello)
	case sentinel.AskDown:
		answer.Down = g.rules.Asked(g.now(), a.Ask)
	case sentinel.Open, sentinel.Close, sentinel.Ping, sentinel.AskInfo, sentinel.ReplicaOf:
	}
}

func (g *guard) listens() bool { return g.up }

func (g *guard) whenRuns(f func()) {
	whenRuns(g.up, g.paused, &g.deferred, f)
}

func (g *guard) runs() bool { return g.up }
func (g *guard) pause()     { g.paused = true }

// resume lets it go on. A signal has ended its wait for messages, so the timer comes first.
func (g *guard) resume() {
	if !g.paused {
		return
	}
	g.paused = false
	if g.overdue {
		g.overdue = false
		g.timer()
	}
	deferred := g.deferred
	g.deferred = nil
	for _, f := range deferred {
		f()
	}
}

func (g *guard) kill() {
	if !g.up {
		return
	}
	g.up, g.paused, g.overdue, g.deferred = false, false, false, nil
	g.life++
	g.w.breakPipes(g)
}

func (g *guard) restart(world.Keep) {
	g.start(g.rules.Kept())
}
