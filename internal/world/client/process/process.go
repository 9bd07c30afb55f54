package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Serve speaks the protocol until in ends. It returns an error where the other
// side broke the protocol. log takes what a lock program prints.
func Serve(in io.Reader, out, log io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), client.MaxMessage)
	for encoder := json.NewEncoder(out); ; {
		p := &process{out: encoder, log: log, closing: make(chan struct{})}
		err := p.run(lines)
		if !errors.Is(err, errRest) {
			return err
		}
		if err := encoder.Encode(client.Message{Type: client.Rested}); err != nil {
			return err
		}
	}
}

// errRest says that the run is over, and another one may come.
var errRest = errors.New("the run is over")

// run is the conversation of one run.
func (p *process) run(lines *bufio.Scanner) error {
	setup, err := p.begin(lines)
	if errors.Is(err, io.EOF) {
		return nil
	}
	defer func() { p.close(errors.Is(err, errRest)) }()
	if err == nil {
		err = p.open(setup)
	}
	if err == nil {
		err = p.loop(lines)
	}
	if err != nil && !errors.Is(err, errRest) {
		_ = p.send(failed(err))
	}
	return err
}

// failed says why a client gives up.
func failed(err error) client.Message {
	m := client.Message{Type: client.Failed, Error: err.Error()}
	if late := (*machine.OutOfTime)(nil); errors.As(err, &late) {
		m.OutOfTime = late.Within
	}
	if refused := (*program.UnsupportedError)(nil); errors.As(err, &refused) {
		m.Unsupported = refused.Why
	}
	return m
}

// process is this end of the conversation: one client or several, which share the process.
type process struct {
	mu  sync.Mutex // guards out
	out *json.Encoder
	// over: nothing more is to be said.
	over bool
	log  io.Writer
	// clients are in the order in which they were set up. memory is what their locks have in common, program the lock program that is the
	// lock of all of them; nil: there is none.
	clients []*server
	memory  lock.Process
	program *sharedProgram
	// closing is closed when the conversation has ended.
	closing chan struct{}
}

// server is one client.
type server struct {
	*process
	// name is the client's in messages; empty: it is the first one.
	name  string
	env   *env
	agent *client.Agent

	stops stops // points and background operations
}

// stops are the places where the other side lets somebody go on, by their IDs.
type stops struct {
	last    atomic.Uint64
	mu      sync.Mutex
	waiting map[uint64]chan struct{}
}

// wait reports under a new ID, and waits there.
func (s *stops) wait(report func(id uint64) error) uint64 {
	id, gone := s.last.Add(1), make(chan struct{})
	s.mu.Lock()
	if s.waiting == nil {
		s.waiting = make(map[uint64]chan struct{})
	}
	s.waiting[id] = gone
	s.mu.Unlock()
	if report(id) == nil {
		<-gone
	}
	return id
}

// releaseAll lets everybody go on.
func (s *stops) releaseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, gone := range s.waiting {
		close(gone)
		delete(s.waiting, id)
	}
}

func (s *stops) release(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone, ok := s.waiting[id]; ok {
		close(gone)
		delete(s.waiting, id)
	}
}

// close ends the lock and all connections. rest: at once, and who stands at a point need not.
func (p *process) close(rest bool) {
	close(p.closing)
	p.mu.Lock()
	p.over = rest
	p.mu.Unlock()
	if p.program != nil && p.program.Program != nil {
		if rest {
			p.program.Kill()
		}
		p.program.Close()
		machine.KillOrphans() // what it has left behind
	}
	for _, s := range p.clients {
		if s.env != nil {
			s.env.close()
		}
		if rest {
			s.stops.releaseAll()
		}
	}
}

// begin reads the setup message.
func (p *process) begin(lines *bufio.Scanner) (*client.SetupMessage, error) {
	m := client.Message{Type: client.Go} // of the run before
	for m.Type == client.Go {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		m = client.Message{}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("failed to read the setup message: %w", err)
		}
	}
	if m.Type != client.Setup || m.Setup == nil {
		return nil, fmt.Errorf("the first message is %q: want %q", m.Type, client.Setup)
	}
	if m.Setup.Protocol != client.ProtocolVersion {
		return nil, fmt.Errorf("protocol version %d: this client speaks %d", m.Setup.Protocol, client.ProtocolVersion)
	}
	return m.Setup, nil
}

// open lets a client begin, and says that it is ready.
func (p *process) open(setup *client.SetupMessage) error {
	s := &server{process: p}
	if len(p.clients) > 0 {
		s.name = setup.Client
	}
	p.clients = append(p.clients, s)
	if err := s.open(setup); err != nil {
		return err
	}
	return s.send(client.Message{Type: client.Ready, Protocol: client.ProtocolVersion})
}

