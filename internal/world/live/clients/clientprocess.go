package clients

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Process is a process that is a client of the lock, or several, driven by the
// line protocol.
type Process struct {
	// name is that of its first client.
	name string
	run  *Clients
	*childProcess
	// setups are what its clients were started with.
	setups []client.SetupMessage

	sendMu sync.Mutex

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan client.Message
	// acquires are the requests by which clients ask for the lock, as long as they have no answer.
	acquires map[string]uint64
	// atPoints is how many points it stands at, ownOperations how many operations of its own it has
	// begun, reports how much it has said of either.
	atPoints, ownOperations, reports int
	// broken is closed when the conversation has ended; why says how.
	broken chan struct{}
	why    error
	// failed is what the client said before it gave up, or that it ended and sim did not end it.
	failed error
	// ready: it has been set up. ended: sim ends it, or the run.
	ready, ended atomic.Bool
}

// Client is one of the clients of a process.
type Client struct {
	*Process
	Name string
}

var _ world.Client = Client{}

// readyWithin bounds how long a client may take to get ready.
const readyWithin = 20 * time.Second

// childProcess is the process itself, and what joins us to it. It may be used for one run after the other.
type childProcess struct {
	Proc *machine.Child
	in   io.WriteCloser
	enc  *json.Encoder
	out  io.ReadCloser
	// lines are those of out.
	lines *bufio.Scanner
	// hasProgram: it was started to end a lock program before it ends itself.
	hasProgram bool
	// log is where it writes, if it may serve several runs; empty: right into the log of its client.
	log string
}

// startProcess starts the process of some clients, or takes one that rests, and waits until they are ready.
func startProcess(run *Clients, setups []client.SetupMessage) (*Process, error) {
	c := &Process{
		name: setups[0].Client, run: run, setups: setups,
		waiting: make(map[uint64]chan client.Message), acquires: make(map[string]uint64),
		broken: make(chan struct{}),
	}
	if c.childProcess = run.Resting.take(c.hasProgram()); c.childProcess == nil {
		var err error
		if c.childProcess, err = run.launch(c.name, c.hasProgram()); err != nil {
			return nil, err
		}
	}
	run.Background.Go(c.Listen)
	for _, setup := range setups {
		if err := c.setup(setup); err != nil {
			c.Close()
			return nil, fmt.Errorf("client %s: %w", setup.Client, err)
		}
	}
	return c, nil
}

