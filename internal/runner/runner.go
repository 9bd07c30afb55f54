// Package runner carries out one run: it builds the world, starts the clients and
// the nemesis, records, lifts the faults and collects the history. It knows no checkers.
package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Config is one run: a variant of a scenario, and where it happens.
type Config struct {
	Scenario string
	Variant  scenario.Variant
	Seed     uint64
	// World names the world in the history's header; Started is the wall time.
	World   string
	Started time.Time
	// Dir is where the world's parts leave their logs.
	Dir string
	// Program is the lock program on trial, as it describes itself; nil: the lock is ours.
	Program *program.Ready
	// Programs are those of the clients that have another one than the others.
	Programs map[string]*program.Ready
	// Stagger is how far apart clients begin at most that start together, drawn
	// from the seed; 0: in the same instant.
	Stagger time.Duration
	// Turn is where the run turns away from the one that its seed makes; nil: nowhere.
	Turn *Turn
	// Open builds the world.
	Open func(world.Spec) (world.World, error)
	// History receives the history as it happens; nil: nobody.
	History io.Writer
	// WriteLater: History may receive many events at a time, beside the run.
	WriteLater bool
	// Reuse is memory for the history's events: those of a run that nobody
	// looks at any more.
	Reuse []history.Event
	// Progress is told what the run is doing; nil: nobody.
	Progress func(phase string)
}

// Turn is a moment from which on a run in virtual time goes on otherwise than its seed has it: what is drawn is drawn from another seed,
// and no further fault begins.
type Turn struct {
	// After is the index of the last event that is as it was.
	After int
	Seed  uint64
	// Lift ends the faults at that moment. Else they go on as they were to.
	Lift bool
}

// Outcome is what a run left.
type Outcome struct {
	History *history.History
	// Interrupted says that the run was stopped from outside, TimedOut that it
	// reached its time limit.
	Interrupted, TimedOut bool
	// Late is how late timers fired at most, and Start how long it took to start the servers, or the clients if that
	// took longer, where the run took real time. TooSlow says in words why the machine was too slow for the run; empty:
	// it was not.
	Late, Start time.Duration
	TooSlow     string
	// Versions of what took part.
	Versions map[string]string
	// RollCall is what came of asking each client whether it still gets the lock; of an epoch alone.
	RollCall []Called
}

// Run carries out one run. It returns an error where the run could not be
// carried out as told; the outcome then holds what there is.
func Run(c Config) (Outcome, error) {
	r := newRun(c)
	r.progress("starting nodes and clients")
	w, err := c.Open(r.spec())
	if err != nil {
		return Outcome{}, err
	}
	r.w = w
	r.recorder = history.NewRecorder(r.header(), w.Now, c.History)
	if c.WriteLater {
		r.recorder.WriteLater()
	}
	r.recorder.Reuse(c.Reuse)
	r.recorder.Foresee(r.shareDone)
	r.schedule = nemesis.NewSchedule(w, r.record, r.planned, r.setup.Faults.Mix, r.setup.Cast(), r.Seed)
	err = r.carryOut()
	h, writeErr := r.recorder.Seal()
	err = errors.Join(err, r.endedEarly(h))
	out := Outcome{History: h, Interrupted: !r.finished && !r.timedOut && err == nil, TimedOut: r.timedOut, Versions: w.Versions()}
	closed := w.Close()
	var unknown *world.Unknown
	if errors.As(closed, &unknown) { // which has stopped it
		out.Interrupted = false
	}
	return out, errors.Join(err, writeErr, closed)
}

// endedEarly says of a lock program that ended before the first grant, and before any fault, that it cannot be used; nil: there is none.
func (r *run) endedEarly(h *history.History) error {
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.F == history.FaultBegin, e.F == history.Acquire && e.Type == history.OK:
			return nil
		case e.F == history.ProgramEnded:
			ended := &program.Ended{How: e.Value.Detail()}
			if p := r.setup.Lock.For(e.Process).Program; p != nil {
				ended.Command = p.Command
			}
			if printed := e.Error.String(); printed != "" {
				ended.Last = strings.Split(printed, "\n")
			}
			return fmt.Errorf("client %s: %w", e.Process, ended)
		}
	}
	return nil
}

