package virtual

import (
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// clientHost is a machine with a process on it, which is one client or several. Requests are carried
// out on the coroutine of whoever asks; while the process is paused it stands.
type clientHost struct {
	w *World
	// name is that of its first client, whose name its links have.
	name    string
	threads []*clientThread
	links   []*clientLink
	store   *clientLink
	// consensus is nil where the lock needs none.
	consensus *clientLink

	// machine is what a guest on it sees; nil: the lock is ours.
	machine *Machine
	// life counts the processes that have been here.
	life         uint64
	paused, dead bool
	// resumes are the coroutines that stand while it is paused.
	resumes         []waiter
	monotonic, wall bend
	// deferred is what came from sentinels while it was paused.
	deferred []func()
}

// clientThread is a client: a thread or task of its process.
type clientThread struct {
	*clientHost
	name  string
	agent *client.Agent
	// asks: an attempt to get the lock is under way. cancelled: it has been cancelled.
	asks, cancelled bool
}

var _ world.Client = (*clientThread)(nil)

// start starts the process.
func (c *clientHost) start() error {
	c.life++
	c.dead, c.paused = false, false
	c.monotonic, c.wall = bend{}, bend{}
	c.openMachine()
	process := &lock.Process{}
	var err error
	for _, t := range c.threads {
		e := newEnv(t, process)
		l, why := t.openLock(e)
		err = errors.Join(err, why)
		t.agent = client.NewAgent(e, l, e.store, c.w.spec.Resource, c.w.Now)
	}
	return err
}

const (
	endedMessage   = "the client ended"
	stoppedMessage = "the run was stopped"
)

// Do carries out a request. A client that is killed meanwhile gives no answer.
func (c *clientThread) Do(q client.Request) (a client.Answer) {
	if c.dead || c.w.s.stopped {
		return c.silence()
	}
	life := c.life
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(unwound); !ok {
				panic(r)
			}
			a = c.silence()
			if !c.w.s.stopped && life != c.life { // it has been started again by now
				a.Error, a.Gone = endedMessage, true
			}
		}
	}()
	called := c.w.s.now
	c.w.touch(c.clientHost.name, true)
	defer c.w.touch(c.clientHost.name, true)
	c.awaitRunnable(life)
	c.asks, c.cancelled = q.F == history.Acquire, false
	defer func() { c.asks = false }()
	a = c.agent.Do(q)
	if a.Type == history.OK && a.Value.Validity().IsSet() {
		from := max(a.Instant, called)
		a.Value.Grant.ValidUntil = history.Some(int64(from) + a.Value.Validity().V())
	}
	return a
}

// cancel cancels the attempt that is under way.
func (c *clientThread) cancel() error {
	switch {
	case c.dead || !c.asks:
		return world.NoAttempt(c.name)
	case c.cancelled:
		return world.CancelledBefore(c.name)
	}
	c.cancelled = true
	c.agent.Cancel()
	c.w.s.wakeAll(func(co *coroutine) bool { return co.cancels == c }, byCancel)
	return nil
}

// silence is the answer of a client that gives none.
func (c *clientHost) silence() client.Answer {
	if c.dead {
		return client.Answer{Type: history.Info, Error: endedMessage, Gone: true}
	}
	return client.Answer{Type: history.Info, Error: stoppedMessage}
}

// awaitRunnable lets a coroutine of the client on while it runs, and unwinds it where
// its process has ended.
func (c *clientHost) awaitRunnable(life uint64) {
	for {
		if c.life != life || c.dead || c.w.s.stopped {
			panic(unwound{})
		}
		if !c.paused {
			return
		}
		s := &c.w.s
		c.resumes = append(c.resumes, waiter{s.current, s.current.epoch})
		s.current.owner = c
		s.park()
		s.current.owner = nil
	}
}

// parkAsking parks a coroutine in the client's code, until the attempt is cancelled if that is under way.
func (c *clientThread) parkAsking(life uint64) reason {
	co := c.w.s.current
	co.cancels = c
	why := c.parkClient(life)
	co.cancels = nil
	return why
}

