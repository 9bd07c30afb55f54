//go:build linux && amd64

package guests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// lockProgram is the lock of the clients of a process: a program in virtual time, for one life of the process.
type lockProgram struct {
	g    *guests
	m    *virtual.Machine
	host *supervisor.Host
	file *os.File
	// running is the program; nil: it could not be started.
	running *supervisor.Program
	talk    program.Conversation
	clients []*programClient
	opened  bool
	// starts counts the programs that it has been. again: it is being set up again, and whatever goes wrong lets another one be started.
	starts int
	again  bool
	// booted is what the machine's monotonic clock showed when the supervisor's time was 0.
	booted time.Duration
	// failed is why it cannot be used, or how it ended.
	failed error
	// doubtful: it may not be used again. stays: it is to be, and the run is over. old are connections of the run before.
	doubtful, stays bool
	old             []*supervisor.Conn
	// waiting are called when it has been opened, or has ended.
	waiting []func()
}

// programClient is the lock of one client.
type programClient struct {
	*lockProgram
	name  string
	grant client.ProgramGrant
	wait  time.Duration
}

var (
	_ lock.Lock      = (*programClient)(nil)
	_ lock.Forgetter = (*programClient)(nil)
	_ client.Loser   = (*programClient)(nil)
	_ program.Events = programEvents{}
)

// Lock implements virtual.Locks.
func (g *guests) Lock(m *virtual.Machine, name string) (lock.Lock, error) {
	p := g.clients[m.Client()]
	if p == nil || p.m != m {
		var err error
		if p, err = g.lockProgram(m); err != nil {
			return nil, err
		}
	}
	return p.client(name), nil
}

// lockProgram starts the program of a process, or takes the one that the run before has left.
func (g *guests) lockProgram(m *virtual.Machine) (*lockProgram, error) {
	p := &lockProgram{g: g, m: m, host: g.hosts[m.Client()]}
	for _, name := range m.Process() {
		c := m.ConfigOf(name)
		p.clients = append(p.clients, &programClient{lockProgram: p, name: name, wait: client.LongestAcquire(&c, len(g.spec.Nodes))})
	}
	var left *waitingProgram // nil, too, where it had one in this run
	if before := g.clients[m.Client()]; before != nil {
		p.file = before.file
	} else {
		var err error
		if p.file, err = g.log("client-" + m.Client()); err != nil {
			return nil, err
		}
		left = g.waiting[m.Client()]
	}
	g.clients[m.Client()] = p
	p.talk.Log, p.talk.On = program.NewLog(p.file), programEvents{p}
	m.OnPause(p.host.Pause, p.host.Resume)
	m.OnClocks(func(wall, monotonic virtual.Clock) {
		monotonic.Base += g.began + p.booted - supervisor.MonotonicAtStart // the machine was up while the programs got ready
		p.host.SetClocks(g.clockOf(wall), g.clockOf(monotonic))
	})
	m.OnEnd(func() { p.end(errors.New("the lock program was ended")) })
	if left != nil {
		p.goOn(left)
		return p, nil
	}
	return p, p.start()
}

// client is one of the clients of the process: the one of a name, or else the first.
func (p *lockProgram) client(name string) *programClient {
	for _, c := range p.clients {
		if c.name == name {
			return c
		}
	}
	return p.clients[0]
}

// start starts the program.
func (p *lockProgram) start() error {
	c := p.m.Config()
	p.booted = supervisor.MonotonicAtStart
	p.host.SetClocks(wallAtStart, supervisor.Clock{Base: int64(p.booted), Rate: 1})
	o, err := lockCommand(p.g.scratch, p.m.Client(), c.Program.Command, c.Program.Environ())
	if err != nil {
		return err
	}
	p.begin()
	said := p.outputs()
	o.Output, o.Errors, o.Ended = said.Output, said.Errors, said.Ended
	if p.running, err = p.host.Start(o); err != nil {
		return fmt.Errorf("failed to start the lock program: %w", err)
	}
	p.send(program.Greet())
	return nil
}

// wallAtStart is the clock of the time of day of a machine.
var wallAtStart = supervisor.Clock{Base: int64(wall), Rate: 1}

