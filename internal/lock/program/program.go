package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Program is a lock program that runs.
type Program struct {
	Ready Ready

	command []string
	child   *machine.Child
	log     *Log
	on      Events
	trace   func(sent bool, line []byte)

	sendMu sync.Mutex
	in     *os.File

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]*call
	grants  map[uint64]*hold
	events  int
	why     error
	// broken is closed when the conversation has ended; why says how.
	broken chan struct{}
	// heard are the readers of its output; logged is closed when that of its standard error
	// has ended.
	heard  sync.WaitGroup
	logged chan struct{}
}

// Events are what a program says by itself, in its order. They are called one at a
// time; the program's next line waits until they return.
type Events interface {
	// Renewed: the program renewed the grant, which is valid until then on the machine's
	// clock.
	Renewed(grant uint64, until time.Duration)
	// Lost: the program saw that it has lost the grant: at an instant, or, where it told
	// none, between last, when it last spoke of the grant, and at.
	Lost(grant uint64, last, at time.Duration, why string)
	// AtPoint: the program stands at a point, and goes on when done is called.
	AtPoint(name string, done func())
}

// Options say how to start a program.
type Options struct {
	Command []string
	// Env is added to the environment.
	Env []string
	// Dir is where it runs; empty: here.
	Dir string
	// Log takes what it prints that is no message.
	Log *Log
	// Events takes what it says by itself; nil: nobody.
	Events Events
	// Trace sees each line of the conversation; nil: nobody.
	Trace func(sent bool, line []byte)
}

// call is a request whose answer has not come.
type call struct {
	// id is its own, grant that which it is about.
	id, grant uint64
	answer    chan Message
}

// hold is a grant that the program has not given back.
type hold struct {
	// last is when the program last spoke of it.
	last time.Duration
	lost bool
}

// Bounds of a program's life.
const (
	// ReadyWithin is how long it may take to say hello, and again to set up.
	ReadyWithin = 20 * time.Second
	// EndWithin is how long it may go on after its input has ended.
	EndWithin = time.Second
	// maxEvents is how much it may say by itself.
	maxEvents = 100_000
	// killWithin is how long a container may take to end.
	killWithin = 5 * time.Second
)

// Start starts a program and greets it. What is wrong with it is an *Ended or says
// which line broke the protocol.
func Start(ctx context.Context, o Options) (*Program, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("no lock program is named")
	}
	p := &Program{command: o.Command, log: o.Log, on: o.Events, trace: o.Trace,
		waiting: make(map[uint64]*call), grants: make(map[uint64]*hold), broken: make(chan struct{}), logged: make(chan struct{})}
	if p.log == nil {
		p.log = NewLog(io.Discard)
	}
	if err := p.start(o); err != nil {
		return nil, err
	}
	if err := p.greet(ctx); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

func (p *Program) start(o Options) error {
	cmd, err := o.Process()
	if err != nil {
		return err
	}
	var ours, its [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("failed to make a pipe: %w", err)
		}
		if ours[i], its[i] = r, w; i == 0 {
			ours[i], its[i] = w, r
		}
		defer func() { _ = its[i].Close() }()
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = its[0], its[1], its[2]
	child, err := machine.Start("the lock program "+strings.Join(o.Command, " "), cmd)
	if err != nil {
		for _, f := range ours {
			_ = f.Close()
		}
		return err
	}
	p.child, p.in = child, ours[0]
	go func() { // a process that it has started may hold its output open
		<-child.Gone
		for _, f := range ours[1:] {
			_ = f.SetReadDeadline(time.Now().Add(EndWithin))
		}
	}()
	p.heard.Go(func() { p.read(ours[1]) })
	p.heard.Go(func() {
		defer close(p.logged)
		defer func() { _ = ours[2].Close() }()
		p.log.copy(ours[2])
	})
	return nil
}

func (p *Program) greet(ctx context.Context) error {
	raw, err := p.exchange(ctx, &call{}, Message{Type: Hello, Protocols: []int{Version}}, ReadyWithin)
	if err != nil {
		return err
	}
	if raw.Type != ReadyType {
		return fmt.Errorf("the lock program answered %q to %q: want %q", raw.Type, Hello, ReadyType)
	}
	if err := p.Ready.check(); err != nil {
		return fmt.Errorf("the lock program cannot be used: %w", err)
	}
	return nil
}

// Setup tells the program what to lock, and waits until it has set up.
func (p *Program) Setup(ctx context.Context, s Setup) error {
	if s.Nodes == nil {
		s.Nodes = []Node{}
	}
	if s.Sentinels == nil {
		s.Sentinels = []Node{}
	}
	if s.Points == nil {
		s.Points = []string{}
	}
	m, err := p.exchange(ctx, &call{}, struct {
		Type Type `json:"type"`
		Setup
	}{SetupType, s}, ReadyWithin)
	if err == nil && m.Type != SetUp {
		err = fmt.Errorf("the lock program answered %q to %q: want %q", m.Type, SetupType, SetUp)
	}
	return err
}