// Spec is the world that a run asks for.
func Spec(c Config) world.Spec { return newRun(c).spec() }

func newRun(c Config) *run {
	s := &c.Variant.Setup
	r := &run{Config: c, planned: s.Planned(),
		clients: scenario.ClientNames(s.Workload.Clients), nodes: scenario.NodeNames(s.Nodes.Count)}
	r.setup, r.points = &r.Variant.Setup, nemesis.Points(r.planned)
	return r
}

// run is a run in progress.
type run struct {
	Config
	setup *scenario.Setup
	// clients, nodes, planned faults and the points at which they strike are those of
	// setup.
	clients, nodes []string
	planned        []nemesis.Planned
	points         []string

	w        world.World
	recorder *history.Recorder
	schedule *nemesis.Schedule
	// finished: the run came to its end by itself; timedOut: by its time limit.
	finished, timedOut bool

	// life is what the run is an epoch of; nil: it is the only run of its world. called is what the roll call came to.
	life   *Life
	called []Called

	mu       sync.Mutex
	sessions []*session
	// lastGrant is when a client was last granted the lock.
	lastGrant time.Duration
	// commands is how many have been recorded, or would have been.
	commands atomic.Int64
	// idle fires when no client can go on by itself: each has ended or stands
	// under a fault that only healing ends. ended fires when all have ended.
	idle, ended world.Signal
}

// shareDone is how much of the run is over, from 0 to 1, by the sections that the clients are in.
func (r *run) shareDone() float64 {
	passed := int64(0)
	for _, s := range r.sessions {
		passed += max(s.section.Load()-1, 0)
	}
	return float64(passed) / float64(max(len(r.sessions)*r.setup.Workload.Sections, 1))
}

func (r *run) progress(phase string) {
	if r.Progress != nil {
		r.Progress(phase)
	}
}

// spec is the world that the variant asks for.
func (r *run) spec() world.Spec {
	s := r.setup
	spec := world.Spec{
		Name: r.Scenario + "/" + r.Variant.Name, Dir: r.Dir, Seed: r.Seed,
		Clients: r.clients, PerProcess: s.Workload.PerProcess,
		Lock: s.Lock, Points: r.points, Messages: nemesis.Messages(r.planned), Commands: s.Commands, Needs: s.Needs(),
		MovesAtomically: nemesis.MovesAtomically(r.planned),
		Replicated:      s.Nodes.Replicated(), Sentinel: s.Nodes.Sentinel(), Cluster: s.Nodes.Cluster(), Resource: s.Resource.Config,
		WarmUp:      s.Workload.WarmUp && r.Program != nil,
		SharedStore: s.Resource.Shared(), Postgres: s.Resource.Store == "postgres", StorePersistence: s.Resource.Persistence,
	}
	if first := len(r.clients) - s.Workload.Readers; s.Workload.Readers > 0 {
		spec.Readers = r.clients[first:]
	}
	spec.Modes = s.Modes()
	spec.Lock.Tokens, spec.Lock.Busy, spec.Lock.OneObject = s.Fencing.Tokens, s.Workload.Busy, s.Workload.Object == workload.OneObject
	spec.Resource.Key, spec.Resource.Fence = "resource", s.Fencing.Check
	if spec.SharedStore {
		spec.Resource.LockKey = s.Lock.Key
	}
	if r.Program != nil {
		if r.Program.Elsewhere() {
			spec.LockStore = client.StoreKind(r.Program.Store)
		}
		spec.LockKeys, spec.LockLeased = r.lockKeys(), r.Program.LeaseInValue() && s.Lock.TTL > 0
	}
	for _, name := range r.nodes {
		spec.Nodes = append(spec.Nodes, world.Node{Name: name, Persistence: s.Nodes.Persistence})
	}
	return spec
}

// lockKeys are patterns of the keys that lock programs write, of whichever client.
func (r *run) lockKeys() []string {
	list := slices.Clone(r.setup.LockKeys(r.Program))
	for _, client := range slices.Sorted(maps.Keys(r.Programs)) {
		for _, pattern := range r.setup.LockKeys(r.Programs[client]) {
			if !slices.Contains(list, pattern) {
				list = append(list, pattern)
			}
		}
	}
	return list
}

