package virtual

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// Guests are lock libraries as they are, with goroutines of their own. They run on the
// clients' machines, beside the world's activities and never at the same time as those, and
// their clock goes as the world's does.
type Guests interface {
	// Lock makes the lock of a client whose process has just started, on its machine. It
	// does not wait for anything.
	Lock(m *Machine) (lock.Lock, error)
	// Ready calls then when all locks are ready for use, or with the reason why one is not.
	Ready(then func(error))
	// Unknown is told of what a guest asked of a node that the model does not know: such a run
	// tells nothing.
	Unknown(what string)
	// Await lets the guests go on, and time pass, until a time of the run; to an earlier one
	// where a guest wants something of the world. It returns the time.
	Await(until time.Duration) time.Duration
	// Grant gives the guests what they want (Machine.Do); false: it was nothing.
	Grant() bool
}

// Machine is a client's machine as the guests on it see it, for one life of its process.
// All but the reading of names is for Guests.Grant, and for what the world calls.
type Machine struct {
	c    *clientHost
	life uint64
	// held is what is to happen when the client runs again.
	held  []func()
	ends  []func()
	ended bool
}

// Client is the client's name, Life how many processes it has been, Seed the run's.
func (m *Machine) Client() string { return m.c.name }
func (m *Machine) Life() uint64   { return m.life }
func (m *Machine) Seed() uint64   { return m.c.w.spec.Seed }

// Clients are the names of all clients.
func (m *Machine) Clients() []string { return m.c.w.spec.Clients }

// Nodes are the names of the nodes that it can dial.
func (m *Machine) Nodes() (names []string) {
	for _, l := range m.c.links {
		names = append(names, l.name.To)
	}
	return names
}

// Config is how the lock is set.
func (m *Machine) Config() lock.Config { return m.c.w.spec.Lock }

// Now is the run time.
func (m *Machine) Now() time.Duration { return m.c.w.s.now }

// Do lets something happen to the process, now or when it runs again; never, where it has
// ended.
func (m *Machine) Do(f func()) {
	switch {
	case m.ended:
	case m.c.paused:
		m.held = append(m.held, f)
	default:
		f()
	}
}

// OnEnd lets f be called when the process ends, or the run.
func (m *Machine) OnEnd(f func()) { m.ends = append(m.ends, f) }

// Stand lets the activity that asked the lock for something stand until it is woken.
func (m *Machine) Stand(begin func(wake func())) {
	s := &m.c.w.s
	asker, epoch := s.current, s.current.epoch
	begin(func() { s.wake(asker, epoch, byReply) })
	m.c.parkClient(m.life)
}

// Lost records that the lock told of a loss.
func (m *Machine) Lost(owner string) {
	now := history.Some(int64(m.c.w.s.now))
	m.c.w.record(history.Event{Process: m.c.name, Type: history.Info,
		F: history.Lost, Value: history.Value{Owner: owner, Outcome: &history.Outcome{At: now}}})
}

// Renewed records that the lock renewed a grant, until a time of the run.
func (m *Machine) Renewed(owner string, until time.Duration) {
	e := &env{c: m.c, life: m.life}
	e.Background(lock.Extend, func() (lock.Grant, lock.Result) { return lock.Grant{Owner: owner}, lock.Result{Outcome: lock.OK} },
		func(lock.Grant) time.Duration { return until - m.Now() })
}

func (m *Machine) resume() {
	held := m.held
	m.held = nil
	for _, f := range held {
		m.Do(f)
	}
}

// end ends the process: its connections close.
func (m *Machine) end() {
	if m == nil || m.ended {
		return
	}
	for _, l := range m.c.links {
		for _, line := range slices.Clone(l.lines) {
			line.Close()
			line.end.Broke(!line.open)
		}
	}
	m.ended, m.held = true, nil
	for _, f := range m.ends {
		f()
	}
}

// openLock makes the lock of a client's new life.
func (c *clientHost) openLock(e *env) (lock.Lock, error) {
	if c.w.guests == nil {
		return lock.New(c.w.spec.Lock, e)
	}
	c.machine.end() // two faults may start it at once
	c.machine = &Machine{c: c, life: c.life}
	return c.w.guests.Lock(c.machine)
}

