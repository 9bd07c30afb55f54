package virtual

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// Guests are code with threads of its own, as lock libraries are that run as they are. They run on the
// machines of clients, beside the world's activities and never at the same time as those, and
// their clock goes as the world's does.
type Guests interface {
	// Await lets the guests go on, and time pass, until a time of the run; to an earlier one
	// where a guest wants something of the world. It returns the time.
	Await(until time.Duration) time.Duration
	// Grant gives the guests what they want (Machine.Do); false: it was nothing.
	Grant() bool
	// Begin says that the run's time is 0 now (Engine.FromReady).
	Begin()
}

// Locks are the locks of clients, where guests have them.
type Locks interface {
	// Lock makes the lock of a client whose process has just started, on its machine: one after the other for all that share the process. It
	// does not wait for anything.
	Lock(m *Machine, client string) (lock.Lock, error)
	// Ready calls then when all locks are ready for use, or with the reason why one is not.
	Ready(then func(error))
	// Late says that not all were ready in time; true: some of them begin anew.
	Late() bool
	// Unknown is told of what a guest asked of a node that the model does not know: such a run
	// tells nothing.
	Unknown(what string)
}

// Machine is a client's machine as the guests on it see it, for one life of its process.
// All but the reading of names is for Guests.Grant, and for what the world calls.
type Machine struct {
	c    *clientHost
	life uint64
	// deferred is what is to happen when the client runs again.
	deferred []func()
	ends     []func()
	ended    bool
	faults   faults
}

// Client is the name of its first client, Life how many processes there have been, Seed the run's.
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

// Process are the names of the clients that share its process.
func (m *Machine) Process() []string { return m.c.w.spec.Process(m.c.name) }

// Config is how the lock is set of its first client, ConfigOf that of one of them.
func (m *Machine) Config() lock.Config                { return m.ConfigOf(m.c.name) }
func (m *Machine) ConfigOf(client string) lock.Config { return m.c.w.spec.LockOf(client) }

// Cancelled reports that the attempt of one of them that is under way has been cancelled.
func (m *Machine) Cancelled(client string) bool {
	t := m.c.w.thread(client)
	return t.asks && t.cancelled
}

// Now is the run time.
func (m *Machine) Now() time.Duration { return m.c.w.s.now }

// Do lets something happen to the process, now or when it runs again; never, where it has
// ended.
func (m *Machine) Do(f func()) {
	runOrDefer(!m.ended, m.c.paused, &m.deferred, f)
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

// Lost records that the lock told a client of a loss.
func (m *Machine) Lost(client, owner string) { m.LostAt(client, owner, m.Now(), 0, "") }

// Renewed records that the lock renewed a grant of a client, until a time of the run.
func (m *Machine) Renewed(client, owner string, until time.Duration) {
	e := &env{c: m.c.w.thread(client), life: m.life}
	e.Background(lock.Extend, func() (lock.Grant, lock.Result) { return lock.Grant{Owner: owner}, lock.Result{Outcome: lock.OK} },
		func(lock.Grant) time.Duration { return until - m.Now() })
}

func (m *Machine) resume() {
	held := m.deferred
	m.deferred = nil
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
		for _, g := range slices.Clone(l.guestConns) {
			g.Close()
			g.end.Broke(!g.open)
		}
	}
	m.ended, m.deferred = true, nil
	for _, f := range m.ends {
		f()
	}
}

// openMachine makes the machine of a new life, where guests have the locks.
func (c *clientHost) openMachine() {
	if c.w.locks != nil {
		c.machine.end() // two faults may start it at once
		c.machine = &Machine{c: c, life: c.life}
	}
}

// openLock makes the lock of a client's new life.
func (c *clientThread) openLock(e *env) (lock.Lock, error) {
	if c.w.locks == nil {
		return lock.New(c.w.spec.LockOf(c.name), e)
	}
	return c.w.locks.Lock(c.machine, c.name)
}

