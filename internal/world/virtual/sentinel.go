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

// sentinelProcess is a sentinel's process on a machine of its own.
type sentinelProcess struct {
	w     *World
	name  string
	clock nodeClock
	rand  *rand.Rand

	up, paused bool
	// rules are those of the process; the file outlives it. life counts the processes.
	rules *sentinel.Sentinel
	life  int
	// conns are its connections by the rules' numbers; settled says that new ones have to be dialled.
	conns   map[int]*peerConn
	settled bool
	// overdue: the timer fired while it stood still; deferred is what else came meanwhile.
	overdue  bool
	deferred []func()
	// listeners are the connections of clients that want to be told of a switch.
	listeners []listener
}

// listener is a client's subscription at a sentinel.
type listener struct {
	conn     *peerConn
	switched func(primary *Host)
}

// startSentinels makes the sentinels, with the links that they need.
func (w *World) startSentinels() {
	w.sentinels = nil
	for _, name := range w.spec.Sentinel.Names {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		w.sentinels = append(w.sentinels, &sentinelProcess{w: w, name: name, rand: rand.New(w.draws.of(h.Sum64()))})
	}
	for _, from := range w.sentinels {
		for _, n := range w.nodes {
			w.newPeerLink(from.name, n.name, [2]endpoint{requests: n, answers: from})
		}
		for _, to := range w.sentinels {
			if from != to {
				w.newPeerLink(from.name, to.name, [2]endpoint{requests: to, answers: from})
			}
		}
	}
	kept := sentinel.Kept{Primary: w.nodes[0].name}
	for _, n := range w.nodes[1:] {
		kept.Replicas = append(kept.Replicas, n.name)
	}
	for _, sp := range w.sentinels {
		sp.start(kept)
		sp.rules.Settle(func(server string) sentinel.Info { return w.model(server).info() })
		sp.settled = true
	}
}

// start starts the process with what its file says.
func (sp *sentinelProcess) start(kept sentinel.Kept) {
	s := sp.w.spec.Sentinel
	others := slices.DeleteFunc(slices.Clone(s.Names), func(name string) bool { return name == sp.name })
	sp.up, sp.conns, sp.listeners = true, make(map[int]*peerConn), nil
	sp.rules = sentinel.New(sentinel.Config{
		Settings: sentinel.Settings{Quorum: s.Quorum, DownAfter: s.DownAfter, FailoverTimeout: s.FailoverTimeout},
		Name:     sp.name, Others: others, Kept: kept, Rand: sp.rand.IntN, Do: sp.do, Tell: sp.recordEvent,
	}, sp.now())
	sp.timerLater(time.Duration(sp.rand.Int64N(int64(100 * time.Millisecond))))
}

// now is the time on the sentinel's clock.
func (sp *sentinelProcess) now() time.Duration {
	return time.Duration(sp.wall(sp.w.s.now)) * time.Microsecond
}

// wall is the sentinel's clock at a run time, in microseconds since 1970.
func (sp *sentinelProcess) wall(at time.Duration) int64 {
	return int64((sp.w.wallZero + at + sp.clock.offsetAt(at)) / time.Microsecond)
}

func (sp *sentinelProcess) bend(f *world.ClockFault) {
	if f == nil {
		sp.clock = nodeClock{}
	} else {
		sp.clock.set(sp.w.s.now, *f)
	}
}

func (sp *sentinelProcess) timerLater(d time.Duration) {
	life := sp.life
	sp.w.s.after(d, func() {
		if sp.life != life {
			return
		}
		if sp.paused {
			sp.overdue = true
			return
		}
		sp.timer()
	})
}

func (sp *sentinelProcess) timer() { sp.timerLater(sp.rules.Timer(sp.now())) }

// toldBySentinel records what a sentinel tells, and lets faults strike that wait for it.
func (w *World) toldBySentinel(e sentinel.Event) {
	event := history.ToldBySentinel(e.Sentinel, e.Word, e.Target, e.Epoch)
	w.record(event)
	if hook := w.hooks.Sentinel; hook != nil {
		w.Go(func() { hook(event) })
	}
}

// Tells records what a sentinel on the host tells.
func (h *Host) Tells(e sentinel.Event) {
	e.Sentinel = h.name
	h.w.toldBySentinel(e)
}

