package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// ServeLock is one of our locks as a lock program: it speaks the lock protocol until in
// ends, and says of itself what is ready. Of the settings, the algorithm and the mistakes hold
// whatever the other side says; the rest where it says nothing. obey: the other side may name
// mistakes, too.
func ServeLock(in io.Reader, out io.Writer, ready program.Ready, settings lock.Config, obey bool) error {
	algorithm, ok := lock.Lookup(settings.Algorithm)
	if !ok {
		return fmt.Errorf("no lock algorithm %q", settings.Algorithm)
	}
	if settings.NeedsConsensus() {
		return fmt.Errorf("%s is kept in a consensus store, and a lock program is told of nodes only", algorithm.Name)
	}
	p := &servedProgram{algorithm: algorithm, settings: settings, obey: obey, out: json.NewEncoder(out), named: make(map[string]uint64)}
	p.known.L = &p.mu
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), program.MaxLine+1)
	err := p.converse(lines, ready)
	if err != nil {
		_ = p.send(program.Message{Type: program.Error, Why: err.Error()})
	}
	for _, s := range p.clients {
		if s.env != nil {
			s.env.close()
		}
	}
	return err
}

// servedProgram is the program's end of the conversation.
type servedProgram struct {
	algorithm lock.Algorithm
	settings  lock.Config
	obey      bool
	stops     stops
	// clients are in the order in which they were set up. memory is what their locks have in common.
	clients []*servedLock
	memory  lock.Process

	mu  sync.Mutex // guards out and named
	out *json.Encoder
	// named has the latest grant of each owner; known tells that there is another. Those
	// of the past stay: a watchdog may go on renewing them by mistake.
	named map[string]uint64
	known sync.Cond
}

// servedLock is the lock of a client.
type servedLock struct {
	*servedProgram
	name   string
	config lock.Config
	env    *servedEnv

	using  sync.Mutex // a lock's methods are called one at a time
	lock   lock.Lock
	grants map[uint64]lock.Grant
}

// incoming is a message to the program.
type incoming struct {
	program.Message
	setup program.Setup
}