// parkClient parks a coroutine in the client's code.
func (c *clientHost) parkClient(life uint64) reason {
	s := &c.w.s
	s.current.owner = c
	why := s.park()
	s.current.owner = nil
	c.awaitRunnable(life)
	return why
}

func (c *clientHost) pause() {
	if m := c.machine; m != nil && !c.paused {
		m.tell(m.faults.pause)
	}
	c.paused = true
}

func (c *clientHost) resume() {
	stood := c.paused
	c.paused = false
	if m := c.machine; m != nil {
		m.resume() // first what its machine has for it: it comes before deadlines that are over
		if stood {
			m.tell(m.faults.resume)
		}
	}
	for _, w := range c.resumes {
		c.w.s.wake(w.co, w.epoch, byResume)
	}
	c.resumes = c.resumes[:0]
	deferred := c.deferred
	c.deferred = nil
	for _, f := range deferred {
		f()
	}
}

// kill ends the process: its connections close, and whatever was going on in
// it ends where it stands. What it had sent is on its way.
func (c *clientHost) kill() {
	if c.dead {
		return
	}
	c.dead, c.paused = true, false
	c.resumes, c.deferred = c.resumes[:0], nil
	c.machine.end()
	if c.w.spec.Sentinel != nil {
		c.w.breakPeerConns(c)
	}
	for _, l := range append(slices.Clone(c.links), c.store, c.consensus) {
		if l == nil {
			continue
		}
		for len(l.pending) > 0 {
			l.pending[0].conn.hangUp()
			l.pending[0].giveUp()
		}
		for _, idle := range l.idle {
			idle.hangUp()
		}
		l.idle = l.idle[:0]
	}
	c.w.s.wakeAll(func(co *coroutine) bool { return co.owner == c }, byKill)
}

// env is lock.Env for one life of a client.
type env struct {
	c       *clientThread
	life    uint64
	process *lock.Process
	nodes   []command.Node
	// points are those at which a fault may strike, endings their last letters.
	points  []string
	endings [256]bool
	store   *remote
	// consensus is nil where the lock needs none.
	consensus command.Node
	rand      *rand.Rand
}

var _ lock.Env = (*env)(nil)

func newEnv(c *clientThread, process *lock.Process) *env {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.name))
	// As in the live world; a client that was started again draws anew.
	e := &env{c: c, life: c.life, process: process, points: c.w.spec.Points, rand: rand.New(c.w.draws.of(h.Sum64() + c.life - 1))}
	for _, p := range e.points {
		e.endings[p[len(p)-1]] = true
	}
	remotes := make([]remote, len(c.links)+1)
	e.nodes = make([]command.Node, len(c.links))
	for i, l := range c.links {
		remotes[i] = remote{e: e, l: l, surely: c.w.spec.Cluster != nil}
		e.nodes[i] = &remotes[i]
	}
	if c.w.spec.Cluster != nil {
		e.nodes = e.joinClusters(e.nodes)
	}
	if c.w.spec.Sentinel != nil && c.w.locks == nil {
		e.nodes = []command.Node{newFailover(e, remotes[:len(c.links)])}
	}
	e.store = &remotes[len(c.links)]
	*e.store = remote{e: e, l: c.store}
	if c.consensus != nil {
		e.consensus = &remote{e: e, l: c.consensus}
	}
	return e
}

// joinClusters makes the nodes of each Redis Cluster one.
func (e *env) joinClusters(nodes []command.Node) (list []command.Node) {
	w := e.c.w
	for _, c := range w.spec.Clusters() {
		n := len(c.Nodes)
		list = append(list, &client.Cluster{Called: c.Name, Nodes: nodes[:n:n], Named: w.servers.HostAt, Now: w.Now, Sleep: e.Sleep})
		nodes = nodes[n:]
	}
	return list
}

