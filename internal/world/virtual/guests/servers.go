//go:build linux && amd64

package guests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// server is a real server on a node, as far as servers of all kinds are the same.
type server struct {
	kind
	g       *guests
	h       *virtual.Host
	host    *supervisor.Host
	dir     string
	file    *os.File
	running *supervisor.Program
	// life counts its processes, those that were killed twice.
	life int
	// ready is called when it can be used; nil: nobody waits for that.
	ready func(error)
	// ran is how often its host had run when its journal was read last.
	ran uint64
	// boot is how its first process started. doubtful: more has happened to it than what is undone between two runs. paused: it stands.
	boot             boot
	doubtful, paused bool
}

// kind is what a kind of server differs in from others.
type kind interface {
	// command is the program, with its arguments. port is where clients find it.
	command() (path string, args []string)
	port() int
	// prepareDisk leaves on the disk what a crash leaves.
	prepareDisk(keep world.Keep) error
	// said takes in a line that it writes.
	said(line string)
	// usable reports that a server that listens can be used. It is asked again when the server has run.
	usable() bool
	// started takes in what it has found when it started.
	started() error
	// step takes in what commands did that came over a connection, own what the server did by itself; closed: the connection is over.
	step(c *virtual.ServerConn, number uint64, commands [][]string) error
	own() error
	closed(number uint64)
	// Follow makes it the replica of another host; inStep reports that it has what that one has.
	Follow(primary string)
	inStep() bool
	// wipe removes all of its keys, evict those that have a TTL, limit lets it refuse what takes memory, or no more.
	wipeKeys() error
	evictKeys() error
	limit(full bool) error
	// tidy undoes all that a run has done to it; an error says why it cannot be used again.
	tidy() error
	// quiet reports that nothing that it does by the clock matters to the run.
	quiet() bool
	// version is under which name the result tells which version of what it is.
	version() (name, version string)
	close()
}

var _ virtual.Server = (*server)(nil)

// Server implements virtual.Servers.
func (g *guests) Server(h *virtual.Host) (virtual.Server, error) {
	s := &server{g: g, h: h, host: g.hosts[h.Name()]}
	var err error
	if s.dir, err = g.folder(h.Name()); err != nil {
		return nil, err
	}
	if s.file, err = g.log("node-" + h.Name()); err != nil {
		return nil, err
	}
	switch {
	case g.isSentinel(h.Name()):
		s.kind = &sentinelServer{s}
	case s.isStore():
		s.kind = &lockStore{server: s, storeKind: storeKinds[g.spec.LockStore], from: g.o.Stores[g.spec.LockStore]}
	default:
		redis := &redisServer{server: s, follows: h.Follows()}
		if g.spec.Cluster != nil && h.Name() != history.ResourceProcess {
			redis.shard = &shard{s: redis, shape: g.spec.Shape(h.Name())}
		}
		s.kind = redis
	}
	g.servers = append(g.servers, s)
	return s, nil
}

// isStore reports that a lock program keeps its lock there, and it is no server of Redis.
func (s *server) isStore() bool {
	return s.g.spec.LockStore != "" && s.h.Name() != history.ResourceProcess
}

// record records something that it did, once the run has begun.
func (s *server) record(e history.Event) {
	e.Process, e.Type = s.h.Name(), history.Info
	if s.g.record != nil {
		s.g.record(e)
	}
}

// keepFile leaves a file that the server syncs itself, and does something to the rest of its disk. The first process finds it as first has
// it.
func (s *server) keepFile(name string, first func() []byte, rest func() error) error {
	path := filepath.Join(s.dir, name)
	file, err := os.ReadFile(path)
	if s.life == 0 {
		file, err = first(), nil
	}
	if err := errors.Join(err, rest()); err != nil {
		return err
	}
	return os.WriteFile(path, file, 0o600) //nolint:gosec // in a folder of the run's own
}

// wipe empties its disk.
func (s *server) wipe() error { return wipe(s.dir) }