// readyWithin bounds how long locks take to get ready, in run time.
const readyWithin = 30 * time.Second

// awaitLocks lets time pass until the locks are ready.
func (w *World) awaitLocks() (err error) {
	if w.locks == nil {
		return nil
	}
	for late := true; late; late = err != nil && w.locks.Late() {
		err = w.awaitLocksOnce()
	}
	return err
}

// warmUp lets clients warm up, one after the other.
func (w *World) warmUp() (err error) {
	for _, name := range w.spec.Clients {
		w.Go(func() { err = errors.Join(err, client.WarmUp(name, w.thread(name))) })
		w.Wait()
	}
	if w.s.stopped { // that is no fault of theirs
		return nil
	}
	return errors.Join(err, w.awaitSettled())
}

func (w *World) awaitLocksOnce() (err error) {
	err = fmt.Errorf("the locks were not ready within %v of the run's time", readyWithin)
	s := &w.s
	w.Go(func() {
		asker, epoch, told := s.current, s.current.epoch, false
		w.locks.Ready(func(why error) {
			err, told = why, true
			s.wake(asker, epoch, bySignal)
		})
		if !told { // they may be ready already
			s.timeout(s.now + readyWithin)
			s.park()
		}
	})
	w.Wait()
	return err
}

// runGuests lets the guests go on, and time pass, until the next event is due; false: something
// came before.
func (s *scheduler) runGuests() bool {
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
	// Ended: the node has closed the connection, and nothing more comes.
	Ended()
	// Broke: the connection is over; refused: there never was one.
	Broke(refused bool)
}

// GuestConn is a connection of a guest to a node. Unlike those of the world's own clients it
// carries several messages at once, in order.
type GuestConn struct {
	conn connection
	m    *Machine
	end  End
	// server is the node's end, from when it has taken the connection.
	server *redisConn
	// number is its place among the guests' connections on the link; sent counts its messages.
	number, sent uint64
	open, closed bool
	// broken: it broke, and nothing says so at the node's end.
	broken     bool
	directions [2]guestDirection
	// busy: the node answers a command later, and then what came behind it.
	busy     bool
	backlog  []*call
	commands commandTeller
}

// guestDirection is one direction of a guest's connection.
type guestDirection struct {
	// free is when the last message arrives.
	free time.Duration
	// stands: the run deals with a message that it waited for; behind are those that came
	// since.
	stands bool
	behind []*call
}

// batch is what a guest sends, or is sent, at once.
type batch struct {
	conn *GuestConn
	// dial: it opens the connection; closes: it closes it.
	dial, closes bool
	commands     [][]string
	// pushed are the words of what the guest is sent that answers nothing, empty the places of commands whose answers are null, or errors.
	pushed [][]string
	empty  []int
	// done of them have been carried out, or refused by a model: refused are the places of these.
	done    int
	refused []int
	// in are the bytes that the guest sends, out those that it is sent.
	in, out []byte
}

// A packet without contents, for the opening of a connection.
const packet = 40

// Dial begins to open a connection to the i-th node.
func (m *Machine) Dial(i int, end End) *GuestConn {
	l := m.c.links[i]
	l.dialled++
	g := &GuestConn{m: m, end: end, number: l.dialled}
	g.commands.g = g
	l.addConnection(&g.conn)
	g.conn.guest = g
	g.conn.flows = [2]link.Flow{l.directions[requests].NewFlow(), l.directions[answers].NewFlow()}
	l.guestConns = append(l.guestConns, g)
	g.send(&batch{dial: true})
	return g
}

// Send sends bytes, and the commands that end with them. A model is given the commands, a server the bytes, which are its own
// then.
func (g *GuestConn) Send(commands [][]string, in []byte) {
	if !g.closed {
		g.commands.sent(commands)
	}
	g.send(&batch{commands: commands, in: in})
}

func (g *GuestConn) send(b *batch) {
	l := g.link()
	if g.closed {
		return
	}
	k := g.newCall(b)
	if !l.to.up { // the port is closed
		g.breakLater(l.drawDelay())
		return
	}
	k.begin()
}

