package worldtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Behaviour is how a client answers requests.
type Behaviour func(w *World, name string, r client.Request) client.Answer

// World is a world.World.
type World struct {
	// Clients by name, and how they behave; nil: as Agreeable.
	Clients map[string]Behaviour
	// AllLinks are what Links answers.
	AllLinks []world.Link
	// Refuse are the calls, as Calls writes them, that fail.
	Refuse map[string]error
	hooks  world.Hooks
	begun  time.Time
	wg     sync.WaitGroup
	over   *signal

	mu     sync.Mutex
	moved  sync.Cond // with mu: something was resumed, or the run stopped
	calls  []string
	takes  map[string]time.Duration
	paused map[string]bool
	dead   map[string]bool
}

var _ world.World = (*World)(nil)

// New makes a world with these clients.
func New(clients ...string) *World {
	w := &World{Clients: make(map[string]Behaviour), Refuse: make(map[string]error),
		takes: make(map[string]time.Duration), over: newSignal(), begun: time.Now(),
		paused: make(map[string]bool), dead: make(map[string]bool)}
	w.moved.L = &w.mu
	for _, c := range clients {
		w.Clients[c] = Agreeable
	}
	return w
}

// Agreeable grants and accepts everything.
func Agreeable(_ *World, name string, r client.Request) client.Answer {
	a := client.Answer{Type: history.OK}
	if r.F == history.Acquire {
		a.Value.Owner = name
	}
	return a
}

// Calls are what the world was asked to do to its parts, in order: "pause c1".
func (w *World) Calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// Slow makes a call take a while: "restart A data".
func (w *World) Slow(call string, takes time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takes[call] = takes
}

// do takes note of a call.
// FailsNow lets a call fail from now on, while others may be made.
func (w *World) FailsNow(call string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Refuse[call] = err
}

func (w *World) do(format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
	if d := w.takes[call]; d > 0 {
		w.mu.Unlock()
		time.Sleep(d)
		w.mu.Lock()
	}
	return w.Refuse[call]
}

// PassPoint is for behaviours: name comes to a point, and stands there while it
// is paused. It reports whether it lives on.
func (w *World) PassPoint(name, point string) bool {
	if w.hooks.Point != nil {
		w.hooks.Point(name, point)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.paused[name] && !w.Stopped() {
		w.moved.Wait()
	}
	return !w.dead[name] && !w.Stopped()
}

// Sends is for behaviours: name has sent a command to a node.
func (w *World) Sends(name string, c world.Command) {
	if w.hooks.Command != nil {
		w.hooks.Command(name, c)
	}
}

// Start implements world.World.
func (w *World) Start(h world.Hooks) error {
	w.hooks, w.begun = h, time.Now()
	return w.do("start")
}

// Now implements world.World.
func (w *World) Now() time.Duration { return time.Since(w.begun) }

// Sleep implements world.World.
func (w *World) Sleep(d time.Duration) bool { return !w.over.Wait(max(d, 1)) }

// Go implements world.World.
func (w *World) Go(f func()) { w.wg.Go(f) }

// Wait implements world.World.
func (w *World) Wait() { w.wg.Wait() }

// Stop implements world.World.
func (w *World) Stop() {
	w.over.Fire()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved.Broadcast()
}

// Stopped implements world.World.
func (w *World) Stopped() bool { return w.over.fired() }

// Flush implements world.World.
func (w *World) Flush() error { return w.do("flush") }

// Versions implements world.World.
func (w *World) Versions() map[string]string { return map[string]string{"worldtest": "1"} }

// Close implements world.World.
func (w *World) Close() error { return w.do("close") }

// Client implements world.World.
func (w *World) Client(name string) world.Client { return &actor{w, name} }

// Process implements world.World: each client has one of its own.
func (w *World) Process(client string) []string { return []string{client} }

// IsClient implements world.World.
func (w *World) IsClient(name string) bool { return w.Clients[name] != nil }

// Pause implements world.Pauser.
func (w *World) Pause(target string) error { return w.set(w.paused, target, true, "pause "+target) }

// Resume implements world.Pauser.
func (w *World) Resume(target string) error { return w.set(w.paused, target, false, "resume "+target) }

// Cancel implements world.Canceller.
func (w *World) Cancel(client string) error { return w.do("cancel %s", client) }

// Kill implements world.Crasher.
func (w *World) Kill(target string) error { return w.set(w.dead, target, true, "kill "+target) }

// Restart implements world.Crasher.
func (w *World) Restart(target string, keep world.Keep) error {
	return w.set(w.dead, target, false, "restart "+target+" "+keep.String())
}

func (w *World) set(state map[string]bool, target string, to bool, call string) error {
	err := w.do("%s", call)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		state[target] = to
		w.moved.Broadcast()
	}
	return err
}