func (p *servedProgram) converse(lines *bufio.Scanner, ready program.Ready) error {
	for _, want := range []struct {
		what program.Type
		do   func(*incoming) error
	}{{program.Hello, func(m *incoming) error { return p.greet(m, ready) }}, {program.SetupType, p.setUp}} {
		if !lines.Scan() {
			return lines.Err()
		}
		m, err := read(lines.Bytes())
		if err == nil && m.Type != want.what {
			err = fmt.Errorf("the message %q came instead of %q", m.Type, want.what)
		}
		if err == nil {
			err = want.do(m)
		}
		if err != nil {
			return err
		}
	}
	for lines.Scan() {
		m, err := read(lines.Bytes())
		if err == nil && m.Type == program.SetupType && m.setup.Joins() {
			err = p.setUp(m)
		} else if err == nil {
			err = p.clientOf(m).handle(m)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// clientOf is the client that a message is about. One that names none is about the first.
func (p *servedProgram) clientOf(m *incoming) *servedLock {
	for _, s := range p.clients {
		if s.name == m.Client {
			return s
		}
	}
	return p.clients[0]
}

func read(line []byte) (*incoming, error) {
	var m incoming
	if err := errors.Join(json.Unmarshal(line, &m.Message), json.Unmarshal(line, &m.setup)); err != nil {
		return nil, fmt.Errorf("failed to read a message: %w", err)
	}
	return &m, nil
}

func (p *servedProgram) greet(m *incoming, ready program.Ready) error {
	if !slices.Contains(m.Protocols, program.Version) {
		return fmt.Errorf("versions %v of the protocol are spoken: this lock speaks %d", m.Protocols, program.Version)
	}
	return p.send(struct {
		Type program.Type `json:"type"`
		program.Ready
	}{program.ReadyType, ready})
}

// addresses are those of servers that the other side names.
func addresses(servers []program.Node) []client.Address {
	list := make([]client.Address, len(servers))
	for i, n := range servers {
		list[i] = client.Address{Name: n.Name, Address: net.JoinHostPort(n.Host, strconv.Itoa(n.Port)),
			TLS: (*client.TLS)(n.TLS), Username: n.Username, Secret: n.Password}
	}
	return list
}

// setUp makes the lock of a client and opens its connections.
func (p *servedProgram) setUp(m *incoming) error {
	s := &servedLock{servedProgram: p, name: m.setup.Client, config: p.settings, grants: make(map[uint64]lock.Grant)}
	p.clients = append(p.clients, s)
	return s.setUp(m)
}

func (s *servedLock) setUp(m *incoming) error {
	consensus, err := s.configure(&m.setup.Lock)
	if err != nil {
		return err
	}
	s.config.Busy = program.Duration(m.setup.BusyMS)
	// The links name what a program connects.
	common, err := newCommonEnv(m.setup.Client, "", m.setup.Seed, addresses(m.setup.Nodes), &s.memory)
	if err != nil {
		return err
	}
	if len(m.setup.Sentinels) > 0 {
		common.addPrimary("", m.setup.Master, addresses(m.setup.Sentinels))
	}
	s.env = &servedEnv{commonEnv: common, lock: s, armed: m.setup.Points}
	if s.config.NeedsConsensus() {
		if s.env.consensus, err = openStore(m.setup.Client, *consensus, 0); err != nil {
			return err
		}
	}
	attempt := s.config
	attempt.Retry.Attempts, attempt.Mistakes.EnterUnheld = 1, false // acquire counts them, and gives up
	if s.lock, err = lock.New(attempt, s.env); err != nil {
		return err
	}
	s.env.warmUp(s.config.Pooled())
	if why := s.refusedBy(); why != "" {
		return s.send(program.Message{Type: program.Unsupported, Why: why})
	}
	return s.send(program.Message{Type: program.SetUp})
}

// refusedBy says why the lock cannot be on one of the servers; empty: it can, or they do not say what they are.
func (s *servedLock) refusedBy() string {
	if len(s.config.Needs()) == 0 {
		return ""
	}
	for _, n := range s.env.nodes {
		if n, is := n.(*node); is {
			if why := s.config.RefusedBy(n.server()); why != "" {
				return why
			}
		}
	}
	return ""
}

// configure makes the lock's settings those that were sent, and returns where its
// consensus store is, if there is one.
func (s *servedLock) configure(l *program.Lock) (consensus *client.Address, err error) {
	o := client.ProgramOptions{Config: s.config}
	if len(l.Options) > 0 {
		if err := json.Unmarshal(l.Options, &o); err != nil {
			return nil, fmt.Errorf("failed to read the lock's options: %w", err)
		}
	}
	c := o.Config
	c.Algorithm, c.Key = s.config.Algorithm, l.Key
	if !s.obey {
		c.Mistakes = lock.Mistakes{}
		if c.Tokens == lock.NodeCounterMax && s.config.Tokens != c.Tokens { // such tokens are a mistake, too
			c.Tokens = lock.QuorumCounter
		}
	}
	for _, rule := range s.config.Mistakes.Rules() {
		c.Mistakes.SwitchOff(rule)
	}
	c.TTL, c.NodeTimeout = l.TTL(), program.Duration(l.NodeTimeoutMS)
	if s.algorithm.StaysAtLeast {
		c.AtLeast = program.Duration(l.AtLeastMS)
	}
	if s.algorithm.Modes {
		c.Shared = l.Mode == program.Shared
	}
	if s.algorithm.Semaphore {
		c.Permits = max(l.Permits, 1)
	}
	if c.Tokens == "" {
		c.Tokens = s.algorithm.GrowingTokens()
	}
	if c.Mistakes.TokenFirst && c.Tokens == lock.QuorumCounter { // it comes with the grant
		c.Tokens = lock.SingleCounter
	}
	if c.NeedsConsensus() && o.Consensus == nil {
		return nil, fmt.Errorf("tokens %q come from a consensus store, and the options name none", c.Tokens)
	}
	s.config = c
	return o.Consensus, nil
}

// handle begins to answer a request.
func (s *servedLock) handle(m *incoming) error {
	if m.ID == 0 {
		return fmt.Errorf("the message %q has no id", m.Type)
	}
	if m.Type == program.AcquireType && m.WaitMS == nil {
		return errors.New(`the message "acquire" has no wait_ms`)
	}
	if m.Type == program.ExtendType && s.algorithm.Extends {
		go s.extend(m.ID, m.Grant)
		return nil
	}
	if m.Type == program.ForgetType && s.algorithm.Forgets() {
		go s.forget(m.ID, m.Grant)
		return nil
	}
	switch m.Type {
	case program.AcquireType:
		s.env.begin(m.ID)
		go s.acquire(m.ID, m.Upgrades, program.Duration(*m.WaitMS))
	case program.ReleaseType:
		go s.release(m.ID, m.Grant)
	case program.CancelType:
		s.env.cancel(m.ID)
	case program.Go:
		s.stops.release(m.ID)
	case program.ClocksType:
		wall, monotonic := program.MS(s.env.Wall()), program.MS(s.env.Now())
		return s.send(program.Message{Type: program.ClocksType, ID: m.ID, WallMS: &wall, MonotonicMS: &monotonic})
	default:
		return fmt.Errorf("unexpected message %q", m.Type)
	}
	return nil
}

// acquire makes attempts, none of which begins when the time to wait has passed. reader is a grant that is to be upgraded; 0: none.
func (s *servedLock) acquire(id, reader uint64, wait time.Duration) {
	defer s.env.end(id)
	began := machine.Monotonic()
	for n := 1; ; n++ {
		result, delay := s.attempt(id, reader, n)
		switch {
		case result.Outcome != lock.Fail, s.env.Cancelled():
		case result.Final || n >= s.config.Retry.Attempts || machine.Monotonic()-began+delay >= wait:
			result = s.giveUp(id, result)
		default:
			s.pass(delay, began+wait)
			continue
		}
		if result.Outcome != lock.OK {
			s.refuse(id, result)
			return
		}
		compute(s.config.Busy)
		return
	}
}

// refuse gives up the client's place among those who wait, and answers.
func (s *servedLock) refuse(id uint64, result lock.Result) {
	s.leave()
	_ = s.send(answer(id, result, ""))
}

// pass passes the time until the next attempt: the delay, or until the client is woken, which the end of its time does.
func (s *servedLock) pass(delay, end time.Duration) {
	if w, wakes := s.lock.(lock.Waker); wakes {
		w.Await(max(end-machine.Monotonic(), time.Millisecond))
		return
	}
	s.env.Wait(delay)
}

// leave gives up the client's place among those who wait.
func (s *servedLock) leave() {
	s.using.Lock()
	defer s.using.Unlock()
	if w, waits := s.lock.(lock.Waiter); waits {
		w.Leave()
	}
}

// giveUp ends an acquire whose last attempt failed. By mistake the client is told that it has the lock.
func (s *servedLock) giveUp(id uint64, last lock.Result) lock.Result {
	s.using.Lock()
	defer s.using.Unlock()
	g, result := s.config.GiveUp(s.env, last)
	if result.Outcome == lock.OK {
		s.acquired(id, g)
	}
	return result
}

// compute keeps a thread busy for a while.
func compute(long time.Duration) {
	for until := machine.Monotonic() + long; machine.Monotonic() < until; {
	}
}

// attempt makes the n-th attempt, and answers if it got the lock. Otherwise it says how
// long to wait for the next.
func (s *servedLock) attempt(id, reader uint64, n int) (result lock.Result, delay time.Duration) {
	s.using.Lock()
	defer s.using.Unlock()
	ask := s.lock.Acquire
	if w, waits := s.lock.(lock.Attempter); waits {
		ask = w.Attempt
	}
	if upgrader, is := s.lock.(lock.Upgrader); is && reader != 0 {
		ask = func() (lock.Grant, lock.Result) { return upgrader.Upgrade(s.grants[reader]) }
	}
	g, result := ask()
	if result.Outcome != lock.OK {
		return result, s.config.Retry.Wait(s.env, n)
	}
	s.acquired(id, g)
	return result, 0
}

// acquired tells of a grant. The caller holds using.
func (s *servedLock) acquired(id uint64, g lock.Grant) {
	s.grants[id] = g
	m := program.Message{Type: program.Acquired, ID: id, Owner: []byte(g.Owner)}
	if g.HasToken {
		m.Token = &g.Token
	}
	if !g.Forever {
		s.promise(&m, g, s.lock.Remaining)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(m)
	s.named[g.Owner] = id
	s.known.Broadcast()
}

// promise says how long a grant is still valid. The instant is read first: a pause
// between the two must not lengthen the promise.
func (s *servedLock) promise(m *program.Message, g lock.Grant, remaining func(lock.Grant) time.Duration) {
	m.AtNS = int64(machine.Monotonic())
	ms := program.MS(remaining(g))
	m.ValidityMS = &ms
}

func (s *servedLock) release(id, grant uint64) { s.end(id, grant, s.lock.Release, program.Released) }

func (s *servedLock) forget(id, grant uint64) {
	s.end(id, grant, s.lock.(lock.Forgetter).Forget, program.Forgotten)
}

// end ends a grant.
func (s *servedLock) end(id, grant uint64, how func(lock.Grant) lock.Result, done program.Type) {
	s.using.Lock()
	defer s.using.Unlock()
	g, ok := s.grants[grant]
	delete(s.grants, grant)
	result := lock.Result{Outcome: lock.Fail, Err: "there is no such grant"}
	if ok {
		result = how(g)
	}
	_ = s.send(answer(id, result, done))
}

func (s *servedLock) extend(id, grant uint64) {
	s.using.Lock()
	defer s.using.Unlock()
	g, ok := s.grants[grant]
	extender, is := s.lock.(lock.Extender)
	result := lock.Result{Outcome: lock.Fail, Err: "there is no such grant"}
	if ok && is {
		g, result = extender.Extend(g)
	}
	m := answer(id, result, program.Extended)
	if result.Outcome == lock.OK {
		s.grants[grant] = g
		s.promise(&m, g, s.lock.Remaining)
	}
	_ = s.send(m)
}

// answer tells a result in the words of the protocol.
func answer(id uint64, r lock.Result, ok program.Type) program.Message {
	m := program.Message{Type: program.Unknown, ID: id, Why: r.Err}
	if r.Outcome == lock.OK {
		m.Type = ok
	}
	if r.Outcome == lock.Fail {
		m.Type = program.Refused
	}
	return m
}

// renewed tells that a grant was renewed, once its acquire has been answered.
func (p *servedProgram) renewed(owner string, m program.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.named[owner] == 0 {
		p.known.Wait()
	}
	m.Grant = p.named[owner]
	_ = p.out.Encode(m)
}

func (p *servedProgram) send(m any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Encode(m)
}

// servedEnv is lock.Env for a lock program.
type servedEnv struct {
	*commonEnv
	lock  *servedLock
	armed []string
	// consensus is nil where the lock needs none.
	consensus store
}

var _ lock.Env = (*servedEnv)(nil)

func (e *servedEnv) Consensus() command.Node { return e.consensus }

func (e *servedEnv) close() {
	e.commonEnv.close()
	if e.consensus != nil {
		e.consensus.close()
	}
}

func (e *servedEnv) Point(name string) {
	if slices.Contains(e.armed, name) {
		e.lock.stops.wait(func(id uint64) error {
			return e.lock.send(program.Message{Type: program.Point, ID: id, Client: e.lock.name, Name: name})
		})
	}
}

func (e *servedEnv) Background(_ lock.Operation, do func() (lock.Grant, lock.Result), remaining func(lock.Grant) time.Duration) {
	g, result := do()
	if result.Outcome != lock.OK {
		return
	}
	m := program.Message{Type: program.Renewed}
	e.lock.promise(&m, g, remaining)
	e.lock.renewed(g.Owner, m)
}
