package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/world"
	stores "github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// live is this machine, in its own time.
type live struct {
	*Options
	servers *server.Servers
	// scratch is the folder with their data.
	scratch string
	list    []*server.Node
	// links are how the program reaches them: it need not know their passwords.
	links *proxy.Proxies
	told  []program.Node
	// postgres is in the place of the nodes, where the lock is kept there.
	postgres *postgres.Server
}

var _ place = (*live)(nil)

// openLive makes this process the parent of orphans.
func openLive(_ context.Context, o *Options) (place, error) {
	if err := machine.Adopt(); err != nil {
		return nil, err
	}
	return &live{Options: o}, nil
}

func (l *live) now() time.Duration    { return machine.Monotonic() }
func (l *live) latest() time.Duration { return machine.Monotonic() }
func (l *live) wall() time.Time       { return time.Now() }
func (l *live) unknown() error        { return nil }

func (l *live) loseAnswers(func(string) bool) {}

func (l *live) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (l *live) close() {
	if l.servers != nil {
		l.links.Close()
		if l.postgres != nil {
			l.postgres.Stop()
		}
		l.servers.Stop()
		_ = l.servers.Close()
		_ = machine.Discard(l.scratch)
	}
	machine.KillOrphans()
}

func (l *live) startNodes(ctx context.Context, r *program.Ready) (*nodes, error) {
	spec := &world.Spec{Name: "conform", Dir: l.Dir, SharedStore: true}
	if r.Store.InVirtualTimeAlone() {
		return nil, fmt.Errorf("%s %w", r.Store, ErrVirtualTime)
	}
	if r.Elsewhere() {
		spec.LockStore = stores.StoreKind(r.Store)
	}
	for _, name := range namesFor(r) {
		spec.Nodes = append(spec.Nodes, world.Node{Name: name})
	}
	var err error
	if l.scratch, err = machine.Scratch(); err != nil {
		return nil, err
	}
	l.links = proxy.New()
	if l.servers, err = server.New(ctx, spec, l.scratch, server.Options{Redis: l.Redis}); err != nil {
		return nil, err
	}
	n := &nodes{}
	for i := range spec.Nodes {
		one := l.servers.Nodes[spec.Nodes[i].Name]
		l.list, n.list = append(l.list, one), append(n.list, liveNode{one})
	}
	if err := l.servers.Start(ctx); err != nil {
		return nil, err
	}
	if r.Elsewhere() {
		err = l.linkStore(ctx, r.Store)
	}
	for _, node := range l.list {
		if err == nil && !r.Elsewhere() {
			err = l.link(program.Node{Name: node.Name}, node.Endpoint(node.Name).Dial)
		}
	}
	n.told = l.told
	if err != nil {
		return n, err
	}
	return n.setAside(r), nil
}

// linkStore starts the server that keeps the lock in the place of the nodes.
func (l *live) linkStore(ctx context.Context, store program.Store) (err error) {
	to := program.Node{Name: l.list[0].Name}
	if store == program.Etcd {
		if err := l.servers.StartConsensus(ctx); err != nil {
			return err
		}
		return l.link(to, l.servers.Consensus.Dial)
	}
	if l.postgres, err = postgres.Start(ctx, l.scratch, filepath.Join(l.Dir, "postgres.log")); err != nil {
		return err
	}
	a := l.postgres.Invitation("")
	to.Username, to.Password = a.Username, a.Password()
	return l.link(to, l.postgres.Dial)
}

// link opens a link to a node.
func (l *live) link(to program.Node, dial proxy.Dial) error {
	address, err := l.links.Open("program", to.Name, dial, nil)
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(address)
	to.Host = host
	to.Port, _ = strconv.Atoi(port)
	l.told = append(l.told, to)
	return nil
}