// outputs are where goes what the program says.
func (p *lockProgram) outputs() supervisor.Command {
	p.starts++
	start := p.starts
	want := func(do func()) {
		p.g.want(func() {
			if start == p.starts {
				do()
			}
		})
	}
	return supervisor.Command{
		Output: func(b []byte) { line := slices.Clone(b); want(func() { p.take(line) }) },
		Errors: func(b []byte) { _, _ = p.talk.Log.Write(b) },
		Ended:  func(how string) { want(func() { p.endedByItself(how) }) }}
}

// clockOf is a clock of a machine in the supervisor's time.
func (g *guests) clockOf(c virtual.Clock) supervisor.Clock {
	return supervisor.Clock{Base: int64(c.Base), Since: int64(c.Since + g.began), Rate: c.Rate}
}

// endedByItself: the program has ended, and nobody had ended it. The client ends with it, if the lock could be used.
func (p *lockProgram) endedByItself(how string) {
	why := &program.Ended{Command: p.m.Config().Program.Command, How: asInRealTime(how), Last: p.talk.Log.Last()}
	if !p.opened || !p.g.begun || p.failed != nil || p.g.parting {
		p.fail(why)
		return
	}
	p.over(why)
	p.m.ProgramEnded(why.How, why.Last)
}

// asInRealTime says how a program ended in the words that real time has for it.
func asInRealTime(how string) string {
	if how == "ended" {
		return "exit status 0"
	}
	return strings.TrimPrefix(strings.TrimPrefix(how, "ended with "), "ended by ")
}

// begin expects the answers to the first messages.
func (p *lockProgram) begin() {
	p.talk.Expect(func(m program.Message) {
		if err := p.talk.CheckReady(m); err != nil {
			p.fail(err)
			return
		}
		p.rest()
		p.booted = p.host.ReadMonotonic() - p.g.sup.Now()
		p.host.SetClocks(wallAtStart, p.host.Monotonic())
		p.g.whenTogether(func() { p.setUp(p.isOpen) })
	})
}

// isOpen: the lock can be used.
func (p *lockProgram) isOpen() {
	p.opened = true
	p.g.wakeReady()
	p.wakeWaiting()
}

// setUp tells the program what to lock. Its randomness begins anew, so that it does not matter what it has drawn before. then is called
// when it is ready.
func (p *lockProgram) setUp(then func()) {
	p.running.Reseed()
	p.setUpFrom(0, then)
}

// setUpFrom does so for its clients from the i-th on, one after the other.
func (p *lockProgram) setUpFrom(i int, then func()) {
	if i == len(p.clients) {
		then()
		return
	}
	setup, err := p.clients[i].setup()
	if err != nil {
		p.fail(err)
		return
	}
	p.talk.Expect(func(m program.Message) {
		if err := program.CheckSetUp(m); err != nil {
			p.fail(err)
			return
		}
		p.setUpFrom(i+1, then)
	})
	p.send(setup.Message())
}

// setup is what the program is told of a client.
func (p *programClient) setup() (program.Setup, error) {
	s := &p.g.spec
	m := client.SetupMessage{Client: p.name, Seed: s.Seed, Lock: p.m.ConfigOf(p.name), Modes: s.Modes, Points: s.Points,
		Replicated: s.Replicated, Clusters: s.Clusters()}
	if of := p.m.Process(); len(of) > 1 {
		m.Process = of
	}
	for _, name := range p.m.Nodes() {
		at := client.Address{Name: name, Address: p.g.addressOf(name)}
		switch {
		case s.Sentinel == nil:
			m.Nodes = append(m.Nodes, at)
		case p.g.isSentinel(name):
			m.Master, m.Sentinels = world.Primary, append(m.Sentinels, at)
		}
	}
	return m.ProgramSetup(p.talk.Ready.Points)
}

// addressOf is where clients find a node.
func (g *guests) addressOf(node string) string {
	if node == world.Primary {
		node = g.spec.Nodes[0].Name
	}
	return fmt.Sprintf("%s:%d", g.hosts[node], g.server(node).port())
}

func (p *lockProgram) send(m any) {
	line, err := json.Marshal(m)
	if err != nil {
		p.fail(fmt.Errorf("failed to write a message: %w", err))
		return
	}
	p.running.Write(append(line, '\n'))
}

// take deals with a line of the program.
func (p *lockProgram) take(line []byte) {
	if p.failed != nil {
		return
	}
	then, err := p.talk.Take(line, p.ownTimeAtMost())
	if err != nil {
		p.fail(err)
		return
	}
	then(func(m program.Message) { p.send(m) })
}

