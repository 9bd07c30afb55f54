package process

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
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

	mu sync.Mutex
	// latest is the grant of the last acquire, with its owner; those before it count no
	// more. gone: it is lost.
	latest uint64
	owner  string
	gone   bool
	// until is the end that its latest renewal told.
	until time.Duration
}

var (
	_ lock.Lock      = (*programLock)(nil)
	_ client.Loser   = (*programLock)(nil)
	_ program.Events = programEvents{}
)

// startProgram starts the program and has it set up. What it prints goes to the
// client's log.
func startProgram(setup *client.SetupMessage, s *server) (*programLock, error) {
	l := &programLock{server: s, wait: longestAcquire(setup)}
	if err := machine.Adopt(); err != nil {
		return nil, err
	}
	ctx := context.Background()
	p, err := program.Start(ctx, program.Options{Command: setup.Lock.Program.Command,
		Env: slices.Concat(setup.Lock.Program.Environ(), setup.Environ), Log: program.NewLog(s.log), Events: programEvents{l}})
	if err != nil {
		return nil, err
	}
	l.Program = p
	message, err := programSetup(setup, p.Ready.Points)
	if err == nil {
		err = p.Setup(ctx, message)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return l, nil
}

// longestAcquire is how long an acquire may take: as long as one of our own locks would wait
// between its attempts, and time for an attempt.
func longestAcquire(setup *client.SetupMessage) time.Duration {
	attempt := time.Duration(len(setup.Nodes)) * setup.Lock.NodeTimeout
	return setup.Lock.Retry.Longest() + max(attempt, program.MinWait)
}

// programOptions are what a program is told of the scenario's lock beyond the protocol.
type programOptions struct {
	lock.Config
	// Consensus is a store that no fault strikes, where the scenario's tokens come from one.
	Consensus *client.Address `json:"consensus,omitempty"`
}

// programSetup is what the program is told; it can report points.
func programSetup(setup *client.SetupMessage, points []string) (program.Setup, error) {
	c := setup.Lock
	busy := program.MS(c.Busy)
	c.Program, c.Busy = nil, 0
	text, err := json.Marshal(programOptions{c, setup.Consensus})
	if err != nil {
		return program.Setup{}, fmt.Errorf("failed to write the lock's settings: %w", err)
	}
	p := program.Setup{
		Client: setup.Client, Seed: setup.Seed & (1<<53 - 1), // exact in any language's JSON
		Lock:     program.Lock{Key: c.Key, TTLMS: program.MS(c.TTL), NodeTimeoutMS: program.MS(c.NodeTimeout), Options: text},
		Topology: program.Independent, BusyMS: busy,
		Points: slices.DeleteFunc(slices.Clone(setup.Points), func(name string) bool { return !slices.Contains(points, name) }),
	}
	if len(setup.Sentinels) > 0 {
		p.Topology, p.Master = program.Watched, setup.Master
	} else if setup.Replicated {
		p.Topology = program.Replicated
	}
	if p.Nodes, err = programNodes(setup.Nodes); err == nil {
		p.Sentinels, err = programNodes(setup.Sentinels)
	}
	return p, err
}

// programNodes are servers as a program is told of them.
func programNodes(addresses []client.Address) ([]program.Node, error) {
	list := make([]program.Node, 0, len(addresses))
	for _, a := range addresses {
		host, port, err := net.SplitHostPort(a.Address)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", a.Name, err)
		}
		n := program.Node{Name: a.Name, Host: host, Username: a.Username, Password: a.Password()}
		if n.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("node %s: %w", a.Name, err)
		}
		if a.TLS != nil {
			n.TLS = &program.TLS{ServerName: a.TLS.ServerName, CA: a.TLS.CA}
		}
		list = append(list, n)
	}
	return list, nil
}

// Acquire implements lock.Lock.
func (l *programLock) Acquire() (lock.Grant, lock.Result) {
	a, err := l.Program.Acquire(context.Background(), l.wait)
	result := resultOf(a, err, program.Acquired)
	if result.Outcome != lock.OK {
		return lock.Grant{}, result
	}
	g := lock.Grant{ID: a.Grant, Owner: history.OwnerText(string(a.Owner)), Until: a.From + a.Validity, Forever: !a.Valid}
	if a.Token != nil {
		g.Token, g.HasToken = *a.Token, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest < g.ID {
		l.latest, l.gone, l.until = g.ID, false, 0
	}
	l.owner = g.Owner
	return g, result
}

// Release implements lock.Lock.
func (l *programLock) Release(g lock.Grant) lock.Result {
	a, err := l.Program.Release(context.Background(), g.ID)
	return resultOf(a, err, program.Released)
}

// Remaining implements lock.Lock, on the machine's clock.
func (l *programLock) Remaining(g lock.Grant) time.Duration {
	if g.Forever {
		return 1<<63 - 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	until := g.Until
	if g.ID == l.latest {
		until = max(until, l.until)
	}
	return until - machine.Monotonic()
}

// Lost implements client.Loser.
func (l *programLock) Lost(g lock.Grant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone && l.latest == g.ID
}

// resultOf is what the client knows after an answer.
func resultOf(a program.Answer, err error, want program.Type) lock.Result {
	switch {
	case err != nil:
		return lock.Result{Outcome: lock.Info, Err: err.Error()}
	case a.Type == want:
		return lock.Result{Outcome: lock.OK}
	case a.Type == program.Refused:
		return lock.Result{Outcome: lock.Fail, Err: a.Why}
	}
	return lock.Result{Outcome: lock.Info, Err: a.Why}
}

// programEvents are what the program says by itself.
type programEvents struct{ *programLock }

// counts reports whether an event is about the latest grant, of which the answer may
// be on its way, and what its owner is.
func (e programEvents) counts(grant uint64, lost bool) (owner string, counts bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if grant < e.latest {
		return "", false
	}
	if grant > e.latest {
		e.latest, e.owner, e.gone, e.until = grant, "", false, 0
	}
	e.gone = e.gone || lost
	return e.owner, true
}

// Renewed implements program.Events.
func (e programEvents) Renewed(grant uint64, until time.Duration) {
	if owner, ok := e.counts(grant, false); ok {
		e.mu.Lock()
		e.until = max(e.until, until)
		e.mu.Unlock()
		g := lock.Grant{ID: grant, Owner: owner, Until: until}
		e.server.background(lock.Extend, func() (lock.Grant, lock.Result) { return g, lock.Result{Outcome: lock.OK} }, e.Remaining)
	}
}

// Lost implements program.Events.
func (e programEvents) Lost(grant uint64, last, at time.Duration, why string) {
	if owner, ok := e.counts(grant, true); ok {
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