// Alive implements world.Crasher.
func (w *World) Alive(target string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.dead[target]
}

// Links implements world.Network.
func (w *World) Links() []world.Link { return slices.Clone(w.AllLinks) }

// Disturb implements world.Network.
func (w *World) Disturb(links []world.Link, d world.Disturbance) (func() error, error) {
	names := make([]struct{ from, to string }, len(links))
	for i, l := range links {
		names[i].from, names[i].to = l.From, l.To
	}
	what := fmt.Sprintf("%s %v", d.Kind, names)
	return func() error { return w.do("lift %s", what) }, w.do("%s", what)
}

// SetClock implements world.Clocks.
func (w *World) SetClock(target string, which world.Which, f world.ClockFault) error {
	return w.do("clock %s %s %v", target, which, f.Jump)
}

// ResetClock implements world.Clocks.
func (w *World) ResetClock(target string, which world.Which) error {
	return w.do("reset clock %s %s", target, which)
}

// NodeTime implements world.Clocks: every clock is right.
func (w *World) NodeTime(string) (time.Duration, error) { return w.Now(), nil }

// Promote implements world.Replicator.
func (w *World) Promote(node string) error { return w.do("promote %s", node) }

// Failover implements world.Replicator.
func (w *World) Failover(node string, how world.Failover) error {
	return w.do("failover %s %s", node, how)
}

// MoveSlot implements world.Replicator.
func (w *World) MoveSlot(to string, _ world.SlotKeys) (finish func() error, err error) {
	return func() error { return w.do("finish slot %s", to) }, w.do("move slot %s", to)
}

// Reaches implements world.Keeper.
func (w *World) Reaches(string) bool { return true }

// Wipe implements world.Keeper.
func (w *World) Wipe(node string) error { return w.do("wipe %s", node) }

// Evict implements world.Keeper.
func (w *World) Evict(node string) error { return w.do("evict %s", node) }

// Fill implements world.Keeper.
func (w *World) Fill(node string) (empty func() error, err error) {
	return func() error { return w.do("empty %s", node) }, w.do("fill %s", node)
}

// actor is a client of the world.
type actor struct {
	w    *World
	name string
}

// Do implements world.Client.
func (a *actor) Do(r client.Request) client.Answer {
	if !a.w.Alive(a.name) {
		return client.Answer{Type: history.Info, Error: "dead", Gone: true}
	}
	answer := a.w.Clients[a.name](a.w, a.name, r)
	if !a.w.Alive(a.name) {
		return client.Answer{Type: history.Info, Error: "died", Gone: true}
	}
	if a.w.Stopped() {
		return client.Answer{Type: history.Info, Error: "the run was stopped"}
	}
	return answer
}

// NewSignal implements world.World.
func (w *World) NewSignal() world.Signal { return &woken{newSignal(), w.over} }

// woken is a signal whose waiters the end of the run wakes too.
type woken struct {
	*signal
	over *signal
}

// Wait implements world.Signal.
func (s *woken) Wait(d time.Duration) bool {
	var timeout <-chan time.Time
	if d > 0 {
		timeout = time.After(d)
	}
	select {
	case <-s.happened:
	case <-s.over.happened:
	case <-timeout:
	}
	return s.fired()
}

type signal struct {
	once     sync.Once
	happened chan struct{}
}

func newSignal() *signal { return &signal{happened: make(chan struct{})} }

func (s *signal) Fire() { s.once.Do(func() { close(s.happened) }) }

func (s *signal) fired() bool {
	select {
	case <-s.happened:
		return true
	default:
		return false
	}
}

// Wait waits for at most d.
func (s *signal) Wait(d time.Duration) bool {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	select {
	case <-s.happened:
		return true
	case <-timeout.C:
		return false
	}
}