// lockOf is what the header says of the lock as a client has it; without a name: one that does not differ.
func (r *run) lockOf(client string) history.ClientLock {
	c, ready := r.setup.Lock.For(client), r.Program
	if own := r.Programs[client]; own != nil {
		ready = own
	}
	a, _ := lock.Lookup(c.Algorithm)
	l := history.ClientLock{Lock: c.Algorithm, LockKey: c.Key, Renews: a.Renews(), TTL: int64(c.TTL)}
	if ready != nil {
		l.Lock, l.Program, l.Renews = ready.Name, cmp.Or(ready.Version, "unknown"), ready.Has(program.Renews)
		l.TTLExtra, l.TTLStep = int64(program.Duration(ready.TTLExtra)), int64(program.Duration(ready.TTLStep))
		l.TTL += l.TTLExtra
	}
	if c.TTL == 0 { // nothing renews
		l.Renews, l.TTL, l.TTLExtra, l.TTLStep = false, 0, 0, 0
	}
	return l
}

func (r *run) header() history.Header {
	s := r.setup
	h := history.Header{
		Scenario: r.Scenario, Variant: r.Variant.Name, World: r.World, Seed: r.Seed,
		Started: r.Started.UTC().Format(time.RFC3339Nano), Workload: string(s.Workload.Kind),
		Clients: r.clients, Nodes: r.nodes,
		ChecksOrder: s.Fencing.Check.ChecksOrder(), Permits: s.Lock.Permits, Modes: s.Modes(),
		AtLeast: int64(s.Lock.AtLeast), Fair: s.Lock.Fair, MostOvertakes: s.MostOvertakes,
		Commands: s.Commands, Initial: history.Some(s.Resource.Initial),
	}
	all := r.lockOf("")
	h.Lock, h.Program, h.LockKey, h.Renews, h.TTL, h.TTLExtra, h.TTLStep =
		all.Lock, all.Program, all.LockKey, all.Renews, all.TTL, all.TTLExtra, all.TTLStep
	for _, client := range s.Lock.Differing() {
		if h.Differ == nil {
			h.Differ = make(map[string]history.ClientLock)
		}
		l := r.lockOf(client)
		if l.LockKey == all.LockKey { // the header has no key where there are several
			l.LockKey = ""
		}
		h.Differ[client] = l
	}
	if s.Workload.PerProcess > 1 {
		spec := r.spec()
		h.Processes = spec.Processes()
	}
	if s.Nodes.SeveralClusters() {
		spec := r.spec()
		h.Clusters = spec.Clusters()
	}
	if len(s.Lock.Keys()) > 1 {
		h.LockKey = ""
	}
	if r.Program != nil {
		h.Lease = r.Program.Lease
		if h.Lease == "" && (r.Program.Has(program.HasPermits) || h.Modes) {
			h.Lease = history.LeaseClock
		}
		if !r.Program.Elsewhere() { // else the nodes know nothing of it
			h.Quorum = len(r.nodes)/2 + 1
			if s.Nodes.Replicated() {
				h.Quorum = 1
			}
		}
		if s.Shares() || !slices.Equal(r.lockKeys(), []string{program.KeyPattern}) { // it may have several
			h.LockKey = ""
		}
	}
	if s.Lock.TTL == 0 {
		h.Lease = history.LeaseNone
	}
	return h
}

// carryOut is the run itself: the safety phase, in which faults strike, then
// the healing phase.
func (r *run) carryOut() error {
	if _, ok := r.w.(world.Redrawer); r.Turn != nil && !ok {
		return errors.New("what happens in this world cannot be drawn anew")
	}
	if err := r.w.Start(r.hooks()); err != nil {
		return err
	}
	return r.act()
}

func (r *run) hooks() world.Hooks {
	hooks := world.Hooks{Record: r.record, Point: r.schedule.Point,
		Message: r.schedule.Message, Unread: r.schedule.Unread, Sentinel: r.schedule.Sentinel}
	if r.setup.Commands {
		hooks.Command, hooks.Unread = r.command, r.unread
	}
	return hooks
}