// recordEvent records an event, and tells clients of a switch.
func (sp *sentinelProcess) recordEvent(e sentinel.Event) {
	e.Sentinel = sp.name
	sp.w.toldBySentinel(e)
	if e.Word != sentinel.SwitchMaster {
		return
	}
	sp.listeners = slices.DeleteFunc(sp.listeners, func(l listener) bool { return l.conn.closed })
	to := sp.w.node(e.Target)
	for _, l := range sp.listeners {
		l.conn.answer(func() { l.switched(to) })
	}
}

// do carries out what the rules want.
func (sp *sentinelProcess) do(a sentinel.Action) {
	switch a.Verb {
	case sentinel.Open:
		sp.open(a)
	case sentinel.Close:
		sp.conns[a.Conn].closeAtOpener()
		delete(sp.conns, a.Conn)
	case sentinel.Ping, sentinel.AskInfo, sentinel.Publish, sentinel.AskDown, sentinel.ReplicaOf:
		p := sp.conns[a.Conn]
		p.request(func() {
			answer := p.carryOut(a)
			p.answer(func() { sp.rules.Answered(sp.now(), a.Conn, answer) })
		})
	}
}

func (sp *sentinelProcess) open(a sentinel.Action) {
	x, life := sp.w.peerLink(sp.name, a.To), sp.life
	dial := x.dial
	if !sp.settled {
		dial = x.openConn
	}
	p := dial(func() {
		if sp.life == life {
			delete(sp.conns, a.Conn)
			sp.rules.Broke(a.Conn)
		}
	})
	sp.conns[a.Conn] = p
	if !a.PubSub {
		return
	}
	p.onHello = func(h *sentinel.Hello) { sp.rules.Heard(sp.now(), a.Conn, h) }
	n := sp.w.model(a.To)
	subscribe := func() {
		n.role.subscribers = append(n.role.subscribers, p)
		p.answer(func() { p.onHello(nil) })
	}
	if sp.settled {
		p.request(subscribe)
	} else {
		subscribe()
	}
}

// carryOut lets a server or a sentinel carry out what a sentinel asks it over the connection.
func (p *peerConn) carryOut(a sentinel.Action) sentinel.Answer {
	answer := sentinel.Answer{To: a.Verb}
	h, _ := p.link.ends[requests].(*Host)
	if h == nil {
		p.link.ends[requests].(*sentinelProcess).carryOut(a, &answer)
		return answer
	}
	n := h.model()
	switch a.Verb {
	case sentinel.AskInfo:
		answer.Info = n.info()
	case sentinel.Publish:
		n.publish(a.Hello)
	case sentinel.ReplicaOf:
		n.obey(h.w.node(a.Primary), p)
	case sentinel.Open, sentinel.Close, sentinel.Ping, sentinel.AskDown:
	}
	return answer
}

func (sp *sentinelProcess) carryOut(a sentinel.Action, answer *sentinel.Answer) {
	switch a.Verb {
	case sentinel.Publish:
		sp.rules.Greeted(sp.now(), a.Hello)
	case sentinel.AskDown:
		answer.Down = sp.rules.Asked(sp.now(), a.Ask)
	case sentinel.Open, sentinel.Close, sentinel.Ping, sentinel.AskInfo, sentinel.ReplicaOf:
	}
}

func (sp *sentinelProcess) listens() bool { return sp.up }

func (sp *sentinelProcess) runOrDefer(f func()) {
	runOrDefer(sp.up, sp.paused, &sp.deferred, f)
}

func (sp *sentinelProcess) runs() bool { return sp.up }
func (sp *sentinelProcess) pause()     { sp.paused = true }

// resume lets it go on. A signal has ended its wait for messages, so the timer comes first.
func (sp *sentinelProcess) resume() {
	if !sp.paused {
		return
	}
	sp.paused = false
	if sp.overdue {
		sp.overdue = false
		sp.timer()
	}
	deferred := sp.deferred
	sp.deferred = nil
	for _, f := range deferred {
		f()
	}
}

func (sp *sentinelProcess) kill() {
	if !sp.up {
		return
	}
	sp.up, sp.paused, sp.overdue, sp.deferred = false, false, false, nil
	sp.life++
	sp.w.breakPeerConns(sp)
}

func (sp *sentinelProcess) restart(world.Keep) (started bool, err error) {
	if sp.w.Sleep(processStarts); sp.up {
		return false, nil
	}
	sp.start(sp.rules.Kept())
	return true, nil
}