// readyWithin bounds how long guests take to get ready, in run time.
const readyWithin = 30 * time.Second

// awaitGuests lets time pass until the guests are ready.
func (w *World) awaitGuests() (err error) {
	if w.guests == nil {
		return nil
	}
	err = fmt.Errorf("the locks were not ready within %v of the run's time", readyWithin)
	s := &w.s
	w.Go(func() {
		asker, epoch := s.current, s.current.epoch
		w.guests.Ready(func(why error) {
			err = why
			s.wake(asker, epoch, bySignal)
		})
		s.timeout(s.now + readyWithin)
		s.park()
	})
	w.Wait()
	return err
}

// await lets the guests go on, and time pass, until the next event is due; false: something
// came before.
func (s *scheduler) await() bool {
	next := time.Duration(math.MaxInt64)
	if at, some := s.due(); some {
		next = at
	}
	s.now = s.guests.Await(next)
	return !s.guests.Grant() && s.ready.n() == 0 && next <= s.now
}

// End is a guest's end of a connection.
type End interface {
	// Opened: the node has taken the connection.
	Opened()
	// Arrived: these bytes have come from the node.
	Arrived(b []byte)
	// Broke: the connection is over; refused: there never was one.
	Broke(refused bool)
}

// Line is a connection of a guest to a node. Unlike those of the world's own clients it
// carries several messages at once, in order.
type Line struct {
	conn connection
	m    *Machine
	end  End
	// server is the node's end, from when it has taken the connection.
	server *redisConn
	// number is its place among the lines of the link; sent counts its messages.
	number, sent uint64
	open, gone   bool
	ways         [2]lane
	// busy: the node answers a command later, and then what came behind it.
	busy    bool
	backlog []*call
}

// lane is one direction of a line.
type lane struct {
	// free is when the last message arrives.
	free time.Duration
	// stands: the run deals with a message that it waited for; behind are those that came
	// since.
	stands bool
	behind []*call
}

// batch is what a guest sends, or is sent, at once.
type batch struct {
	line *Line
	// dial: it opens the connection; ends: it closes it.
	dial, ends bool
	commands   [][]string
	// done of them have been carried out.
	done int
	size int64
	out  []byte
}

// A packet without contents, for the opening of a connection.
const packet = 40

// Dial begins to open a connection to the i-th node.
func (m *Machine) Dial(i int, end End) *Line {
	l := m.c.links[i]
	l.dialled++
	line := &Line{m: m, end: end, number: l.dialled}
	l.own(&line.conn)
	line.conn.line = line
	line.conn.flows = [2]link.Flow{l.ways[requests].Open(), l.ways[answers].Open()}
	l.lines = append(l.lines, line)
	line.send(&batch{dial: true, size: packet})
	return line
}

// Send sends commands, in so many bytes.
func (line *Line) Send(commands [][]string, size int) {
	line.send(&batch{commands: commands, size: int64(size)})
}

func (line *Line) send(b *batch) {
	l := line.link()
	if line.gone {
		return
	}
	k := line.message(b)
	if !l.to.up { // the port is closed
		line.breakLater(l.draw())
		return
	}
	k.leave()
}

// message makes a call of a batch.
func (line *Line) message(b *batch) *call {
	l := line.link()
	b.line = line
	line.sent++
	return &call{link: l, conn: &line.conn, epoch: l.epoch, batch: b, deadline: math.MaxInt64, left: l.w.s.now,
		luck: mixed(l.w.spec.Seed, uint64(l.index), line.number, line.sent)}
}

// push sends what the node sends by itself.
func (line *Line) push(b []byte) {
	if line.gone {
		return
	}
	k := line.message(&batch{out: b})
	k.dir = answers
	k.leave()
}

func (line *Line) link() *clientLink { return line.conn.call.link }

// leave lets a message begin its way, unless the run waits for it, or for one before it on
// its line.
func (k *call) leave() {
	if !k.queued() && !k.awaited() {
		k.advance()
	}
}

// queued reports that a message has to stand behind another for which the run waits.
func (k *call) queued() bool {
	if k.batch == nil {
		return false
	}
	lane := &k.batch.line.ways[k.dir]
	if lane.stands {
		lane.behind = append(lane.behind, k)
	}
	return lane.stands
}