// act is what happens once the run's time has begun.
func (r *run) act() error {
	r.idle, r.ended = r.w.NewSignal(), r.w.NewSignal()
	r.makeSessions()
	r.schedule.Began = r.checkIdle
	r.recordPhase(history.PhaseSafety)
	r.progress("running")
	r.schedule.Start()
	r.startClients()
	var err error
	r.w.Go(func() { err = r.supervise() })
	r.w.Wait()
	err = errors.Join(r.schedule.Err(), err)
	for _, s := range r.sessions {
		err = errors.Join(err, s.err)
	}
	return err
}

// supervise waits for the clients, heals, waits for those that healing set
// free, and ends the run.
func (r *run) supervise() error {
	inTime := r.idle.Wait(r.safetyPhase()) || r.setup.HealAfter > 0 && r.w.Now() < r.setup.TimeLimit
	r.recordPhase(history.PhaseHealing)
	r.schedule.Heal()
	inTime = inTime && r.awaitEnd()
	if r.w.Stopped() {
		return nil
	}
	if r.timedOut = !inTime; r.timedOut {
		r.w.Stop()
		return nil
	}
	done := r.allDone()
	if (done || r.releases()) && r.Variant.AsksForLiveness() {
		r.progress("probing")
		r.probe()
	}
	if done {
		r.finalLook()
	}
	if r.life != nil {
		done = r.callRoll(done)
	}
	r.progress("collecting")
	if err := r.w.Flush(); err != nil {
		return fmt.Errorf("the run is incomplete: %w", err)
	}
	if done { // clients that wait in vain are not done
		r.recordPhase(history.PhaseDone)
	}
	r.finished = true
	if r.life == nil || !done {
		r.w.Stop() // whoever still waits for the lock need not
	}
	return nil
}

// awaitEnd waits until all clients have ended; false: the time limit was reached.
// Where the question is whether the lock can still be had, clients that wait in
// vain need not end: it is enough that nobody was granted the lock for long.
func (r *run) awaitEnd() bool {
	healed := r.w.Now()
	for !r.ended.Wait(max(min(r.setup.TimeLimit-r.w.Now(), r.setup.GrantWithin/4), 1)) {
		r.mu.Lock()
		quiet := r.w.Now() - max(healed, r.lastGrant)
		r.mu.Unlock()
		if r.w.Stopped() || r.w.Now() >= r.setup.TimeLimit {
			return false
		}
		if r.Variant.AsksForLiveness() && quiet > 2*r.setup.GrantWithin {
			return true
		}
	}
	return true
}

// finalWithin bounds what the workload does at the end.
const finalWithin = 5 * time.Second

// finalLook lets a client that is alive and has nothing else to do look at the
// resource, if the workload wants that: the next one where the first gets no answer.
func (r *run) finalLook() {
	look := r.setup.Workload.Final()
	if look == nil {
		return
	}
	for _, s := range r.sessions {
		if !r.w.Alive(s.name) || r.w.Stopped() || s.requestUnderWay.Load() {
			continue
		}
		looked := r.w.NewSignal()
		seen := true
		r.w.Go(func() {
			seen = look(s)
			looked.Fire()
		})
		if looked.Wait(finalWithin) && seen {
			return
		}
	}
}

// probe lets every client that is alive, and not at something else, try for the lock once more, to see whether somebody still gets it.
func (r *run) probe() {
	probed := r.w.NewSignal()
	var alive []*session
	r.mu.Lock()
	for _, s := range r.sessions {
		if r.w.Alive(s.name) && s.done {
			alive = append(alive, s)
		}
	}
	r.mu.Unlock()
	left, within := len(alive), 2*r.setup.GrantWithin
	until := r.w.Now() + within
	for _, s := range alive {
		r.w.Go(func() {
			s.probe(r.setup.Workload.Sections+1, until)
			r.mu.Lock()
			defer r.mu.Unlock()
			if left--; left == 0 {
				probed.Fire()
			}
		})
	}
	if len(alive) > 0 {
		probed.Wait(within)
	}
}

