//go:build linux && amd64

package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	stores "github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// virtual is virtual time. Nothing happens in it but while a check waits for something.
type virtual struct {
	*Options
	*guests.Testbed
	// left are commands of processes that ended only because their program did.
	left []string
}

var _ place = (*virtual)(nil)

// openVirtual binds the calling goroutine to its thread until the place is closed.
func openVirtual(ctx context.Context, o *Options) (place, error) {
	testbed, err := guests.NewTestbed(ctx, seed)
	if err != nil {
		return nil, err
	}
	return &virtual{Options: o, Testbed: testbed}, nil
}

func (v *virtual) now() time.Duration    { return v.Now() }
func (v *virtual) latest() time.Duration { return v.Latest() }
func (v *virtual) wall() time.Time       { return time.Unix(0, int64(v.Wall())) }
func (v *virtual) unknown() error        { return v.Unknown() }
func (v *virtual) close()                { _ = v.Close() }

func (v *virtual) loseAnswers(lose func(string) bool) { v.LoseAnswers(lose) }

func (v *virtual) sleep(_ context.Context, d time.Duration) error {
	v.Sleep(d)
	return v.Unknown()
}

func (v *virtual) startNodes(_ context.Context, r *program.Ready) (*nodes, error) {
	n := &nodes{}
	switch r.Store {
	case program.Postgres:
		return nil, ErrRealTime
	case program.Etcd, program.Zookeeper, program.Nats:
		from, err := v.Virtual.Store(r.Store)
		if err != nil {
			return nil, err
		}
		s, err := v.StartStore(stores.StoreKind(r.Store), "A", from, v.Dir)
		if err == nil {
			n.told = append(n.told, program.Node{Name: s.Name, Host: s.Host, Port: s.Port})
		}
		return n, err
	case program.Redis, "":
	}
	for _, name := range namesFor(r) {
		s, err := v.StartRedis(name, v.Virtual.Server, v.Dir)
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, &virtualNode{TestbedServer: s})
		n.told = append(n.told, program.Node{Name: s.Name, Host: s.Host, Port: s.Port})
	}
	return n.setAside(r), nil
}

func (v *virtual) leftRunning() []string { return slices.Compact(slices.Sorted(slices.Values(v.left))) }

// movesClock moves the clock of the machine on which the program runs, and back.
func (v *virtual) movesClock(ctx context.Context, c *client) error {
	p, is := c.running.(*virtualProgram)
	if !is {
		return errStays
	}
	ahead := func() (program.Ahead, error) {
		a, err := p.ask(ctx, program.Message{Type: program.ClocksType}, program.ReadyWithin)
		if err != nil {
			return program.Ahead{}, err
		}
		return a.Ahead(v.Wall(), v.Now())
	}
	before, err := ahead()
	if err != nil {
		return err
	}
	p.MoveWall(program.ClockJump)
	defer p.MoveWall(-program.ClockJump)
	then, err := ahead()
	if err != nil {
		return err
	}
	return before.Followed(then)
}

