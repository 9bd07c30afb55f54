//go:build linux && amd64

package guests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Testbed has lock programs and servers in virtual time, without a run: whoever has it says what happens, and lets time pass. It is for
// one goroutine, which is bound to its thread until Close.
type Testbed struct {
	ctx     context.Context //nolint:containedctx // of all that goes on
	sup     *supervisor.Supervisor
	scratch string
	hosts   map[string]*supervisor.Host
	// coming is what arrives later, in order; inbox what programs have said.
	coming []arrival
	inbox  []func()
	// asks are connections of our own, which take no time, with what came over them.
	asks    map[*supervisor.Conn]*[]byte
	lose    func(server string) bool
	ports   int
	servers []*TestbedServer
}

type arrival struct {
	at time.Duration
	do func()
}

// hop is how long what a program sends takes to another host.
const hop = 100 * time.Microsecond

// NewTestbed makes a testbed. All that is random comes from the seed.
func NewTestbed(ctx context.Context, seed uint64) (*Testbed, error) {
	b := &Testbed{ctx: ctx, hosts: make(map[string]*supervisor.Host), asks: make(map[*supervisor.Conn]*[]byte)}
	var err error
	if b.scratch, err = machine.Scratch(); err != nil {
		return nil, err
	}
	b.sup, err = supervisor.New(supervisor.Config{Seed: seed, Wall: wall, Network: testbedNetwork{b}, Done: ctx.Done()})
	if err != nil {
		return nil, errors.Join(err, machine.Discard(b.scratch))
	}
	return b, nil
}

// Close ends all programs.
func (b *Testbed) Close() error {
	b.sup.Close()
	for _, s := range b.servers {
		_ = s.log.Close()
	}
	return machine.Discard(b.scratch)
}

// Now is what programs read from CLOCK_MONOTONIC, Wall the time of day.
func (b *Testbed) Now() time.Duration  { return b.sup.Now() + supervisor.MonotonicAtStart }
func (b *Testbed) Wall() time.Duration { return b.sup.Now() + wall }

// Latest is the last that a program reads before time goes on: within a step its clocks are ahead.
func (b *Testbed) Latest() time.Duration { return b.Now() + supervisor.Step - 1 }

// Unknown is why what happens tells nothing; nil: it does.
func (b *Testbed) Unknown() error {
	if why := b.sup.Doubt(); why != "" {
		return &world.Unknown{Why: why}
	}
	return b.ctx.Err()
}

// Until lets time pass until a condition is true; false: it has not become true within some time.
func (b *Testbed) Until(within time.Duration, is func() bool) bool {
	for end := b.sup.Now() + within; !is(); {
		if b.sup.Now() >= end || b.Unknown() != nil {
			return false
		}
		b.step(end)
	}
	return true
}

// Sleep lets time pass.
func (b *Testbed) Sleep(d time.Duration) { b.Until(d, func() bool { return false }) }

// step lets time pass until something happens.
func (b *Testbed) step(end time.Duration) {
	next := end
	if len(b.coming) > 0 {
		next = min(next, b.coming[0].at)
	}
	b.sup.Run(next)
	for len(b.coming) > 0 && b.coming[0].at <= b.sup.Now() {
		do := b.coming[0].do
		b.coming = b.coming[1:]
		do()
	}
	said := b.inbox
	b.inbox = nil
	for _, do := range said {
		do()
	}
}

// settle lets all programs run until they wait, while time stands still.
func (b *Testbed) settle() { b.sup.Run(b.sup.Now()) }

// host is that of a name, in a subnet of its kind.
func (b *Testbed) host(name string, subnet byte) *supervisor.Host {
	if b.hosts[name] == nil {
		b.hosts[name] = b.sup.NewHost(name, [4]byte{127, 0, subnet, byte(len(b.hosts) + 1)})
	}
	return b.hosts[name]
}

// testbedNetwork carries what programs send to each other.
type testbedNetwork struct{ *Testbed }