// ownTime is the time by which programs tell instants: CLOCK_MONOTONIC of their machine, as it would be without faults.
func (p *lockProgram) ownTime() time.Duration { return p.g.sup.Now() + p.booted }

// ownTimeAtMost is the last that its clock shows before the time goes on.
func (p *lockProgram) ownTimeAtMost() time.Duration { return p.ownTime() + supervisor.Step - 1 }

// runTime makes such a time one of the run, which has whole steps.
func (p *lockProgram) runTime(own time.Duration) time.Duration {
	return (own - p.booted - p.g.began).Truncate(supervisor.Step)
}

// fail ends the conversation. The run is then incomplete.
func (p *lockProgram) fail(err error) {
	if p.again {
		p.startAnother(err.Error())
		return
	}
	if p.failed == nil && p.g.begun {
		p.g.failures = append(p.g.failures, fmt.Errorf("client %s: %w", p.m.Client(), err))
	}
	p.over(err)
}

// over says why nothing more is asked of the program.
func (p *lockProgram) over(why error) {
	if p.failed != nil {
		return
	}
	p.failed, p.again = why, false
	p.g.wakeReady()
	p.wakeWaiting()
}

func (p *lockProgram) end(why error) {
	if p.over(why); p.stays {
		return
	}
	p.doubtful = true
	if p.running != nil {
		p.running.Kill()
	}
	p.host.Resume() // for the next one
}

func (p *lockProgram) wakeWaiting() {
	waiting := p.waiting
	p.waiting = nil
	for _, f := range waiting {
		f()
	}
}

// Ready implements virtual.Locks.
func (g *guests) Ready(then func(error)) {
	g.ready = then
	g.wakeReady()
}

// processes are the first clients of the processes, in their order.
func (g *guests) processes() (names []string) {
	for of := range slices.Chunk(g.spec.Clients, max(g.spec.PerProcess, 1)) {
		names = append(names, of[0])
	}
	return names
}

// wakeReady looks whether all locks are ready.
func (g *guests) wakeReady() {
	if g.ready == nil {
		return
	}
	var err error
	for _, name := range g.processes() {
		p := g.clients[name]
		if p == nil || !p.opened && p.failed == nil {
			return
		}
		if p.failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, p.failed))
		}
	}
	then := g.ready
	g.ready = nil
	then(err)
}

// dial opens a connection of the program to a host.
func (p *lockProgram) dial(l *line) error {
	i := slices.IndexFunc(p.m.Nodes(), func(name string) bool { return p.g.addressOf(name) == l.conn.To.String() })
	if i < 0 {
		return errNowhere
	}
	l.of = p
	p.m.Do(func() {
		conn := p.m.Dial(i, l)
		split := splitter{plain: p.g.spec.LockStore != ""}
		l.send = func(b []byte) {
			if commands, whole := split.take(b); len(whole) > 0 {
				conn.Send(commands, whole)
			}
		}
		l.close = conn.Close
	})
	return nil
}

// ask sends a request, and lets the client's own activity stand until its answer is there.
func (p *programClient) ask(m program.Message) (a program.Answer, err error) {
	answered := false
	if len(p.clients) > 1 {
		m.Client = p.name
	}
	for !p.opened && p.failed == nil {
		p.m.Stand(func(wake func()) { p.waiting = append(p.waiting, wake) })
	}
	if p.failed != nil {
		return a, p.failed
	}
	p.m.Stand(func(wake func()) {
		sent := p.ownTime()
		p.waiting = append(p.waiting, wake)
		p.talk.Ask(&m, func(got program.Message) {
			answered = true
			if a, err = program.AnswerTo(m, got, sent, p.ownTimeAtMost()); err != nil {
				p.fail(err)
			}
			until := p.runTime(a.From + a.Validity)
			// A library that renews may go on with what nobody knows to be a lock.
			p.doubtful = p.doubtful || got.Type == program.Unknown && p.talk.Ready.Has(program.Renews)
			a.From = p.runTime(a.From)
			a.Validity = until - a.From
			p.wakeWaiting()
		})
		p.send(m)
	})
	for !answered && p.failed == nil { // another client of the process was answered
		p.m.Stand(func(wake func()) { p.waiting = append(p.waiting, wake) })
	}
	if !answered && err == nil {
		err = p.failed
	}
	return a, err
}

