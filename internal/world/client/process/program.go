package process

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// sharedProgram is the lock program of a process, a child of it.
type sharedProgram struct {
	*program.Program
	mu sync.Mutex // guards locks
	// locks are those of its clients, by their names in its messages.
	locks map[string]*programLock
}

// programLock is the lock of a client, which a program is.
type programLock struct {
	*sharedProgram
	asks   program.Client
	server *server
	// wait is how long an acquire may take.
	wait time.Duration

	mu    sync.Mutex // guards grant
	grant client.ProgramGrant
}

var (
	_ lock.Lock      = (*programLock)(nil)
	_ lock.Canceller = (*programLock)(nil)
	_ lock.Forgetter = (*programLock)(nil)
	_ client.Loser   = (*programLock)(nil)
	_ program.Events = (*sharedProgram)(nil)
)

// startProgram starts the program and has it set up. What it prints goes to the
// client's log.
func startProgram(setup *client.SetupMessage, s *server) (*programLock, error) {
	if err := machine.Adopt(); err != nil {
		return nil, err
	}
	l := (&sharedProgram{locks: make(map[string]*programLock)}).lockOf(setup, s)
	err := l.start(setup, setup.WarmUp)
	if errors.Is(err, errCold) {
		err = l.start(setup, "")
	}
	return l, err
}

// lockOf makes the lock of a client.
func (p *sharedProgram) lockOf(setup *client.SetupMessage, s *server) *programLock {
	l := &programLock{sharedProgram: p, server: s, wait: client.LongestAcquire(&setup.Lock, len(setup.Nodes))}
	l.asks.Name = setup.Named()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locks[l.asks.Name] = l
	return l
}

// join lets the program be another client, too.
func (p *sharedProgram) join(setup *client.SetupMessage, s *server) (*programLock, error) {
	l := p.lockOf(setup, s)
	l.asks.Program = p.Program
	message, err := setup.ProgramSetup(p.Ready.Points)
	if err == nil {
		err = p.Setup(context.Background(), message)
	}
	return l, err
}

// of is the lock of a client by its name in a message, which the only one need not have; nil: there is none.
func (p *sharedProgram) of(name string) *programLock {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.locks[""]; l != nil {
		return l
	}
	return p.locks[name]
}

// errCold says that a program could not be warmed up.
var errCold = errors.New("it could not be warmed up")

// start starts the program and has it set up, after it has taken a key once to warm up; empty: it has not.
func (l *programLock) start(setup *client.SetupMessage, warm string) error {
	ctx := context.Background()
	p, err := program.Start(ctx, program.Options{Command: setup.Lock.Program.Command,
		Env: slices.Concat(setup.Lock.Program.Environ(), setup.Environ), Log: program.NewLog(l.server.log), Events: l.sharedProgram})
	if err != nil {
		return err
	}
	l.Program, l.asks.Program = p, p
	message, err := setup.ProgramSetup(p.Ready.Points)
	warmed := err == nil && warm != "" && p.Ready.Has(program.SetsUpAgain)
	if warmed {
		err = l.warmUp(message, warm)
	}
	if err == nil {
		err = p.Setup(ctx, message)
	}
	if err != nil {
		p.Close()
		if warmed { // the run says what is wrong with it
			return errors.Join(errCold, err)
		}
	}
	return err
}

// warmUpWithin is how long a program has to warm up.
const warmUpWithin = 5 * time.Second

// warmUp has the program take a key and give it back: what it loads when it locks for the first time is there then.
func (l *programLock) warmUp(s program.Setup, key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), warmUpWithin)
	defer cancel()
	s.Lock.Key, s.Points, s.BusyMS = key, nil, 0
	if err := l.Setup(ctx, s); err != nil {
		return err
	}
	a, err := l.asks.Acquire(ctx, l.wait)
	if err == nil && a.Type == program.Acquired {
		a, err = l.asks.Release(ctx, a.Grant)
	}
	if err == nil && a.Type != program.Released {
		err = errCold
	}
	return err
}

// Acquire implements lock.Lock.
func (l *programLock) Acquire() (lock.Grant, lock.Result) { return l.Upgrade(lock.Grant{}) }

// Upgrade implements lock.Upgrader. Without a reader's grant it asks for the lock.
func (l *programLock) Upgrade(reader lock.Grant) (lock.Grant, lock.Result) {
	if l.server.env.Cancelled() { // before it was asked
		return lock.Grant{}, lock.Result{Outcome: lock.Fail, Err: "cancelled"}
	}
	a, err := l.asks.Upgrade(context.Background(), l.wait, reader.ID)
	result := client.ProgramResult(a, err, program.Acquired)
	if result.Outcome != lock.OK {
		return lock.Grant{}, result
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Acquired(a), result
}

// Cancel implements lock.Canceller.
func (l *programLock) Cancel() { _ = l.asks.Cancel() }

// Extend implements lock.Extender.
func (l *programLock) Extend(g lock.Grant) (lock.Grant, lock.Result) {
	a, err := l.asks.Extend(context.Background(), g.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Extended(g, a), client.ProgramResult(a, err, program.Extended)
}

// Release implements lock.Lock.
func (l *programLock) Release(g lock.Grant) lock.Result {
	a, err := l.asks.Release(context.Background(), g.ID)
	return client.ProgramResult(a, err, program.Released)
}

// Forget implements lock.Forgetter.
func (l *programLock) Forget(g lock.Grant) lock.Result {
	a, err := l.asks.Forget(context.Background(), g.ID)
	return client.ProgramResult(a, err, program.Forgotten)
}

// Remaining implements lock.Lock, on the machine's clock.
func (l *programLock) Remaining(g lock.Grant) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Remaining(g, machine.Monotonic())
}

// Lost implements client.Loser.
func (l *programLock) Lost(g lock.Grant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.IsLost(g)
}

// Renewed implements program.Events.
func (p *sharedProgram) Renewed(name string, grant uint64, until time.Duration) {
	l := p.of(name)
	l.mu.Lock()
	g, counts := l.grant.Renewed(grant, until)
	l.mu.Unlock()
	if counts {
		l.server.background(lock.Extend, func() (lock.Grant, lock.Result) { return g, lock.Result{Outcome: lock.OK} }, l.Remaining)
	}
}

// Lost implements program.Events.
func (p *sharedProgram) Lost(name string, grant uint64, last, at time.Duration, why string) {
	l := p.of(name)
	l.mu.Lock()
	owner, counts := l.grant.Lost(grant)
	l.mu.Unlock()
	if counts {
		_ = l.server.send(client.Message{Type: client.Lost, Monotonic: int64(at), Uncertain: int64(at - last), Error: why,
			Answer: &client.Answer{Type: history.Info, Value: history.Value{Owner: owner}}})
	}
}

// AtPoint implements program.Events.
func (p *sharedProgram) AtPoint(name, point string, done func()) {
	go func() {
		if l := p.of(name); l != nil { // else the program does not say whose point it is
			l.server.env.Point(point)
		}
		done()
	}()
}