// pass lets the messages go on behind one for which the run waited.
func (line *Line) pass(dir int) {
	lane := &line.ways[dir]
	behind := lane.behind
	lane.stands, lane.behind = false, nil
	for _, k := range behind {
		k.leave()
	}
}

// inOrder is when a message arrives that would by itself arrive at a time.
func (k *call) inOrder(at time.Duration) time.Duration {
	if k.batch == nil {
		return at
	}
	lane := &k.batch.line.ways[k.dir]
	lane.free = max(at, lane.free+1)
	return lane.free
}

// arrive is a batch that has come to the guest.
func (b *batch) arrive() {
	line := b.line
	line.m.Do(func() {
		switch {
		case line.gone:
		case b.dial:
			line.open = true
			line.end.Opened()
		default:
			line.end.Arrived(b.out)
		}
	})
}

// breakLater lets the guest see in a while that its connection is over.
func (line *Line) breakLater(d time.Duration) { line.link().w.s.after(d, line.broke) }

func (line *Line) broke() {
	if line.gone {
		return
	}
	line.forget()
	if line.server != nil {
		line.server.Close()
	}
	line.m.Do(func() { line.end.Broke(!line.open) })
}

// Close closes the guest's end. What it has sent is on its way, and the end comes behind it.
func (line *Line) Close() {
	line.send(&batch{ends: true, size: packet})
	line.forget()
}

func (line *Line) forget() {
	line.gone = true
	l := line.link()
	l.lines = slices.DeleteFunc(l.lines, func(o *Line) bool { return o == line })
}

// serveGuests gets the node ready for guests.
func (n *node) serveGuests() {
	if n.redis == nil {
		n.redis = newRedis(&n.memory, func(what string) { n.w.guests.Unknown(what) })
		return
	}
	n.memory.Listener = n.redis
	n.redis.Restart()
}

// serve carries out the commands of a batch; false: the answer comes later.
func (n *node) serve(k *call) bool {
	b, line := k.batch, k.batch.line
	switch {
	case b.dial:
		line.server = n.redis.Open(line.push)
		return true
	case line.busy:
		line.backlog = append(line.backlog, k)
		return false
	case b.ends:
		if line.server != nil {
			line.server.Close()
		}
		return false
	}
	for b.done < len(b.commands) {
		words := b.commands[b.done]
		b.done++
		var late time.Duration
		n.watch.asked = &asked{k.left, words}
		n.account(k.link, k.conn, func() { b.out, late = line.server.Do(b.out, words) })
		n.watch.asked = nil
		if late > 0 {
			n.serveLater(k, late)
			return false
		}
	}
	if line.server.Closed() {
		line.breakLater(2 * k.link.draw()) // behind the answer
	}
	n.expireLater()
	return true
}

// serveLater goes on with a batch, and what came behind it, in a while.
func (n *node) serveLater(k *call, late time.Duration) {
	line, life := k.batch.line, n.life
	line.busy = true
	if late == redisForever {
		return
	}
	n.w.s.after(late, func() {
		if n.life != life || !n.up {
			return
		}
		line.busy = false
		backlog := line.backlog
		line.backlog = nil
		for _, next := range append([]*call{k}, backlog...) {
			if n.arrive(next) {
				next.answer()
			}
		}
	})
}

// expireLater lets the node look for expired keys when the next is due: Redis does so by
// itself, and libraries wait to be told.
func (n *node) expireLater() {
	if n.looks {
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
	n.looks = true
	life := n.life
	wait := max(time.Duration(first+1)*time.Millisecond-time.Duration(n.memory.Now)*time.Microsecond, time.Millisecond)
	n.w.s.after(wait, func() {
		if n.life != life {
			return
		}
		n.looks = false
		if n.up && !n.paused {
			n.seeClock()
			n.sweep()
		}
		n.expireLater()
	})
}

// mixed hashes numbers, so that what a message takes depends on what it is alone, and not on
// what came before it elsewhere.
func mixed(numbers ...uint64) (h uint64) {
	for _, n := range numbers {
		h += n + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}