var _ supervisor.Network = testbedNetwork{}

func (b testbedNetwork) later(do func()) { b.coming = append(b.coming, arrival{b.sup.Now() + hop, do}) }

// Dial implements supervisor.Network.
func (b testbedNetwork) Dial(c *supervisor.Conn) {
	b.later(func() {
		err := c.Connect()
		b.later(func() {
			if err != nil {
				c.Refuse()
			} else {
				c.Open()
			}
		})
	})
}

// Sent implements supervisor.Network.
func (b testbedNetwork) Sent(c *supervisor.Conn, end int, text []byte) {
	if answer := b.asks[c]; answer != nil {
		*answer = append(*answer, text...)
		return
	}
	text = slices.Clone(text)
	b.later(func() {
		if end == supervisor.Listener && b.loses(c) {
			c.Reset(supervisor.Opener)
			c.Reset(supervisor.Listener)
		} else if !c.Deliver(1-end, text) { // nobody is there any more
			b.later(func() { c.Reset(end) })
		}
	})
}

// LoseAnswers resets the connection in the place of an answer that is to be lost: lose says so, when it would arrive. nil: none is lost
// any more.
func (b *Testbed) LoseAnswers(lose func(server string) bool) { b.lose = lose }

// loses reports that what a server has sent over a connection is to be lost.
func (b *Testbed) loses(c *supervisor.Conn) bool {
	return b.lose != nil && slices.ContainsFunc(b.servers, func(s *TestbedServer) bool { return s.host.IP == c.To.IP && b.lose(s.Name) })
}

// Closed implements supervisor.Network.
func (b testbedNetwork) Closed(c *supervisor.Conn, end int, _ bool) {
	if b.asks[c] == nil {
		b.later(func() { c.Finish(1 - end) })
	}
}

// TestbedProgram is a lock program on a testbed.
type TestbedProgram struct {
	*supervisor.Program
	b    *Testbed
	host *supervisor.Host
}

// Heard are told what a program says, while time stands still.
type Heard struct {
	// Line gets each line of its standard output, Errors what it writes to standard error, Ended how it has ended.
	Line   func(line []byte)
	Errors func(text []byte)
	Ended  func(how string)
}

// Start starts a program on the host of a name. It may have run there before.
func (b *Testbed) Start(name string, command []string, h Heard) (*TestbedProgram, error) {
	c, err := lockCommand(b.scratch, name, command, nil)
	if err != nil {
		return nil, err
	}
	p := &TestbedProgram{b: b, host: b.host(name, 3)}
	later := func(do func()) { b.inbox = append(b.inbox, do) }
	c.Output = func(line []byte) { line = slices.Clone(line); later(func() { h.Line(line) }) }
	c.Errors = func(text []byte) { text = slices.Clone(text); later(func() { h.Errors(text) }) }
	c.Ended = func(how string) { later(func() { h.Ended(asInRealTime(how)) }) }
	if p.Program, err = p.host.Start(c); err != nil {
		return nil, fmt.Errorf("failed to start the lock program: %w", err)
	}
	return p, nil
}

// MoveWall moves the time of day that the program's host shows.
func (p *TestbedProgram) MoveWall(by time.Duration) {
	c := p.host.Wall()
	c.Base += int64(by)
	p.host.SetClocks(c, p.host.Monotonic())
}

// TestbedServer is a real server on a testbed.
type TestbedServer struct {
	Name string
	// Host and Port are where programs find it, Dir is where it keeps its data.
	Host string
	Port int
	Dir  string

	b       *Testbed
	host    *supervisor.Host
	log     *os.File
	path    string
	args    []string
	usable  func() bool
	running *supervisor.Program
	// prepare writes what it reads when it starts; nil: nothing.
	prepare func() error
}

// startWithin is how long a server may take to start.
const startWithin = 20 * time.Second