func (e *env) Client() string        { return e.c.name }
func (e *env) Now() time.Duration    { return e.c.monotonic.read(e.c.w.s.now + e.c.w.booted) }
func (e *env) Wall() time.Duration   { return e.c.wall.read(e.c.w.s.now + e.c.w.wallZero) }
func (e *env) Rand() *rand.Rand      { return e.rand }
func (e *env) Nodes() []command.Node { return e.nodes }

func (e *env) Consensus() command.Node { return e.consensus }
func (e *env) Process() *lock.Process  { return e.process }

// bootedBefore is how long the clients' machines have been up at the run's
// start.
const bootedBefore = time.Hour

// Sleep waits; a pause of the client lengthens it.
func (e *env) Sleep(d time.Duration) { e.sleep(d, e.c.parkClient) }

// Wait implements lock.Env.
func (e *env) Wait(d time.Duration) {
	if !e.Cancelled() {
		e.sleep(d, e.c.parkAsking)
	}
}

func (e *env) sleep(d time.Duration, park func(life uint64) reason) {
	if d <= 0 {
		return
	}
	s := &e.c.w.s
	if s.pass(s.now + d) {
		return
	}
	s.push(event{at: s.now + d, co: s.current, epoch: s.current.epoch})
	park(e.life)
}

// Cancelled implements lock.Env.
func (e *env) Cancelled() bool { return e.c.asks && e.c.cancelled }

// Point lets faults strike. Locks pass points often, and mostly the last letter is
// enough to tell that none of them is meant.
func (e *env) Point(name string) {
	if name != "" && e.endings[name[len(name)-1]] && slices.Contains(e.points, name) {
		e.strike(name)
	}
}

func (e *env) strike(point string) {
	if hook := e.c.w.hooks.Point; hook != nil {
		e.c.w.touch(e.c.clientHost.name, true)
		hook(e.c.name, point)
		e.c.awaitRunnable(e.life)
	}
}

// Spawn starts a background activity of the client.
func (e *env) Spawn(f func()) { e.c.w.s.start(func() { e.c.awaitRunnable(e.life); f() }, false) }

// Background records an operation of the client's own.
func (e *env) Background(op lock.Operation, do func() (lock.Grant, lock.Result), remaining func(lock.Grant) time.Duration) {
	e.c.w.touch(e.c.clientHost.name, true)
	e.c.w.record(history.Event{Process: e.c.name, Type: history.Invoke, F: history.F(op)})
	g, result := do()
	e.c.w.touch(e.c.clientHost.name, true)
	a := client.AnswerOf(result)
	a.Value.Owner = g.Owner
	if a.Type == history.OK {
		left := remaining(g)
		a.Value.Grant = &history.Grant{Validity: history.Some(int64(left)), ValidUntil: history.Some(int64(e.c.w.Now() + left))}
	}
	e.c.w.record(history.Event{Process: e.c.name, Type: a.Type, F: history.F(op), Value: a.Value, Error: history.SomeText(a.Error)})
}

// Fan runs calls beside each other.
func (e *env) Fan(n int, call func(int) command.Reply, arrived func(int, command.Reply) bool) {
	s := &e.c.w.s
	type answer struct {
		i int
		r command.Reply
	}
	var queue []answer
	asker := s.current
	standing, epoch := false, uint32(0)
	for i := range n {
		s.start(func() {
			e.c.awaitRunnable(e.life)
			queue = append(queue, answer{i, call(i)})
			if standing {
				s.wake(asker, epoch, byReply)
			}
		}, false)
	}
	for next := range n {
		for len(queue) == next {
			standing, epoch = true, asker.epoch
			e.c.parkClient(e.life)
			standing = false
		}
		if arrived(queue[next].i, queue[next].r) {
			return
		}
	}
}

// remote is a node as a client reaches it.
type remote struct {
	e *env
	l *clientLink
	// watching is the connection of a WATCH, until the transaction.
	watching *connection
	// surely: where no connection can be opened, it says that the command was not sent.
	surely bool
}

// Name is the node's name in the scenario.
func (r *remote) Name() string { return r.l.name.To }