// Answer is what came of a request.
type Answer struct {
	Message
	// Grant is the id of the acquire.
	Grant uint64
	// From is when the program's validity counts from on the machine's clock, where it
	// told a validity.
	From     time.Duration
	Validity time.Duration
	Valid    bool
}

// MinWait is the shortest wait that a program is given: time for one attempt.
const MinWait = 100 * time.Millisecond

// Acquire asks for the lock. The program may wait for it for a while, and at least MinWait.
func (p *Program) Acquire(ctx context.Context, wait time.Duration) (Answer, error) {
	ms := MS(max(wait, MinWait))
	return p.ask(ctx, Message{Type: AcquireType, WaitMS: &ms}, Acquired)
}

// Release gives a grant back.
func (p *Program) Release(ctx context.Context, grant uint64) (Answer, error) {
	return p.ask(ctx, Message{Type: ReleaseType, Grant: grant}, Released)
}

// Extend lengthens a grant.
func (p *Program) Extend(ctx context.Context, grant uint64) (Answer, error) {
	return p.ask(ctx, Message{Type: ExtendType, Grant: grant}, Extended)
}

// Clocks reads the program's clocks.
func (p *Program) Clocks(ctx context.Context) (Answer, error) {
	return p.ask(ctx, Message{Type: ClocksType}, ClocksType)
}

// ask sends a request and reads its answer: that which is wanted, refused or unknown.
func (p *Program) ask(ctx context.Context, m Message, want Type) (Answer, error) {
	p.mu.Lock()
	p.last++
	m.ID = p.last
	if m.Type == ReleaseType {
		delete(p.grants, m.Grant)
	}
	p.mu.Unlock()
	sent := machine.Monotonic()
	got, err := p.exchange(ctx, &call{id: m.ID, grant: m.Grant}, m, 0)
	if err != nil {
		return Answer{}, err
	}
	if got.Type != want && got.Type != Refused && got.Type != Unknown {
		return Answer{}, p.fail(fmt.Errorf("the lock program answered %q to %q: want %q, %q or %q", got.Type, m.Type, want, Refused, Unknown))
	}
	a := Answer{Message: got, Grant: m.ID}
	if got.ValidityMS != nil {
		a.Valid, a.Validity, a.From = true, Duration(*got.ValidityMS), instant(got.AtNS, sent, machine.Monotonic())
	}
	return a, nil
}

// instant is what a program says of an instant, where that can be true: between two
// others. Otherwise it is the first of them, so that no promise is lengthened.
func instant(ns int64, from, to time.Duration) time.Duration {
	if at := time.Duration(ns); at >= from && at <= to {
		return at
	}
	return from
}

// exchange sends a message and waits for its answer.
func (p *Program) exchange(ctx context.Context, c *call, m any, within time.Duration) (Message, error) {
	c.answer = make(chan Message, 1)
	p.mu.Lock()
	p.waiting[c.id] = c
	p.mu.Unlock()
	if err := p.send(m); err != nil {
		return Message{}, err
	}
	var late <-chan time.Time
	if within > 0 {
		timer := time.NewTimer(within)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case got := <-c.answer:
		if got.Type == Error {
			return got, p.fail(fmt.Errorf("the lock program says: %s", got.Why))
		}
		return got, nil
	case <-p.broken:
		return Message{}, p.why
	case <-ctx.Done():
		return Message{}, ctx.Err()
	case <-late:
		return Message{}, machine.TookTooLong(within,
			"the lock program has not answered within %v: is its output flushed after each line, with a line break at its end?", within)
	}
}

func (p *Program) send(m any) error {
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("failed to write a message: %w", err)
	}
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	if p.trace != nil {
		p.trace(true, line)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		select {
		case <-p.broken:
			return p.why
		case <-p.child.Gone:
			p.heard.Wait()
			return p.why
		case <-time.After(EndWithin):
			return fmt.Errorf("the lock program has closed its input: %w", err)
		}
	}
	return nil
}

// fail ends the conversation.
func (p *Program) fail(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		p.why = err
		close(p.broken)
	}
	return p.why
}

// Broken is closed when the conversation has ended; Err says how.
func (p *Program) Broken() <-chan struct{} { return p.broken }

// Err is how the conversation has ended.
func (p *Program) Err() error {
	<-p.broken
	return p.why
}

// PID is the program's number.
func (p *Program) PID() int { return p.child.PID() }

// Close ends the program's input, and the program where that does not end it. Its own
// children are killed with it. It reports whether the program ended by itself.
func (p *Program) Close() bool {
	_ = p.fail(errors.New("the lock program was ended"))
	p.sendMu.Lock()
	_ = p.in.Close()
	p.sendMu.Unlock()
	select {
	case <-p.child.Gone:
	case <-time.After(EndWithin):
		p.Kill()
		return false
	}
	p.Kill()
	return true
}

// Kill ends the program and all that it has started.
func (p *Program) Kill() {
	KillProcess(p.command, p.child)
	_ = p.in.Close()
	p.heard.Wait()
}

