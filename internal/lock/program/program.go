package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Program is a lock program that runs.
type Program struct {
	Conversation

	command []string
	child   *machine.Child
	trace   func(sent bool, line []byte)

	sendMu sync.Mutex
	in     *os.File

	mu  sync.Mutex // guards Conversation, once it runs, and what follows
	why error
	// broken is closed when the conversation has ended; why says how.
	broken chan struct{}
	// heard are the readers of its output; logged is closed when that of its standard error
	// has ended.
	heard  sync.WaitGroup
	logged chan struct{}
}

// Events are what a program says by itself, in its order. They are called one at a
// time; the program's next line waits until they return. client is whose it is, where the program is several clients.
type Events interface {
	// Renewed: the program renewed the grant, which is valid until then on the machine's
	// clock.
	Renewed(client string, grant uint64, until time.Duration)
	// Lost: the program saw that it has lost the grant: at an instant, or, where it told
	// none, between last, when it last spoke of the grant, and at.
	Lost(client string, grant uint64, last, at time.Duration, why string)
	// AtPoint: the program stands at a point, and goes on when done is called.
	AtPoint(client, name string, done func())
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

// Bounds of a program's life.
const (
	// ReadyWithin is how long it may take to say hello, and again to set up, on a machine that is not crowded.
	ReadyWithin = 20 * time.Second
	// EndWithin is how long it may go on after its input has ended.
	EndWithin = time.Second
	// killWithin is how long a container may take to end.
	killWithin = 5 * time.Second
)

// Start starts a program and greets it. What is wrong with it is an *Ended or says
// which line broke the protocol.
func Start(ctx context.Context, o Options) (*Program, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("no lock program is named")
	}
	p := &Program{Conversation: Conversation{Log: o.Log, On: o.Events}, command: o.Command, trace: o.Trace,
		broken: make(chan struct{}), logged: make(chan struct{})}
	if p.Log == nil {
		p.Log = NewLog(io.Discard)
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
		p.Log.copy(ours[2])
	})
	return nil
}

func (p *Program) greet(ctx context.Context) error {
	got, err := p.getReady(ctx, Greet())
	if err == nil {
		err = p.CheckReady(got)
	}
	return err
}

// Setup tells the program what to lock, and waits until it has set up.
func (p *Program) Setup(ctx context.Context, s Setup) error {
	got, err := p.getReady(ctx, s.Message())
	if err == nil {
		err = CheckSetUp(got)
	}
	return err
}

// getReady gives the program as many times ReadyWithin as there are tasks for each processor: the start of a virtual machine or an
// interpreter is work, which takes so much longer. An error says what was measured.
func (p *Program) getReady(ctx context.Context, m any) (Message, error) {
	crowding := machine.Crowding()
	within := time.Duration(float64(ReadyWithin) * crowding).Round(time.Second)
	got, err := p.exchange(ctx, m, p.Expect, within)
	if late := (*machine.OutOfTime)(nil); errors.As(err, &late) && crowding > 1 {
		err = fmt.Errorf("%w (%v, for there were %.1f tasks for each processor)", err, within, crowding)
	}
	return got, err
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

// Client is a program as one of its clients asks it. Name is empty where it is the only one.
type Client struct {
	*Program
	Name string
}

// Acquire asks for the lock. The program may wait for it for a while, and at least MinWait.
func (c Client) Acquire(ctx context.Context, wait time.Duration) (Answer, error) {
	return c.Upgrade(ctx, wait, 0)
}

// Upgrade asks to write beside a reader's grant; 0: it asks for the lock.
func (c Client) Upgrade(ctx context.Context, wait time.Duration, reader uint64) (Answer, error) {
	ms := MS(max(wait, MinWait))
	return c.Request(ctx, Message{Type: AcquireType, Client: c.Name, WaitMS: &ms, Upgrades: reader})
}

// Cancel cancels the acquire that is open, if one is. It does not wait for its answer.
func (c Client) Cancel() error {
	c.mu.Lock()
	m, open := c.Conversation.Cancel(c.Name)
	c.mu.Unlock()
	if !open {
		return nil
	}
	return c.send(m)
}

// Release gives a grant back.
func (c Client) Release(ctx context.Context, grant uint64) (Answer, error) {
	return c.Request(ctx, Message{Type: ReleaseType, Client: c.Name, Grant: grant})
}

// Extend lengthens a grant.
func (c Client) Extend(ctx context.Context, grant uint64) (Answer, error) {
	return c.Request(ctx, Message{Type: ExtendType, Client: c.Name, Grant: grant})
}

// Forget lets the program drop a grant. One that cannot say that it does need not hear of it.
func (c Client) Forget(ctx context.Context, grant uint64) (Answer, error) {
	if !c.Ready.Has(Forgets) {
		return Answer{Message: Message{Type: Forgotten}}, nil
	}
	return c.Request(ctx, Message{Type: ForgetType, Client: c.Name, Grant: grant})
}

// Acquire asks for the lock, as the only client.
func (p *Program) Acquire(ctx context.Context, wait time.Duration) (Answer, error) {
	return Client{Program: p}.Acquire(ctx, wait)
}

// Release gives a grant of the only client back.
func (p *Program) Release(ctx context.Context, grant uint64) (Answer, error) {
	return Client{Program: p}.Release(ctx, grant)
}

// Extend lengthens a grant of the only client.
func (p *Program) Extend(ctx context.Context, grant uint64) (Answer, error) {
	return Client{Program: p}.Extend(ctx, grant)
}

// Clocks reads the program's clocks.
func (p *Program) Clocks(ctx context.Context) (Answer, error) {
	return p.Request(ctx, Message{Type: ClocksType})
}

// Request sends a request and reads its answer.
func (p *Program) Request(ctx context.Context, m Message) (Answer, error) {
	sent := machine.Monotonic()
	got, err := p.exchange(ctx, &m, func(answer func(Message)) { p.Ask(&m, answer) }, 0)
	if err != nil {
		return Answer{}, err
	}
	a, err := AnswerTo(m, got, sent, machine.Monotonic())
	if err != nil {
		return Answer{}, p.fail(err)
	}
	return a, nil
}

// exchange sends a message and waits for its answer, which await lets come.
func (p *Program) exchange(ctx context.Context, m any, await func(answer func(Message)), within time.Duration) (Message, error) {
	answer := make(chan Message, 1)
	p.mu.Lock()
	await(func(m Message) { answer <- m })
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
	case got := <-answer:
		if got.Type == Error {
			return got, p.fail(saysError(got))
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

// Worked is how long it has kept a processor busy; 0: it has not ended.
func (p *Program) Worked() time.Duration { return p.child.Worked() }

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
	// Closed: it only closed its output, and its process goes on.
	Closed bool
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
	ended := &Ended{Command: p.command, How: "it closed its output", Closed: true}
	select {
	case <-p.child.Gone:
		ended.How, ended.Closed = "exit status 0", false
		if p.child.Err != nil {
			ended.How = p.child.Err.Error()
		}
		select { // another may have its standard error, and keep it open
		case <-p.logged:
		case <-time.After(EndWithin):
		}
	case <-time.After(EndWithin):
	}
	ended.Last = p.Log.Last()
	_ = p.fail(ended)
}

// take deals with a line.
func (p *Program) take(line []byte) error {
	now := machine.Monotonic()
	if p.trace != nil {
		p.trace(false, line)
	}
	p.mu.Lock()
	then, err := p.Take(line, now)
	p.mu.Unlock()
	if err == nil {
		then(func(m Message) { _ = p.send(m) })
	}
	return err
}