// safetyPhase is how long faults may strike.
func (r *run) safetyPhase() time.Duration {
	if h := r.setup.HealAfter; h > 0 {
		return min(h, r.setup.TimeLimit)
	}
	return r.setup.TimeLimit
}

// record records an event, at which the run may turn.
func (r *run) record(e history.Event) int {
	at := r.recorder.Record(e)
	if t := r.Turn; t != nil && at == t.After {
		r.w.(world.Redrawer).Redraw(t.Seed)
		r.schedule.NoMore()
		if t.Lift { // which may take time
			r.w.Go(r.schedule.Heal)
		}
	}
	return at
}

func (r *run) recordPhase(name string) {
	r.record(history.Event{Process: history.RunProcess,
		Type: history.Info, F: history.Phase, Value: history.Value{Rare: &history.Rare{Detail: name}}})
}

// makeSessions makes the clients' sessions.
func (r *run) makeSessions() {
	w := &r.setup.Workload
	r.sessions = make([]*session, 0, len(r.clients))
	for i, name := range r.clients {
		r.sessions = append(r.sessions, &session{
			r: r, name: name, client: r.w.Client(name), granted: r.w.NewSignal(),
			begun: i == 0 || w.Start == workload.Together, reads: i >= len(r.clients)-w.Readers,
		})
	}
}

// startClients lets the clients begin, in turn or together.
func (r *run) startClients() {
	late := r.staggeredStarts()
	for i, s := range r.sessions {
		r.w.Go(func() {
			defer r.sessionEnded(s)
			plan := r.setup.Workload
			plan.Number = i + 1
			if (late == nil || r.w.Sleep(late[i])) && r.awaitTurn(i) {
				s.err = plan.Run(s)
			}
		})
	}
}

// staggeredStarts are the times at which clients begin that start together; nil: at once.
func (r *run) staggeredStarts() (late []time.Duration) {
	w := &r.setup.Workload
	if r.Stagger == 0 && w.Apart == 0 || w.Start != workload.Together {
		return nil
	}
	random := rand.New(rand.NewPCG(r.Seed, 0x73746167676572))
	for i := range r.sessions {
		late = append(late, time.Duration(i)*w.Apart)
		if r.Stagger > 0 {
			late[i] += time.Duration(random.Int64N(int64(r.Stagger)))
		}
	}
	return late
}

// turnTakes is how long after the grant of the one before it a client begins, so
// that the two are surely one after the other.
const turnTakes = 100 * time.Microsecond

// awaitTurn waits until a client may begin; false: the run ended before.
func (r *run) awaitTurn(i int) bool {
	s := r.sessions[i]
	if s.begun {
		return true
	}
	if !r.sessions[i-1].granted.Wait(0) || !r.w.Sleep(turnTakes) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.begun = true
	return true
}

// sessionEnded takes note that a client has ended.
func (r *run) sessionEnded(s *session) {
	s.passOn()
	r.mu.Lock()
	s.done = true
	r.mu.Unlock()
	r.checkIdle()
}

// allDone reports that every client has ended.
func (r *run) allDone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(r.sessions, func(s *session) bool { return !s.done })
}

// releases reports that a client waits in vain for the answer to a release: others may wait for it, too, as those of its process.
func (r *run) releases() bool {
	return slices.ContainsFunc(r.sessions, func(s *session) bool { return s.requestUnderWay.Load() && s.releases.Load() })
}

// hasEnded reports that a client has nothing more to do; the caller holds mu.
func (r *run) hasEnded(client string) bool {
	return slices.ContainsFunc(r.sessions, func(s *session) bool { return s.name == client && s.done })
}

// checkIdle checks whether a client can still continue by itself. One whose turn has not
// come waits for the one before it.
func (r *run) checkIdle() {
	r.mu.Lock()
	all, idle, waits := true, true, false
	for i, s := range r.sessions {
		waits = s.done || r.schedule.Endless(s.name, r.hasEnded) || !s.begun && waits && !r.sessions[i-1].passedOn
		all, idle = all && s.done, idle && waits
	}
	r.mu.Unlock()
	if idle {
		r.idle.Fire()
	}
	if all {
		r.ended.Fire()
	}
}