func (s *server) open(setup *client.SetupMessage) error {
	e, err := newEnv(setup, s)
	if err != nil {
		return err
	}
	s.env = e
	made, err := s.lock(setup)
	if err != nil {
		return err
	}
	s.agent = client.NewAgent(s.env, made, s.env.store, setup.Resource, machine.Monotonic)
	s.env.warmUp(setup.Lock.Pooled())
	return nil
}

// lock is the lock on trial.
func (s *server) lock(setup *client.SetupMessage) (lock.Lock, error) {
	if setup.Lock.Program == nil {
		return lock.New(setup.Lock, s.env)
	}
	if s.program != nil {
		return s.program.join(setup, s)
	}
	l, err := startProgram(setup, s)
	if err != nil {
		return nil, err
	}
	s.program = l.sharedProgram
	go func() {
		err := l.Err()
		select {
		case <-s.closing:
			return
		default:
		}
		m := failed(err)
		if ended := (*program.Ended)(nil); errors.As(err, &ended) && !ended.Closed {
			m = client.Message{Type: client.Ended, Error: ended.How, Printed: ended.Last}
		}
		_ = s.send(m)
	}()
	return l, nil
}

// named is a client by its name in messages; nil: there is none.
func (p *process) named(name string) *server {
	for _, s := range p.clients {
		if s.name == name {
			return s
		}
	}
	return nil
}

// loop handles messages until the input ends. Requests come one at a time, so
// they run beside the loop, which must go on reading for the Go messages.
func (p *process) loop(lines *bufio.Scanner) error {
	for lines.Scan() {
		var m client.Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("failed to read a message: %w", err)
		}
		s := p.named(m.Client)
		if s == nil {
			return fmt.Errorf("the message %q is for the client %q, which is not here", m.Type, m.Client)
		}
		switch m.Type {
		case client.Setup:
			if m.Setup == nil || !m.Setup.Joins() {
				return errors.New("a setup that is not of another client of the run")
			}
			if err := p.open(m.Setup); err != nil {
				return err
			}
		case client.Ask:
			if m.Request == nil {
				return errors.New("a request message without a request")
			}
			if m.Request.F == history.Acquire {
				s.env.begin(m.ID)
			}
			go s.answer(m.ID, *m.Request)
		case client.Cancel:
			if s.env.cancel(m.ID) {
				s.agent.Cancel()
			}
		case client.Rest:
			return errRest
		case client.Go:
			s.stops.release(m.ID)
		case client.SetClock:
			if m.Clock == nil {
				return errors.New("a clock message without a clock")
			}
			for _, s := range p.clients {
				s.env.set(*m.Clock)
			}
			_ = s.send(client.Message{Type: client.ClockSet, ID: m.ID})
		default:
			return fmt.Errorf("unexpected message %q", m.Type)
		}
	}
	return lines.Err()
}

func (s *server) answer(id uint64, r client.Request) {
	a := s.agent.Do(r)
	if r.F == history.Acquire {
		s.env.end(id)
	}
	if s.program != nil && a.Type == history.Info {
		select {
		case <-s.program.Broken(): // the conversation is over, and says why
			return
		default:
		}
	}
	_ = s.send(client.Message{Type: client.Answered, ID: id, Answer: &a, Monotonic: int64(a.Instant)})
}

// report sends a message under a new ID and waits for its Go.
func (s *server) report(m client.Message) uint64 {
	return s.stops.wait(func(id uint64) error {
		m.ID = id
		return s.send(m)
	})
}

// background reports an operation of the client's own.
func (s *server) background(op lock.Operation, do func() (lock.Grant, lock.Result), remaining func(lock.Grant) time.Duration) {
	id := s.report(client.Message{Type: client.Invoked, Operation: string(op)})
	g, result := do()
	a := client.AnswerOf(result)
	m := client.Message{Type: client.Completed, ID: id, Operation: string(op), Answer: &a}
	if a.Value.Owner = g.Owner; result.Outcome == lock.OK {
		m.Monotonic = int64(machine.Monotonic()) // before the validity: a pause must not lengthen it
		a.Value.Grant = &history.Grant{Validity: history.Some(int64(remaining(g)))}
	}
	_ = s.send(m)
}

func (s *server) send(m client.Message) error {
	m.Client = s.name
	return s.process.send(m)
}

func (p *process) send(m client.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return errRest
	}
	return p.out.Encode(m)
}