func wipe(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// server finds one by the name of its host; nil: there is none.
func (g *guests) server(name string) *server {
	i := slices.IndexFunc(g.servers, func(s *server) bool { return s.h.Name() == name })
	if i < 0 {
		return nil
	}
	return g.servers[i]
}

// Start implements virtual.Server.
func (s *server) Start(keep world.Keep, ready func(error)) {
	if s.life == 0 {
		if left, kept := s.g.site().standing[s.h.Name()]; kept {
			s.goOn(left, ready)
			return
		}
		s.host.SetClocks(s.host.Wall(), supervisor.Clock{Base: int64(supervisor.MonotonicAtStart), Rate: 1})
	}
	if err := s.prepareDisk(keep); err != nil {
		ready(err)
		return
	}
	s.life++
	s.ready = ready
	s.launch()
}

// launch starts a process.
func (s *server) launch() {
	s.host.Quiet(false)
	path, args := s.command()
	c := s.outputs()
	c.Path, c.Args, c.Dir, c.Env, c.Lacks = path, args, s.dir, environ(nil, s.dir, steadyMemory), noStatus
	began := s.g.sup.Now()
	var err error
	if s.running, err = s.host.Start(c); err != nil {
		s.begun(fmt.Errorf("failed to start the server of node %s: %w", s.h.Name(), err))
		return
	}
	if s.life == 1 {
		s.boot.took = s.g.sup.Now() - began
		s.boot.goesOn, _ = s.running.GoesOnIn()
	}
	s.lookForStart()
}

// noStatus: a server of Redis reads its own status ten times a second, for how much memory it has, and each process that it forks for a
// copy of its data reads its maps in some 100 pieces. That would be a tenth of a run's time.
var noStatus = []string{"/proc/self/stat", "/proc/self/smaps"}

// steadyMemory lets jemalloc give no memory back after a while, for which it would read the clock each time that it has been asked for
// memory some 1000 times. What it was asked for in runs before would be seen in the times of this one.
var steadyMemory = []string{"MALLOC_CONF=" + noDecay, "JE_MALLOC_CONF=" + noDecay}

const noDecay = "dirty_decay_ms:-1,muzzy_decay_ms:-1"

// outputs are where goes what a process says.
func (s *server) outputs() supervisor.Command {
	life := s.life
	return supervisor.Command{
		Output: func(line []byte) {
			s.said(string(line))
			_, _ = s.file.Write(append(line, '\n'))
		},
		Errors: func(text []byte) { _, _ = s.file.Write(text) },
		Ended:  func(how string) { s.g.want(func() { s.ended(life, how) }) }}
}

// ended tells that a process has ended by itself.
func (s *server) ended(life int, how string) {
	switch {
	case life != s.life:
	case s.ready != nil && s.mends():
		s.launch()
	case s.ready != nil:
		s.begun(fmt.Errorf("the server of node %s ended while it started: %s", s.h.Name(), how))
	default:
		s.g.Unknown(fmt.Sprintf("the server of node %s %s, and no fault did that", s.h.Name(), how))
	}
}

// mends reports that a server that ended while it started can be started again: what was wrong with its disk has been mended.
func (s *server) mends() bool {
	redis, is := s.kind.(*redisServer)
	return is && redis.mend()
}

// begun tells that it has started, or why not.
func (s *server) begun(err error) {
	if then := s.ready; then != nil {
		s.ready = nil
		if err == nil {
			err = s.started()
		}
		if err == nil {
			s.host.Quiet(s.quiet())
			s.wasObserved()
		}
		then(err)
	}
}

// lookForStart looks whether it can be used.
func (s *server) lookForStart() {
	if s.ready == nil || s.running == nil || s.running.HasEnded() || !s.host.Listens(s.port()) || !s.usable() {
		return
	}
	life := s.life
	s.g.want(func() {
		if life == s.life {
			s.begun(nil)
		}
	})
}

// lookForOthers is how often somebody looks whether all servers have found each other, before a run.
const lookForOthers = 10 * virtual.LookEvery

// Settled implements virtual.Servers. Servers are asked at whole instants: at the same ones however long lock programs took to start, for
// to be asked is something that happens to a server.
func (g *guests) Settled() bool {
	each := virtual.LookEvery
	switch {
	case g.spec.Cluster != nil || g.spec.Sentinel != nil:
		each = lookForOthers
	case !g.spec.Replicated:
		return true
	}
	if g.sup.Now()%each != 0 || slices.ContainsFunc(g.servers, func(s *server) bool { return !s.inStep() }) {
		return false
	}
	for _, do := range g.apart {
		g.want(do)
	}
	g.together, g.apart = true, nil
	return true
}

// whenTogether does something once the sentinels, or the nodes of a cluster, have found each other: a client starts where they run.
func (g *guests) whenTogether(do func()) {
	if g.together || g.spec.Cluster == nil && g.spec.Sentinel == nil {
		do()
		return
	}
	g.apart = append(g.apart, do)
}

// ask sends the server something while time stands still, past the network of the world, and returns what it answers at once.
func (s *server) ask(b []byte) (answer []byte, err error) {
	l := &line{g: s.g, end: supervisor.Listener}
	l.conn = s.g.sup.NewConn("sim", supervisor.Address{IP: [4]byte{127, 0, 0, 2}, Port: s.g.nextPort()},
		supervisor.Address{IP: s.host.IP, Port: s.port()})
	if err := l.conn.Connect(); err != nil {
		return nil, err
	}
	l.direct = func(b []byte) { answer = append(answer, b...) }
	s.g.conns[l.conn] = l
	l.conn.Deliver(l.end, b)
	s.g.settle()
	delete(s.g.conns, l.conn)
	l.conn.Finish(l.end)
	l.conn.Reset(l.end)
	s.g.settle()
	return answer, nil
}

// Accept implements virtual.Server.
func (s *server) Accept(c *virtual.ServerConn) virtual.End {
	from := supervisor.Address{Port: s.g.nextPort()}
	if h := s.g.hosts[c.From()]; h != nil {
		from.IP = h.IP
	}
	port := s.port()
	if c.Port() != 0 {
		port = c.Port()
	}
	l := &line{g: s.g, end: supervisor.Listener, send: c.Send, close: c.Close}
	l.conn = s.g.sup.NewConn(c.From(), from, supervisor.Address{IP: s.host.IP, Port: port})
	e := &accepted{line: l, s: s, c: c, split: splitter{plain: s.isStore()}}
	if err := l.conn.Connect(); err != nil {
		s.g.want(c.Close)
		return e
	}
	s.g.conns[l.conn] = l
	return e
}

// nextPort is for connections that the world opens.
func (g *guests) nextPort() int {
	g.ports++
	return 10_000 + g.ports%50_000
}

// accepted is a connection that a server has taken. What comes over it is carried out at once, so that what it does to keys is known
// to be its own.
type accepted struct {
	*line
	s     *server
	c     *virtual.ServerConn
	split splitter
}

// Arrived implements virtual.End.
func (e *accepted) Arrived(b []byte) {
	s := e.s
	if s.running.HasEnded() {
		return
	}
	s.observe() // what it did by itself before
	commands, _ := e.split.take(b)
	s.doubtful = s.doubtful || e.split.plain || slices.ContainsFunc(commands, lasts)
	if redis, is := s.kind.(*redisServer); is {
		for _, words := range commands {
			redis.noteGiven(words)
		}
	}
	e.conn.Deliver(e.end, b)
	s.g.settle()
	s.ran = s.host.Ran()
	s.check(s.step(e.c, e.conn.Number, commands))
	s.wasObserved()
}

// Ended implements virtual.End.
func (e *accepted) Ended() { e.Broke(false) }

// Broke implements virtual.End.
func (e *accepted) Broke(bool) {
	e.over = true
	delete(e.g.conns, e.conn)
	e.s.closed(e.conn.Number)
	e.conn.Finish(e.end)
	e.conn.Reset(e.end)
}

// observe takes in what the server did by itself.
func (s *server) observe() {
	if ran := s.host.Ran(); ran != s.ran && s.running != nil && s.ready == nil {
		s.ran = ran
		s.check(s.own())
		s.wasObserved()
	}
}

// wasObserved lets a test ask the server.
func (s *server) wasObserved() {
	redis, is := s.kind.(*redisServer)
	if tell := s.g.o.observed; is && tell != nil {
		tell(s.h.Name(), redis.do)
		s.ran = s.host.Ran()
		s.check(s.own()) // to ask for a key that has run out removes it
	}
}

func (s *server) check(err error) {
	if err != nil {
		s.g.Unknown(fmt.Sprintf("the journal of node %s: %v", s.h.Name(), err))
	}
}

// observeOwn takes in what servers did by themselves while time passed.
func (g *guests) observeOwn() {
	for _, s := range g.servers {
		s.lookForStart()
		if ran := s.host.Ran(); ran != s.ran && s.ready == nil {
			g.inbox = slices.Insert(g.inbox, 0, s.observe) // before answers go on
		}
	}
}

// dial opens a connection of the server to another host.
func (s *server) dial(l *line, to string) error {
	c, err := s.h.Dial(to, l.conn.To.Port, l)
	if err != nil {
		return err
	}
	l.send, l.close = c.Send, c.Close
	return nil
}

// Versions implements virtual.Servers.
func (g *guests) Versions() map[string]string {
	all := make(map[string]string)
	for _, s := range g.servers {
		if name, version := s.version(); version != "" {
			all[name] = version
		}
	}
	return all
}

// Pause implements virtual.Server.
func (s *server) Pause() {
	s.paused = true
	s.host.Pause()
}

// Resume implements virtual.Server.
func (s *server) Resume() {
	s.paused = false
	s.host.Resume()
}

// Kill implements virtual.Server.
func (s *server) Kill() {
	s.observe()
	s.host.Resume()
	s.life++
	if s.running != nil {
		s.running.Kill()
	}
	if s.ready != nil {
		s.begun(fmt.Errorf("the server of node %s was killed while it started", s.h.Name()))
	}
}

// SetClock implements virtual.Server.
func (s *server) SetClock(c virtual.Clock) {
	s.doubtful = s.doubtful || s.life > 0
	s.host.SetClocks(s.g.clockOf(c), s.host.Monotonic())
}