// launch starts the process of a client.
func (s *Clients) launch(name string, leads bool) (*childProcess, error) {
	b := &childProcess{hasProgram: leads}
	log, err := s.openLog(b, name)
	if err != nil {
		return nil, fmt.Errorf("failed to open the log of client %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Stderr, cmd.Env = log, machine.OwnEnviron(nil)
	// The pipes are ours, not exec's: Wait must not close them under a reader.
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("failed to make a pipe: %w", err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("failed to make a pipe: %w", err)
	}
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	b.in, b.enc, b.out, b.lines = inWrite, json.NewEncoder(inWrite), outRead, bufio.NewScanner(outRead)
	b.lines.Buffer(make([]byte, 0, 1<<16), client.MaxMessage)
	start := machine.Start
	if leads {
		start = machine.StartLeader
	}
	b.Proc, err = start("client "+name, cmd)
	_ = inRead.Close()
	_ = outWrite.Close()
	if err != nil {
		_ = inWrite.Close()
		_ = outRead.Close()
		return nil, err
	}
	return b, nil
}

func (c *Process) setup(setup client.SetupMessage) error {
	ready := c.expect(0)
	if err := c.send(client.Message{Type: client.Setup, Setup: &setup}); err != nil {
		return err
	}
	timeout := time.NewTimer(readyWithin)
	defer timeout.Stop()
	select {
	case m := <-ready:
		if m.Protocol != client.ProtocolVersion {
			return fmt.Errorf("it speaks protocol version %d, this program %d", m.Protocol, client.ProtocolVersion)
		}
		return nil
	case <-c.broken:
		return c.why
	case <-c.run.Ctx.Done():
		return c.run.Ctx.Err()
	case <-timeout.C:
		if c.hasProgram() { // its lock program may be the one that is slow
			return machine.TookTooLong(readyWithin, "not ready within %v", readyWithin)
		}
		return machine.StartedTooSlowly("not ready within %v", readyWithin)
	}
}

// named is the name of a client in messages about it.
func (c *Process) named(client string) string {
	if client == c.name {
		return ""
	}
	return client
}

// client is whom a message is about.
func (c *Process) client(m client.Message) string { return cmp.Or(m.Client, c.name) }

// Do asks for an operation and waits for its completion.
func (c Client) Do(r client.Request) client.Answer {
	id := c.nextID()
	answered := c.expect(id)
	if r.F == history.Acquire {
		c.asks(c.Name, id)
		defer c.asks(c.Name, 0)
	}
	if err := c.send(client.Message{Type: client.Ask, Client: c.named(c.Name), ID: id, Request: &r}); err != nil {
		return client.Answer{Type: history.Info, Error: err.Error(), Gone: true}
	}
	called := c.run.Time.Now()
	select {
	case m := <-answered:
		return c.completion(r, m, called)
	case <-c.broken:
		return client.Answer{Type: history.Info, Error: c.why.Error(), Gone: true}
	case <-c.run.Ctx.Done():
		return client.Answer{Type: history.Info, Error: "the run was stopped"}
	}
}

// asks says which request of a client asks for the lock; 0: none does.
func (c *Process) asks(client string, id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acquires[client] = id
}

// Cancel cancels the attempt of a client to get the lock.
func (c *Process) Cancel(name string) error {
	c.mu.Lock()
	id := c.acquires[name]
	c.mu.Unlock()
	if id == 0 {
		return world.NoAttempt(name)
	}
	return c.send(client.Message{Type: client.Cancel, Client: c.named(name), ID: id})
}

func (c *Process) nextID() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return c.last
}

// setClock asks the client to bend a clock and waits until it has.
func (c *Process) setClock(ctx context.Context, m client.ClockMessage) error {
	id := c.nextID()
	set := c.expect(id)
	if err := c.send(client.Message{Type: client.SetClock, ID: id, Clock: &m}); err != nil {
		return err
	}
	select {
	case <-set:
		return nil
	case <-c.broken:
		return c.why
	case <-ctx.Done():
		return fmt.Errorf("client %s did not move its clock: %w", c.name, ctx.Err())
	}
}

// completion checks an answer and puts the promised end on the run's clock.
// The program behind it may be anybody's, so its times are believed only as far
// as they can be true: a validity counts from between invocation and now.
func (c *Process) completion(r client.Request, m client.Message, called time.Duration) client.Answer {
	if m.Answer == nil || m.Answer.Type < history.OK {
		return client.Answer{Type: history.Info, Error: "the client sent an answer without a result"}
	}
	if r.F == history.Acquire || r.F == history.Extend {
		return c.fillValidUntil(*m.Answer, m, called)
	}
	return *m.Answer
}

// fillValidUntil fills in the run time at which the validity of an answer ends.
func (c *Process) fillValidUntil(a client.Answer, m client.Message, called time.Duration) client.Answer {
	if a.Type == history.OK && a.Value.Validity().IsSet() {
		from := called
		if m.Monotonic != 0 {
			from = min(max(time.Duration(m.Monotonic)-c.run.Time.SinceBoot(), called), c.run.Time.Now())
		}
		a.Value.Grant.ValidUntil = history.Some(int64(from) + a.Value.Validity().V())
	}
	return a
}

func (c *Process) expect(id uint64) chan client.Message {
	ch := make(chan client.Message, 1)
	c.mu.Lock()
	c.waiting[id] = ch
	c.mu.Unlock()
	return ch
}

func (c *Process) send(m client.Message) error {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if err := c.enc.Encode(m); err != nil {
		return fmt.Errorf("failed to write to client %s: %w", c.name, err)
	}
	return nil
}

// errRests says that the client rests.
var errRests = errors.New("the client rests")

// Listen reads the client's lines until they end, or it rests.
func (c *Process) Listen() {
	err := errors.New("the client ended")
	for c.lines.Scan() {
		var m client.Message
		if e := json.Unmarshal(c.lines.Bytes(), &m); e != nil {
			err = fmt.Errorf("the client sent a line that is no message: %w", e)
			break
		}
		if e := c.handle(m); e != nil {
			err = e
			break
		}
	}
	if e := c.lines.Err(); e != nil {
		err = fmt.Errorf("failed to read from the client: %w", e)
	}
	if !errors.Is(err, errRests) {
		_ = c.out.Close()
	}
	if e := c.saveLog(c.run.Dir, c.name); e != nil && errors.Is(err, errRests) {
		err = fmt.Errorf("failed to save its log: %w", e)
	}
	c.why = err
	if !c.ended.Load() && c.failed == nil && c.run.Ctx.Err() == nil {
		c.failed = fmt.Errorf("%w, and sim had not ended it", err)
	}
	close(c.broken)
}

func (c *Process) handle(m client.Message) error {
	switch m.Type {
	case client.Ready:
		c.ready.Store(true)
		c.deliver(0, m)
	case client.Answered, client.ClockSet:
		c.deliver(m.ID, m)
	case client.Rested:
		if !c.ended.Load() {
			return errors.New("the client rests, and sim had not ended the run")
		}
		return errRests
	case client.AtPoint:
		if err := c.report(&c.atPoints, 1); err != nil {
			return err
		}
		c.run.Background.Go(func() {
			c.run.AtPoint(c.client(m), m.Point)
			_ = c.report(&c.atPoints, -1)
			_ = c.send(client.Message{Type: client.Go, Client: m.Client, ID: m.ID})
		})
	case client.Invoked:
		if err := c.reportOwn(m.Operation, 1); err != nil {
			return err
		}
		c.run.Record(history.Event{Process: c.client(m), Type: history.Invoke, F: history.F(m.Operation)})
		return c.send(client.Message{Type: client.Go, Client: m.Client, ID: m.ID})
	case client.Completed:
		if m.Answer == nil || m.Answer.Type < history.OK {
			return errors.New("the client sent a completion without a result")
		}
		if err := c.reportOwn(m.Operation, -1); err != nil {
			return err
		}
		a := c.fillValidUntil(*m.Answer, m, 0)
		c.run.Record(history.Event{Process: c.client(m), Type: a.Type, F: history.F(m.Operation), Value: a.Value,
			Error: history.SomeText(a.Error)})
	case client.Lost:
		if m.Answer == nil {
			return errors.New("the client sent a loss without an answer")
		}
		v := m.Answer.Value
		told := v.OwnOutcome()
		told.At, told.AtError = history.Some(m.Monotonic-int64(c.run.Time.SinceBoot())), m.Uncertain
		c.run.Record(history.Event{Process: c.client(m), Type: history.Info, F: history.Lost, Value: v, Error: history.SomeText(m.Error)})
	case client.Ended:
		return c.programEnded(m)
	case client.Failed:
		if c.failed = errors.New(m.Error); m.OutOfTime > 0 {
			c.failed = machine.TookTooLong(m.OutOfTime, "%s", m.Error)
		} else if m.Unsupported != "" {
			c.failed = &program.UnsupportedError{Why: m.Unsupported}
		}
		return c.failed
	default:
		return fmt.Errorf("the client sent an unknown message %q", m.Type)
	}
	return nil
}

// programEnded ends the clients whose lock program has ended by itself.
func (c *Process) programEnded(m client.Message) error {
	why := fmt.Errorf("the lock program ended: %s", m.Error)
	if !c.ready.Load() {
		c.failed = &program.Ended{Command: c.setups[0].Lock.Program.Command, How: m.Error, Last: m.Printed}
		return c.failed
	}
	if !c.ended.Load() && c.run.Ctx.Err() == nil {
		for _, setup := range c.setups {
			c.run.Record(client.ProgramEnded(setup.Client, m.Error, m.Printed))
		}
	}
	return errors.Join(why, c.Kill())
}

// Bounds of what a client may report: points and operations of its own at a time, and both in
// all.
const (
	maxAtOnce  = 1000
	maxReports = 1_000_000
)

// report counts something that the client begins or ends.
func (c *Process) report(count *int, by int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	*count += by
	c.reports++
	if *count < 0 {
		return errors.New("the client completed an operation that it had not begun")
	}
	if *count > maxAtOnce {
		return fmt.Errorf("the client stands at more than %d points, or has begun more than %d operations", maxAtOnce, maxAtOnce)
	}
	if c.reports > maxReports {
		return fmt.Errorf("the client reported more than %d points and operations", maxReports)
	}
	return nil
}

// reportOwn counts an operation that the client begins or ends by itself.
func (c *Process) reportOwn(operation string, by int) error {
	if history.F(operation) != history.Extend {
		return fmt.Errorf("the client reports the operation %q of its own: want %q", operation, history.Extend)
	}
	return c.report(&c.ownOperations, by)
}

func (c *Process) deliver(id uint64, m client.Message) {
	c.mu.Lock()
	ch := c.waiting[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	if ch != nil {
		ch <- m
	}
}

// hasProgram: the client's lock is a process of its own, which stops and dies with it.
func (c *Process) hasProgram() bool { return c.setups[0].Lock.Program != nil }

// Stop stops the client; it returns once it certainly stands still.
func (c *Process) Stop() error {
	if c.hasProgram() {
		if err := machine.StopTree(c.Proc); err != nil {
			return err
		}
		return c.doInContainer(Containers.PausePrograms)
	}
	return c.Proc.Stop()
}

// Resume lets it go on.
func (c *Process) Resume() error {
	if c.hasProgram() {
		if err := c.doInContainer(Containers.ResumePrograms); err != nil {
			return err
		}
		return machine.ResumeTree(c.Proc)
	}
	return c.Proc.Resume()
}

// Kill returns once it is dead.
func (c *Process) Kill() error {
	c.ended.Store(true)
	var err error
	if c.hasProgram() {
		err = c.doInContainer(func(all Containers, ctx context.Context, pids []int) error {
			_ = machine.StopTree(c.Proc) // so that it does not see its lock program end
			return all.KillPrograms(ctx, pids)
		})
		machine.KillTree(c.Proc)
	}
	return errors.Join(err, c.Proc.Kill())
}

// containedWithin bounds what is done to a container.
const containedWithin = 30 * time.Second

// doInContainer does something to the container of its lock program, where that is in one.
func (c *Process) doInContainer(do func(Containers, context.Context, []int) error) error {
	if c.run.Containers == nil || c.Proc.Dead() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), containedWithin)
	defer cancel()
	return do(c.run.Containers, ctx, machine.Below(c.Proc))
}

// Dead reports whether it has ended.
func (c *Process) Dead() bool { return c.Proc.Dead() }

// restWithin bounds how long a client may take to end its lock.
const restWithin = 2 * time.Second

// rest ends the run for the client, and leaves its process; false: that did not come off.
func (c *Process) rest() bool {
	c.ended.Store(true)
	if c.Dead() || c.send(client.Message{Type: client.Rest}) != nil {
		return false
	}
	late := time.NewTimer(restWithin)
	defer late.Stop()
	select {
	case <-c.broken:
		return errors.Is(c.why, errRests)
	case <-late.C:
		return false
	}
}

// Close ends the process and the conversation.
func (c *Process) Close() {
	c.ended.Store(true)
	_ = c.in.Close()
	_ = c.Kill()
	<-c.broken
}