// KillProcess ends what Process has started, and all that this has started.
func KillProcess(command []string, c *machine.Child) {
	if _, contained := Image(command); contained {
		_ = machine.ResumeTree(c)
		c.End(syscall.SIGTERM, killWithin) // it ends the container first
	}
	machine.KillTree(c)
}

// Ended says that a program has ended by itself.
type Ended struct {
	Command []string
	// How it ended: "exit status 1".
	How string
	// Last is what it printed last.
	Last []string
}

func (e *Ended) Error() string {
	text := fmt.Sprintf("the lock program %q ended: %s", strings.Join(e.Command, " "), e.How)
	if len(e.Last) > 0 {
		text += "; the last that it printed:\n  " + strings.Join(e.Last, "\n  ")
	}
	return text
}

// read reads the program's lines until they end.
func (p *Program) read(out *os.File) {
	defer func() { _ = out.Close() }()
	lines := newLines(out)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.take(line)
		}
		if err != nil {
			_ = p.fail(err)
			_, _ = io.Copy(io.Discard, out) // it may go on printing until it is ended
			return
		}
	}
	how := "it closed its output"
	select {
	case <-p.child.Gone:
		how = "exit status 0"
		if p.child.Err != nil {
			how = p.child.Err.Error()
		}
		select { // another may have its standard error, and keep it open
		case <-p.logged:
		case <-time.After(EndWithin):
		}
	case <-time.After(EndWithin):
	}
	_ = p.fail(&Ended{p.command, how, p.log.Last()})
}

// take deals with a line.
func (p *Program) take(line []byte) error {
	now := machine.Monotonic()
	if p.trace != nil {
		p.trace(false, line)
	}
	var m Message
	if !strings.HasPrefix(strings.TrimSpace(string(line)), "{") ||
		json.Unmarshal(line, &struct{ Type *Type }{&m.Type}) != nil || m.Type == "" {
		p.log.line(line)
		return nil
	}
	if m.Type == ReadyType {
		if err := json.Unmarshal(line, &p.Ready); err != nil {
			return fmt.Errorf("the lock program's message %q cannot be read: %w", m.Type, err)
		}
		return p.deliver(m, now)
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("the lock program's message %q cannot be read: %w", m.Type, err)
	}
	if slices.Contains(answers, m.Type) {
		return p.deliver(m, now)
	}
	if slices.Contains(events, m.Type) {
		return p.event(m, now)
	}
	return fmt.Errorf("the lock program sent a message of an unknown type %q", m.Type)
}

// deliver hands an answer to who waits for it.
func (p *Program) deliver(m Message, now time.Duration) error {
	p.mu.Lock()
	c := p.waiting[m.ID]
	if m.Type == Error && c == nil { // it may not know which request it is about
		for id := range p.waiting {
			c, m.ID = p.waiting[id], id
		}
	}
	delete(p.waiting, m.ID)
	if m.Type == Acquired {
		p.grants[m.ID] = &hold{last: now}
	}
	if c != nil && p.grants[c.grant] != nil {
		p.grants[c.grant].last = now
	}
	p.mu.Unlock()
	switch {
	case c != nil:
		c.answer <- m
	case m.Type == Error:
		return fmt.Errorf("the lock program says: %s", m.Why)
	case m.ID == 0 && m.Type != ReadyType && m.Type != SetUp:
		return fmt.Errorf("the lock program sent %q without the id of the request that it answers", m.Type)
	default:
		return fmt.Errorf("the lock program sent %q with the id %d, which no open request has", m.Type, m.ID)
	}
	return nil
}

// event deals with what the program says by itself.
func (p *Program) event(m Message, now time.Duration) error {
	if p.events++; p.events > maxEvents {
		return fmt.Errorf("the lock program sent more than %d events", maxEvents)
	}
	if m.Type == Point {
		if !slices.Contains(p.Ready.Points, m.Name) {
			return fmt.Errorf("the lock program reports the point %q, which its message ready does not name", m.Name)
		}
		if done := func() { _ = p.send(Message{Type: Go, ID: m.ID}) }; p.on != nil {
			p.on.AtPoint(m.Name, done)
		} else {
			done()
		}
		return nil
	}
	p.mu.Lock()
	h := p.grants[m.Grant]
	if h == nil || h.lost {
		p.mu.Unlock()
		p.log.line(fmt.Appendf(nil, "%s of the grant %d, which has ended", m.Type, m.Grant))
		return nil
	}
	last := h.last
	h.last, h.lost = now, m.Type == Lost
	p.mu.Unlock()
	if p.on == nil {
		return nil
	}
	switch {
	case m.Type == Lost && m.AtNS != 0:
		at := instant(m.AtNS, last, now)
		p.on.Lost(m.Grant, at, at, m.Why)
	case m.Type == Lost:
		p.on.Lost(m.Grant, last, now, m.Why)
	case m.ValidityMS != nil:
		p.on.Renewed(m.Grant, instant(m.AtNS, last, now)+Duration(*m.ValidityMS))
	}
	return nil
}