// leftRunning tells of the processes below this one that belong to nobody we know.
func (l *live) leftRunning() (list []string) {
	for _, pid := range machine.Descendants() {
		if l.runs(pid) {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		list = append(list, fmt.Sprintf("%s (process %d)", strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")), pid))
	}
	return list
}

// runs reports that a process is one of the servers.
func (l *live) runs(pid int) bool {
	return l.servers != nil && (l.servers.Consensus.Runs(pid) || l.postgres.Runs(pid) ||
		slices.ContainsFunc(l.list, func(node *server.Node) bool { return node.Server.PID() == pid }))
}

func (l *live) movesClock(ctx context.Context, c *client) error {
	err := program.MovesClock(ctx, program.Options{Command: l.Command, Log: c.log})
	if errors.Is(err, program.ErrContained) || errors.Is(err, machine.ErrNoFaketime) {
		return fmt.Errorf("%w: %w", errStays, err)
	}
	return err
}

func (l *live) start(ctx context.Context, c *client, within time.Duration) (running, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	p, err := program.Start(bounded, program.Options{Command: l.Command, Log: c.log, Events: c, Trace: c.trace})
	if err != nil {
		return nil, err
	}
	_, contained := program.Image(l.Command)
	return &liveProgram{Program: p, contained: contained}, nil
}

// liveProgram is a program in real time.
type liveProgram struct {
	*program.Program
	contained bool
	// posted are requests whose answers nobody waits for.
	posted sync.WaitGroup
}

var _ running = (*liveProgram)(nil)

func (p *liveProgram) describes() *program.Ready { return &p.Ready }

func (p *liveProgram) setUp(ctx context.Context, s program.Setup, within time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return p.Setup(bounded, s)
}

func (p *liveProgram) ask(ctx context.Context, m program.Message, within time.Duration) (program.Answer, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return p.Request(bounded, m)
}

func (p *liveProgram) open(m program.Message) func() (program.Answer, bool, error) {
	type came struct {
		program.Answer
		err error
	}
	answer := make(chan came, 1)
	p.posted.Go(func() {
		a, err := p.Request(context.Background(), m)
		answer <- came{a, err}
	})
	return func() (program.Answer, bool, error) {
		select {
		case c := <-answer:
			return c.Answer, true, c.err
		default:
			return program.Answer{}, false, nil
		}
	}
}

func (p *liveProgram) cancel() { _ = program.Client{Program: p.Program}.Cancel() }

func (p *liveProgram) post(m program.Message) {
	p.posted.Go(func() { _, _ = p.Request(context.Background(), m) })
}

func (p *liveProgram) why() error {
	select {
	case <-p.Broken():
		return p.Err()
	default:
		return nil
	}
}

func (p *liveProgram) computed() (d time.Duration, unseen bool) {
	return machine.ProcessorTime(p.PID()), p.contained
}

func (p *liveProgram) close() bool {
	defer p.posted.Wait()
	return p.Close()
}

func (p *liveProgram) kill() { p.Kill() }

// probeFor is how long a probe waits for something to come before it ends the program's input.
const probeFor = 3 * time.Second

func (l *live) probe(ctx context.Context, sent [][]byte) (before, after string, err error) {
	o := program.Options{Command: l.Command}
	cmd, err := o.Process()
	if err != nil {
		return "", "", err
	}
	in, ours, err := os.Pipe()
	if err != nil {
		return "", "", fmt.Errorf("failed to make a pipe: %w", err)
	}
	defer func() { _ = ours.Close() }()
	out := &output{}
	cmd.Stdin, cmd.Stdout = in, out
	child, err := machine.Start("the lock program", cmd)
	_ = in.Close()
	if err != nil {
		return "", "", err
	}
	defer program.KillProcess(l.Command, child)
	_, _ = ours.Write(append(bytes.Join(sent, []byte("\n")), '\n'))
	if err := l.sleep(ctx, probeFor); err != nil {
		return "", "", err
	}
	before = out.String()
	_ = ours.Close()
	select {
	case <-child.Gone:
	case <-time.After(program.ReadyWithin): // it may still be starting
	case <-ctx.Done():
	}
	return before, out.String()[len(before):], ctx.Err()
}

// output keeps what is written, up to a bound.
type output struct {
	mu  sync.Mutex
	all []byte
}

const maxOutput = 1 << 20

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, text[:min(len(text), maxOutput-len(o.all))]...)
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.all)
}

// liveNode is a server in real time.
type liveNode struct{ *server.Node }

var _ node = liveNode{}

func (n liveNode) name() string                      { return n.Name }
func (n liveNode) dead() bool                        { return n.Server.Dead() }
func (n liveNode) kill() error                       { return n.Server.Kill() }
func (n liveNode) restart(ctx context.Context) error { return n.Restart(ctx, world.KeepNothing) }
func (n liveNode) journal() *journal.Follower        { return n.Journal() }

func (n liveNode) do(ctx context.Context, commands ...[]string) ([]any, error) {
	pipe := n.Admin.TxPipeline()
	list := make([]*redis.Cmd, len(commands))
	for i, words := range commands {
		args := make([]any, len(words))
		for j, word := range words {
			args[j] = word
		}
		list[i] = pipe.Do(ctx, args...)
	}
	var refused redis.Error
	if _, err := pipe.Exec(ctx); err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	answers := make([]any, len(list))
	for i, cmd := range list {
		answers[i] = cmd.Val()
		if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) {
			answers[i] = err
		}
	}
	return answers, nil
}