// newCall makes a call of a batch.
func (g *GuestConn) newCall(b *batch) *call {
	l := g.link()
	b.conn = g
	g.sent++
	return &call{link: l, conn: &g.conn, epoch: l.epoch, batch: b, deadline: math.MaxInt64, left: l.w.s.now,
		delayBits: mixed(l.w.draws.seed, uint64(l.index), g.number, g.sent)}
}

// push sends what the node sends by itself.
func (g *GuestConn) push(b []byte) {
	if g.closed {
		return
	}
	a := &batch{out: b}
	if line := g.conn.line; line != nil {
		line.answers.read(a)
	} else if l := g.link(); len(l.awaits) > 0 { // a model: whole messages that answer nothing
		(&answerReader{link: l}).read(a)
	}
	g.sendAnswer(a)
}

// hangUp lets the guest see that the node has closed the connection, behind what has been sent to it.
func (g *GuestConn) hangUp() {
	if !g.closed {
		g.sendAnswer(&batch{closes: true})
	}
}

func (g *GuestConn) sendAnswer(b *batch) {
	k := g.newCall(b)
	k.dir = answers
	k.begin()
}

func (g *GuestConn) link() *clientLink { return g.conn.call.link }

// begin lets a message set out, unless the run waits for it, or for one before it on its
// connection.
func (k *call) begin() {
	if !k.queueBehind() && !k.awaitedByRun() {
		k.advance()
	}
}

// queueBehind lets a message stand behind another for which the run waits; false: there is none.
func (k *call) queueBehind() bool {
	if k.batch == nil {
		return false
	}
	d := &k.batch.conn.directions[k.dir]
	if d.stands {
		d.behind = append(d.behind, k)
	}
	return d.stands
}

// releaseBehind lets the messages go on behind one for which the run waited.
func (g *GuestConn) releaseBehind(dir int) {
	d := &g.directions[dir]
	behind := d.behind
	d.stands, d.behind = false, nil
	for _, k := range behind {
		k.begin()
	}
}

// arrivalInOrder is when a message arrives that would arrive at a time if none were before it.
func (k *call) arrivalInOrder(at time.Duration) time.Duration {
	if k.batch == nil {
		return at
	}
	d := &k.batch.conn.directions[k.dir]
	d.free = max(at, d.free+1)
	return d.free
}

// deliver hands the guest a batch that has come to it.
func (b *batch) deliver() {
	g := b.conn
	g.m.Do(func() {
		if g.closed {
			return
		}
		if b.dial {
			g.open = true
			g.end.Opened()
			return
		}
		if b.closes {
			g.forget()
			g.end.Ended()
			return
		}
		g.commands.arrived(b.out)
		g.end.Arrived(b.out)
	})
}

// breakLater lets the guest see in a while that its connection is over.
func (g *GuestConn) breakLater(d time.Duration) { g.link().w.s.after(d, g.breakNow) }

func (g *GuestConn) breakNow() {
	if g.closed {
		return
	}
	g.forget()
	g.broken = true
	if g.server != nil {
		g.server.Close()
	}
	if line := g.conn.line; line != nil {
		line.broke(false)
	}
	g.m.Do(func() { g.end.Broke(!g.open) })
}

// Close closes the guest's end. What it has sent is on its way, and the end comes behind it.
func (g *GuestConn) Close() {
	g.send(&batch{closes: true})
	g.forget()
}

// closeAtClient closes the guest's end, who sees so.
func (g *GuestConn) closeAtClient() {
	if !g.closed {
		g.Close()
		g.m.Do(func() { g.end.Broke(!g.open) })
	}
}

func (g *GuestConn) forget() {
	g.closed = true
	g.commands.over()
	l := g.link()
	l.guestConns = slices.DeleteFunc(l.guestConns, func(o *GuestConn) bool { return o == g })
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