// Acquire implements lock.Lock.
func (p *programClient) Acquire() (lock.Grant, lock.Result) { return p.Upgrade(lock.Grant{}) }

// Upgrade implements lock.Upgrader. Without a reader's grant it asks for the lock.
func (p *programClient) Upgrade(reader lock.Grant) (lock.Grant, lock.Result) {
	if p.m.Cancelled(p.name) { // before it was asked
		return lock.Grant{}, lock.Result{Outcome: lock.Fail, Err: "cancelled"}
	}
	ms := program.MS(max(p.wait, program.MinWait))
	a, err := p.ask(program.Message{Type: program.AcquireType, WaitMS: &ms, Upgrades: reader.ID})
	result := client.ProgramResult(a, err, program.Acquired)
	if result.Outcome != lock.OK {
		return lock.Grant{}, result
	}
	return p.grant.Acquired(a), result
}

// Cancel implements lock.Canceller.
func (p *programClient) Cancel() {
	named := ""
	if len(p.clients) > 1 {
		named = p.name
	}
	if m, open := p.talk.Cancel(named); open && p.failed == nil {
		p.send(m)
	}
}

// Extend implements lock.Extender.
func (p *programClient) Extend(g lock.Grant) (lock.Grant, lock.Result) {
	a, err := p.ask(program.Message{Type: program.ExtendType, Grant: g.ID})
	return p.grant.Extended(g, a), client.ProgramResult(a, err, program.Extended)
}

// Release implements lock.Lock.
func (p *programClient) Release(g lock.Grant) lock.Result {
	a, err := p.ask(program.Message{Type: program.ReleaseType, Grant: g.ID})
	return client.ProgramResult(a, err, program.Released)
}

// Forget implements lock.Forgetter. A program that cannot say that it drops a grant need not hear of it. One that renews may go on with
// what it was to drop, and is not used again.
func (p *programClient) Forget(g lock.Grant) lock.Result {
	if !p.talk.Ready.Has(program.Forgets) {
		return lock.Result{Outcome: lock.OK}
	}
	p.doubtful = p.doubtful || p.talk.Ready.Has(program.Renews)
	a, err := p.ask(program.Message{Type: program.ForgetType, Grant: g.ID})
	return client.ProgramResult(a, err, program.Forgotten)
}

// Remaining implements lock.Lock.
func (p *programClient) Remaining(g lock.Grant) time.Duration { return p.grant.Remaining(g, p.m.Now()) }

// Lost implements client.Loser.
func (p *programClient) Lost(g lock.Grant) bool { return p.grant.IsLost(g) }

// programEvents are what the program says by itself.
type programEvents struct{ p *lockProgram }

// Renewed implements program.Events.
func (e programEvents) Renewed(name string, grant uint64, until time.Duration) {
	c := e.p.client(name)
	if g, counts := c.grant.Renewed(grant, e.p.runTime(until)); counts {
		e.p.m.Renewed(c.name, g.Owner, g.Until)
	}
}

// Lost implements program.Events.
func (e programEvents) Lost(name string, grant uint64, last, at time.Duration, why string) {
	c := e.p.client(name)
	if owner, counts := c.grant.Lost(grant); counts {
		told := e.p.runTime(at)
		e.p.m.LostAt(c.name, owner, told, told-e.p.runTime(last), why)
	}
}

// AtPoint implements program.Events.
func (e programEvents) AtPoint(name, point string, done func()) {
	e.p.m.AtPoint(e.p.client(name).name, point, done)
}

// rarelyCollects lets programs in Go collect garbage only when they have much of it. They would do it in the middle of some run, in which
// their threads then go on in another order than in one that has just started.
var rarelyCollects = []string{"GOGC=off", "GOMEMLIMIT=256MiB"}

// lockCommand is what is started as the lock program of a client. Its environment is that of this process but for what differs from one
// terminal to another, and what would make runs differ.
func lockCommand(scratch, client string, command, more []string) (c supervisor.Command, err error) {
	c.Path, err = exec.LookPath(command[0])
	if err == nil {
		c.Path, err = filepath.Abs(c.Path)
	}
	if err != nil {
		return c, fmt.Errorf("failed to find the lock program: %w", err)
	}
	dir, err := folderIn(homes(scratch, 0), client)
	c.Args, c.Env = command[1:], environ(append(os.Environ(), rarelyCollects...), dir, more)
	return c, err
}