// StartRedis starts a server of Redis. Its log goes into a folder.
func (b *Testbed) StartRedis(name, path, logs string) (*TestbedServer, error) {
	s, err := b.server(name, path, logs, redisPort)
	if err != nil {
		return nil, err
	}
	s.args = append(redisArguments(s.host, s.Dir, "yes", "no"), "--save", "")
	s.usable = func() bool { return true }
	return s, s.Start()
}

// StartStore starts a server on which a lock program keeps its lock elsewhere, from what Options.Stores would name.
func (b *Testbed) StartStore(store client.StoreKind, name, from, logs string) (*TestbedServer, error) {
	kind := storeKinds[store]
	s, err := b.server(name, "", logs, kind.port)
	if err != nil {
		return nil, err
	}
	s.path, s.args = kind.command(from, s.host, s.Dir)
	if kind.prepare != nil {
		s.prepare = func() error { return kind.prepare(s.host, s.Dir) }
	}
	s.usable = func() bool { return kind.version(s.ask) != "" }
	return s, s.Start()
}

func (b *Testbed) server(name, path, logs string, port int) (s *TestbedServer, err error) {
	host := b.host(name, 1)
	s = &TestbedServer{Name: name, Host: host.String(), Port: port, b: b, host: host, path: path}
	if s.Dir, err = folderIn(homes(b.scratch, 0), name); err != nil {
		return nil, err
	}
	s.log, err = os.OpenFile(filepath.Join(logs, "node-"+name+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("failed to write a log: %w", err)
	}
	b.servers = append(b.servers, s)
	return s, nil
}

// Start starts it, without data. It can be used then.
func (s *TestbedServer) Start() (err error) {
	if err := wipe(s.Dir); err != nil {
		return err
	}
	if s.prepare != nil {
		if err := s.prepare(); err != nil {
			return err
		}
	}
	s.running, err = s.host.Start(supervisor.Command{Path: s.path, Args: s.args, Dir: s.Dir, Env: environ(nil, s.Dir, nil),
		Output: func(line []byte) { _, _ = s.log.Write(append(line, '\n')) },
		Errors: func(text []byte) { _, _ = s.log.Write(text) }})
	if err != nil {
		return fmt.Errorf("failed to start the server of node %s: %w", s.Name, err)
	}
	is := s.b.Until(startWithin, func() bool { return s.Dead() || s.host.Listens(s.Port) && s.usable() })
	switch err := s.b.Unknown(); {
	case err != nil:
		return err
	case s.Dead():
		return fmt.Errorf("the server of node %s ended while it started", s.Name)
	case !is:
		return fmt.Errorf("the server of node %s was not ready within %v", s.Name, startWithin)
	}
	return nil
}

// Kill ends it at once. Dead reports that it does not run.
func (s *TestbedServer) Kill()      { s.running.Kill() }
func (s *TestbedServer) Dead() bool { return s.running.HasEnded() }

// Do carries out commands of Redis, one after the other while time stands still. What one of them cannot do is an error among the answers.
func (s *TestbedServer) Do(commands [][]string) (answers []any, err error) {
	if answers, err = answersTo(s.ask, commands...); err != nil {
		return nil, errors.Join(s.b.Unknown(), fmt.Errorf("node %s: %w", s.Name, err))
	}
	return answers, nil
}

// ask sends something while time stands still, and returns what is answered at once.
func (s *TestbedServer) ask(text []byte) (answer []byte, err error) {
	s.b.ports++
	c := s.b.sup.NewConn("sim", supervisor.Address{IP: [4]byte{127, 0, 0, 2}, Port: 10_000 + s.b.ports%50_000},
		supervisor.Address{IP: s.host.IP, Port: s.Port})
	if err := c.Connect(); err != nil {
		return nil, err
	}
	s.b.asks[c] = &answer
	c.Deliver(supervisor.Listener, text)
	s.b.settle()
	c.Finish(supervisor.Listener)
	c.Reset(supervisor.Listener)
	s.b.settle()
	delete(s.b.asks, c)
	return answer, nil
}