// Do carries a command to the node.
func (r *remote) Do(cmd command.Command) (reply command.Reply) {
	l := r.l
	if cmd.Cancellable && r.e.Cancelled() {
		return command.RefusedReply(attemptCancelled)
	}
	epoch := l.epoch
	o := sendOptions{conn: l.connect(cmd.OtherConnection), deadline: math.MaxInt64}
	if cmd.Timeout > 0 {
		o.deadline = l.w.s.now + cmd.Timeout
	}
	if !watches(&r.watching, o.conn, cmd.Op) {
		return command.UnknownReply(watcherIsGone)
	}
	if r.surely && o.conn.fresh && r.shakeHands(&o, &cmd) != "" {
		o.conn.hangUp()
		return command.RefusedReply(client.NotConnected)
	}
	reply = r.sendCommand(&o, &cmd)
	if reply.Outcome != command.Unknown {
		l.giveBack(o.conn, epoch)
	} else {
		o.conn.hangUp()
	}
	return reply
}

// watches keeps account of the connection that watches keys; false: it should be this one, and is not.
func watches(watching **connection, conn *connection, op command.Op) bool {
	switch op {
	case command.WATCH:
		*watching = conn
	case command.UNWATCH, command.EXEC:
		watched := *watching
		*watching = nil
		return watched == nil || watched == conn
	}
	return true
}

// sendCommand sends a command over a connection, which may have to introduce itself first.
func (r *remote) sendCommand(o *sendOptions, cmd *command.Command) (reply command.Reply) {
	if o.conn.fresh {
		if why := r.shakeHands(o, cmd); why != "" {
			return command.UnknownReply(why)
		}
	}
	if !r.roundTrip(o, cmd, &reply) {
		o.source = true
		r.roundTrip(o, cmd, &reply)
	}
	return reply
}

// shakeHands lets a new connection for a command introduce itself, or says why it could not.
func (r *remote) shakeHands(o *sendOptions, cmd *command.Command) (why string) {
	var reply command.Reply
	o.handshake = true
	r.roundTrip(o, &command.Command{Cancellable: cmd.Cancellable}, &reply)
	if reply.Outcome != command.Done {
		return reply.Err()
	}
	o.handshake, o.conn.fresh = false, false
	return ""
}

// sendOptions says how a command is sent to a node, or that it is the handshake of a
// new connection. (The command is not part of it: then each would be allocated.)
type sendOptions struct {
	conn      *connection
	handshake bool
	// source says that a script's source goes with it, not only its name.
	source bool
	// deadline is until when its sender waits.
	deadline time.Duration
}

const (
	tooLate          = "no answer in time"
	attemptCancelled = "the attempt was cancelled"
)

// roundTrip sends one message and waits for its answer till the deadline. It returns
// false where the node did not know the script.
func (r *remote) roundTrip(o *sendOptions, cmd *command.Command, reply *command.Reply) (known bool) {
	s := &r.l.w.s
	if s.now >= o.deadline { // a pause took the time that it had
		*reply = command.UnknownReply(tooLate)
		return true
	}
	k := &o.conn.call
	k.client, k.handshake, k.source, k.noScript, k.clientDone = r.e.c.name, o.handshake, o.source, false, false
	if !o.handshake {
		k.cmd = *cmd
	}
	k.waiter, k.deadline = waiter{s.current, s.current.epoch}, o.deadline
	r.l.send(k)
	why := byReply
	if !k.arrived {
		if o.deadline < math.MaxInt64 {
			s.timeout(o.deadline)
		}
		park := r.e.c.parkClient
		if cmd.Cancellable {
			park = r.e.c.parkAsking
		}
		why = park(r.e.life) // where the client dies, kill has given the call up
	}
	*reply, known = k.reply, !k.noScript
	k.giveUp()
	switch why {
	case byReply:
		return known
	case byTimer:
		*reply = command.UnknownReply(tooLate)
	case byCancel:
		*reply = command.UnknownReply(attemptCancelled)
	case byBreak, byStop, byKill, bySignal, byResume:
		*reply = command.UnknownReply("the connection broke")
	}
	return true
}
