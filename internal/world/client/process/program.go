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

// programLock is the lock of a program, a child of the client.
type programLock struct {
	*program.Program
	server *server
	// wait is how long an acquire may take.
	wait time.Duration

	mu    sync.Mutex // guards grant
	grant client.ProgramGrant
}

var (
	_ lock.Lock      = (*programLock)(nil)
	_ lock.Forgetter = (*programLock)(nil)
	_ client.Loser   = (*programLock)(nil)
	_ program.Events = programEvents{}
)

// startProgram starts the program and has it set up. What it prints goes to the
// client's log.
func startProgram(setup *client.SetupMessage, s *server) (*programLock, error) {
	l := &programLock{server: s, wait: client.LongestAcquire(&setup.Lock, len(setup.Nodes))}
	if err := machine.Adopt(); err != nil {
		return nil, err
	}
	err := l.start(setup, setup.WarmUp)
	if errors.Is(err, errCold) {
		err = l.start(setup, "")
	}
	return l, err
}

// errCold says that a program could not be warmed up.
var errCold = errors.New("it could not be warmed up")

// start starts the program and has it set up, after it has taken a key once to warm up; empty: it has not.
func (l *programLock) start(setup *client.SetupMessage, warm string) error {
	ctx := context.Background()
	p, err := program.Start(ctx, program.Options{Command: setup.Lock.Program.Command,
		Env: slices.Concat(setup.Lock.Program.Environ(), setup.Environ), Log: program.NewLog(l.server.log), Events: programEvents{l}})
	if err != nil {
		return err
	}
	l.Program = p
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
	a, err := l.Program.Acquire(ctx, l.wait)
	if err == nil && a.Type == program.Acquired {
		a, err = l.Program.Release(ctx, a.Grant)
	}
	if err == nil && a.Type != program.Released {
		err = errCold
	}
	return err
}

// Acquire implements lock.Lock.
func (l *programLock) Acquire() (lock.Grant, lock.Result) {
	a, err := l.Program.Acquire(context.Background(), l.wait)
	result := client.ProgramResult(a, err, program.Acquired)
	if result.Outcome != lock.OK {
		return lock.Grant{}, result
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Acquired(a), result
}

// Extend implements lock.Extender.
func (l *programLock) Extend(g lock.Grant) (lock.Grant, lock.Result) {
	a, err := l.Program.Extend(context.Background(), g.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Extended(g, a), client.ProgramResult(a, err, program.Extended)
}

// Release implements lock.Lock.
func (l *programLock) Release(g lock.Grant) lock.Result {
	a, err := l.Program.Release(context.Background(), g.ID)
	return client.ProgramResult(a, err, program.Released)
}

// Forget implements lock.Forgetter.
func (l *programLock) Forget(g lock.Grant) lock.Result {
	a, err := l.Program.Forget(context.Background(), g.ID)
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

// programEvents are what the program says by itself.
type programEvents struct{ *programLock }

// Renewed implements program.Events.
func (e programEvents) Renewed(grant uint64, until time.Duration) {
	e.mu.Lock()
	g, counts := e.grant.Renewed(grant, until)
	e.mu.Unlock()
	if counts {
		e.server.background(lock.Extend, func() (lock.Grant, lock.Result) { return g, lock.Result{Outcome: lock.OK} }, e.Remaining)
	}
}

// Lost implements program.Events.
func (e programEvents) Lost(grant uint64, last, at time.Duration, why string) {
	e.mu.Lock()
	owner, counts := e.grant.Lost(grant)
	e.mu.Unlock()
	if counts {
		_ = e.server.send(client.Message{Type: client.Lost, Monotonic: int64(at), Uncertain: int64(at - last), Error: why,
			Answer: &client.Answer{Type: history.Info, Value: history.Value{Owner: owner}}})
	}
}

// AtPoint implements program.Events.
func (e programEvents) AtPoint(name string, done func()) {
	go func() {
		e.server.env.Point(name)
		done()
	}()
}