func (v *virtual) start(_ context.Context, c *client, within time.Duration) (running, error) {
	p := &virtualProgram{v: v, c: c}
	p.talk.Log, p.talk.On = c.log, c
	var err error
	p.TestbedProgram, err = v.Start(c.name, v.Command, guests.Heard{
		Line:   p.take,
		Errors: func(text []byte) { _, _ = c.log.Write(text) },
		Ended: func(how string) {
			v.left = append(v.left, p.Left()...)
			p.fail(&program.Ended{Command: v.Command, How: how, Last: c.log.Last()})
		},
	})
	if err != nil {
		return nil, err
	}
	got, err := p.exchange(p.talk.Expect, program.Greet(), within)
	if err == nil {
		err = p.talk.CheckReady(got)
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// virtualProgram is a program in virtual time.
type virtualProgram struct {
	*guests.TestbedProgram
	v      *virtual
	c      *client
	talk   program.Conversation
	failed error
}

var _ running = (*virtualProgram)(nil)

func (p *virtualProgram) fail(why error) {
	if p.failed == nil {
		p.failed = why
	}
}

func (p *virtualProgram) take(line []byte) {
	if p.failed != nil {
		return
	}
	p.c.trace(false, line)
	then, err := p.talk.Take(line, p.v.Latest())
	if err != nil {
		p.fail(err)
		return
	}
	then(func(m program.Message) { p.send(m) })
}

func (p *virtualProgram) send(m any) {
	line, err := json.Marshal(m)
	if err != nil {
		p.fail(fmt.Errorf("failed to write a message: %w", err))
		return
	}
	p.c.trace(true, line)
	p.Write(append(line, '\n'))
}

// exchange sends a message and lets time pass until its answer is there, which await lets come.
func (p *virtualProgram) exchange(await func(func(program.Message)), m any, within time.Duration) (got program.Message, err error) {
	answered := false
	await(func(m program.Message) { got, answered = m, true })
	p.send(m)
	p.v.Until(within, func() bool { return answered || p.failed != nil })
	switch err := p.v.Unknown(); {
	case err != nil:
		return got, err
	case answered:
		return got, nil
	case p.failed != nil:
		return got, p.failed
	}
	return got, context.DeadlineExceeded
}

func (p *virtualProgram) describes() *program.Ready { return &p.talk.Ready }

func (p *virtualProgram) setUp(_ context.Context, s program.Setup, within time.Duration) error {
	got, err := p.exchange(p.talk.Expect, s.Message(), within)
	if err == nil {
		err = program.CheckSetUp(got)
	}
	return err
}

func (p *virtualProgram) ask(_ context.Context, m program.Message, within time.Duration) (a program.Answer, err error) {
	asked := p.v.Now()
	got, err := p.exchange(func(answer func(program.Message)) { p.talk.Ask(&m, answer) }, &m, within)
	if err == nil {
		a, err = program.AnswerTo(m, got, asked, p.v.Latest())
	}
	if err != nil && p.v.Unknown() == nil && err != context.DeadlineExceeded { //nolint:errorlint // it is exchange's own
		p.fail(err)
	}
	return a, err
}

func (p *virtualProgram) open(m program.Message) func() (program.Answer, bool, error) {
	asked, answered := p.v.Now(), false
	var a program.Answer
	var err error
	p.talk.Ask(&m, func(got program.Message) {
		a, err = program.AnswerTo(m, got, asked, p.v.Latest())
		answered = true
	})
	p.send(m)
	return func() (program.Answer, bool, error) {
		switch why := p.v.Unknown(); {
		case why != nil:
			return a, false, why
		case !answered && p.failed != nil:
			return a, false, p.failed
		}
		return a, answered, err
	}
}

func (p *virtualProgram) cancel() {
	if m, open := p.talk.Cancel(""); open {
		p.send(m)
	}
}

func (p *virtualProgram) post(m program.Message) {
	p.talk.Ask(&m, func(program.Message) {})
	p.send(m)
}

func (p *virtualProgram) why() error                      { return p.failed }
func (p *virtualProgram) computed() (time.Duration, bool) { return p.Computed(), false }

func (p *virtualProgram) close() bool {
	p.CloseInput()
	ended := p.v.Until(program.EndWithin, p.HasEnded)
	p.kill()
	return ended
}

func (p *virtualProgram) kill() {
	p.fail(fmt.Errorf("the lock program was ended"))
	p.Kill()
}

func (v *virtual) probe(_ context.Context, sent [][]byte) (before, after string, err error) {
	var out bytes.Buffer
	p, err := v.Start("probe", v.Command, guests.Heard{
		Line:   func(line []byte) { out.Write(append(line, '\n')) },
		Errors: func([]byte) {}, Ended: func(string) {},
	})
	if err != nil {
		return "", "", err
	}
	p.Write(append(bytes.Join(sent, []byte("\n")), '\n'))
	v.Sleep(probeFor)
	before = out.String() + string(p.Unfinished())
	p.CloseInput()
	v.Until(program.ReadyWithin, p.HasEnded)
	p.Kill()
	return before, (out.String() + string(p.Unfinished()))[len(before):], v.Unknown()
}

// virtualNode is a server in virtual time.
type virtualNode struct {
	*guests.TestbedServer
	follower *journal.Follower
}

var _ node = (*virtualNode)(nil)

func (n *virtualNode) name() string { return n.Name }
func (n *virtualNode) dead() bool   { return n.Dead() }

func (n *virtualNode) kill() error {
	n.Kill()
	if n.follower != nil {
		_ = n.follower.Close()
		n.follower = nil
	}
	return nil
}

func (n *virtualNode) restart(context.Context) error { return n.Start() }

func (n *virtualNode) do(_ context.Context, commands ...[]string) ([]any, error) {
	return n.Do(commands)
}

func (n *virtualNode) journal() *journal.Follower {
	if n.follower == nil {
		n.follower = journal.Follow(n.Dir)
	}
	return n.follower
}
